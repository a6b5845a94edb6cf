#include "limits/identity.hpp"

namespace weir::inline v0_1::limits {

std::uint64_t short_form(std::string_view name) {
  const core::Sha256 digest = core::sha256(name);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 7; ++i) id = id << 8 | digest[i];
  return id == 0 ? 1 : id;
}

std::string_view take_part(std::string_view& key) {
  std::size_t at = key.starts_with('/') ? 1 : 0;
  std::size_t size = 0;
  for (; at < key.size() && key[at] != ':'; ++at) size = size * 10 + static_cast<std::size_t>(key[at] - '0');
  key.remove_prefix(std::min(key.size(), at + 1));
  const std::string_view text = key.substr(0, size);
  key.remove_prefix(text.size());
  return text;
}

void digest_of(std::string_view text, std::string& into) {
  into = '#';
  core::append_hex(core::sha256(text), into);
}

}  // namespace weir::limits
