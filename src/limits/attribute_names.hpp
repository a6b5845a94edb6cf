// The attributes that a file names, numbered, so that a request's values lie in an array.
//
// Filled, then sealed, then any thread. The names are viewed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/short_text.hpp"
#include "limits/file.hpp"
#include "limits/values.hpp"

namespace weir::inline v0_1::limits {

class AttributeNames {
 public:
  // Its number, a new one if need be. Before seal().
  Index add(std::string_view name);
  void seal();

  [[gnu::always_inline]] Index find(std::string_view name) const {
    if (name.empty()) return kNone;
    for (std::size_t at = hash(name);; ++at) {
      const Index found = slots_[at & (slots_.size() - 1)];
      if (found == kNone || core::same_text(names_[found], name)) return found;
    }
  }
  std::size_t size() const { return names_.size(); }
  std::string_view operator[](Index number) const { return names_[number]; }

 private:
  static std::size_t hash(std::string_view name) {
    const auto letter = [name](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(name[i]));
    };
    const std::uint32_t mixed = letter(0) | letter(name.size() / 2) << 8 | letter(name.size() - 1) << 16 |
                                static_cast<std::uint32_t>(name.size()) << 24;
    return (mixed * 0x9e3779b1U) >> 8;
  }

  std::vector<std::string_view> names_;
  std::vector<Index> slots_;  // a power of two, more than twice as many as names
};

// A request's values, by the numbers of the names.
using AttributeValues = std::span<const AttributeValue>;

}  // namespace weir::limits
