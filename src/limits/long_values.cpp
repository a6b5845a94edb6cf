#include "limits/long_values.hpp"

#include <cstdint>
#include <cstring>

#include "limits/identity.hpp"

namespace weir::inline v0_1::limits {

void LongValues::add(std::string_view digest, std::string_view value) {
  const std::uint64_t size = value.size();
  all_ += digest;
  all_.append(reinterpret_cast<const char*>(&size), sizeof(size));
  all_ += value;
}

std::string_view LongValues::find(std::string_view digest) const {
  for (std::string_view left = all_; left.size() > kDigestSize + sizeof(std::uint64_t);) {
    const std::string_view name = left.substr(0, kDigestSize);
    std::uint64_t size = 0;
    std::memcpy(&size, left.data() + kDigestSize, sizeof(size));
    left.remove_prefix(kDigestSize + sizeof(size));
    if (name == digest) return left.substr(0, size);
    left.remove_prefix(size);
  }
  return digest;
}

}  // namespace weir::limits
