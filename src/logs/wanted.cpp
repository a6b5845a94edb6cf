#include "logs/wanted.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/number.hpp"

namespace weir::inline v0_1::logs {
namespace {

bool parse_prefix(std::string_view text, int& bits) {
  bits = core::number_in<int>(text).value_or(-1);
  return bits >= 0 && bits <= 128;
}

// "/64", "/24", "/24/64", or nothing. False when it is none of them.
bool parse_prefixes(std::string_view text, core::Prefixes& prefixes) {
  bool first = true;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::size_t slash = std::min(text.find('/'), text.size());
    int bits = 0;
    const bool number = parse_prefix(text.substr(0, slash), bits);
    text.remove_prefix(slash);
    const bool last = text.empty();
    const bool v4 = first && (!last || bits <= 32);
    if (!number || (v4 && bits > 32) || (!first && !last)) return false;
    (v4 ? prefixes.v4 : prefixes.v6) = bits;
    first = false;
  }
  return true;
}

// Where the bits of a part begin: at the first of the at most two slashes that only digits follow.
std::size_t bits_of(std::string_view part) {
  const std::size_t digits = part.find_last_not_of("0123456789/");
  return digits == std::string_view::npos ? part.size() : std::min(part.find('/', digits), part.size());
}

}  // namespace

void Wanted::set_key(std::string_view text) {
  key.clear();
  prefixes = {};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    Part made;
    const bool ip = part == "ip" || part.starts_with("ip/");
    const std::size_t bits = ip ? 2 : bits_of(part);
    made.field = part.substr(0, bits);
    made.address = ip || bits < part.size() || part == "xff" || part.starts_with("xff[");
    if (!parse_prefixes(part.substr(bits), made.prefixes)) {
      throw std::runtime_error(
          "key: '" + std::string(text) +
          "': expected a number of bits after ip/: ip/64 for IPv6, ip/24 for IPv4, ip/24/64 for both");
    }
    if (made.field.empty()) {
      throw std::runtime_error("key: '" + std::string(text) +
                               "' is neither a field nor fields separated by commas");
    }
    key.push_back(made);
  }
}

void Wanted::set_path_patterns(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  bool found = false;
  for (Part& part : key) {
    if (part.field != "path") continue;
    found = part.path = true;
    part.patterns = patterns;
  }
  if (!found) throw std::runtime_error("path-pattern: the key has no path; it may be --key path or ip,path");
}

}  // namespace weir::logs
