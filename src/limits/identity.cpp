#include "limits/identity.hpp"

namespace weir::inline v0_1::limits {

std::uint64_t short_form(std::string_view name) {
  const core::Sha256 digest = core::sha256(name);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 7; ++i) id = id << 8 | digest[i];
  return id == 0 ? 1 : id;
}

void digest_of(std::string_view text, std::string& into) {
  into = '#';
  core::append_hex(core::sha256(text), into);
}

}  // namespace weir::limits
