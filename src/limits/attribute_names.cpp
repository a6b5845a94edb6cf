#include "limits/attribute_names.hpp"

#include <algorithm>
#include <bit>

namespace weir::inline v0_1::limits {

Index AttributeNames::add(std::string_view name) {
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known != names_.end()) return static_cast<Index>(known - names_.begin());
  names_.push_back(name);
  return static_cast<Index>(names_.size() - 1);
}

void AttributeNames::seal() {
  slots_.assign(std::bit_ceil(names_.size() * 4 + 4), kNone);
  for (Index i = 0; i < names_.size(); ++i) {
    std::size_t at = hash(names_[i]);
    while (slots_[at & (slots_.size() - 1)] != kNone) ++at;
    slots_[at & (slots_.size() - 1)] = i;
  }
}

}  // namespace weir::limits
