#include "core/client_address.hpp"

#include <algorithm>

namespace weir::inline v0_1::core {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_port(std::string_view text) {
  constexpr std::size_t kLongest = 5;
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string_view without_port(std::string_view text) {
  std::string_view address = text;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view after = text.substr(end + 1);
    if (!after.empty() && !(after.front() == ':' && is_port(after.substr(1)))) return {};
    address = text.substr(1, end - 1);
    if (address.find(':') == std::string_view::npos) return {};
  } else if (const std::size_t colon = text.find(':');
             colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    if (!is_port(text.substr(colon + 1))) return {};
    address = text.substr(0, colon);
  }
  return is_address(address) ? address : std::string_view{};
}

bool ClientAddress::take(std::string_view field) {
  while (true) {
    const std::size_t comma = field.rfind(',');
    const std::string_view element =
        trimmed(comma == std::string_view::npos ? field : field.substr(comma + 1));
    // RFC 9110, 5.6.1: empty elements of a list are nothing.
    if (!element.empty() && take_element(element)) {
      if (comma != std::string_view::npos) pass(field.substr(0, comma));
      return true;
    }
    if (comma == std::string_view::npos) return false;
    field = field.substr(0, comma);
  }
}

bool ClientAddress::take_element(std::string_view element) {
  text_ = without_port(element);
  const auto address = parse_address(text_);
  outcome_ = address ? Outcome::found : Outcome::odd;
  is_private_ = address && is_private(*address);
  return !address || std::none_of(trusted_.begin(), trusted_.end(),
                                  [&address](const Network& each) { return each.has(*address); });
}

}  // namespace weir::core
