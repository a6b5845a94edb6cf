// Values that are in keys by their digests alone, so that people can be told of them.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::inline v0_1::limits {

// Values, each by its digest (identity.hpp). Used again it allocates nothing, and keeps little memory.
class LongValues {
 public:
  void clear() {
    all_.clear();
    if (all_.capacity() > kMostKept) all_.shrink_to_fit();
  }
  void add(std::string_view digest, std::string_view value);
  std::string_view find(std::string_view digest) const;  // the digest itself, where it has none
  std::size_t bytes() const { return all_.capacity(); }

 private:
  static constexpr std::size_t kMostKept = 4096;
  std::string all_;  // digest, size, value
};

}  // namespace weir::limits
