#include "core/pattern.hpp"

namespace weir::inline v0_1::core {

bool matches_pattern(std::string_view pattern, std::string_view text) {
  const std::size_t first = pattern.find('*');
  if (first == std::string_view::npos) return pattern == text;
  const std::size_t last = pattern.rfind('*');
  const std::string_view head = pattern.substr(0, first);
  const std::string_view tail = pattern.substr(last + 1);
  if (text.size() < head.size() + tail.size() || !text.starts_with(head) || !text.ends_with(tail))
    return false;
  text.remove_prefix(head.size());
  text.remove_suffix(tail.size());
  std::string_view middle = pattern.substr(first, last - first);  // "", or begins with a star
  while (!middle.empty()) {
    middle.remove_prefix(1);
    const std::string_view piece = middle.substr(0, middle.find('*'));
    const std::size_t at = text.find(piece);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + piece.size());
    middle.remove_prefix(piece.size());
  }
  return true;
}

}  // namespace weir::core
