// Numbers and texts as bytes and back, for another process of this machine: no format that outlives either.
//
// Values; one thread. Once something is missing, everything that follows is 0 or empty.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace weir::inline v0_1::core {

class Packing {
 public:
  void number(std::uint64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void text(std::string_view text) {
    number(text.size());
    bytes_.append(text);
  }
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

class Unpacking {
 public:
  // The bytes must outlive it.
  explicit Unpacking(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    if (bytes_.size() < sizeof number) return fail();
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    return number;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > bytes_.size()) fail();
    const std::string_view text = bytes_.substr(0, good_ ? size : 0);
    bytes_.remove_prefix(text.size());
    return text;
  }
  // How many follow, of which each takes a number's bytes at least.
  std::uint64_t count() {
    const std::uint64_t count = number();
    return count > bytes_.size() / sizeof count ? fail() : count;
  }
  bool good() const { return good_; }
  bool is_whole() const { return good_ && bytes_.empty(); }

 private:
  std::uint64_t fail() {
    good_ = false;
    bytes_ = {};
    return 0;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace weir::core
