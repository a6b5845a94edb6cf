#include "core/path.hpp"

#include <algorithm>
#include <cstddef>

namespace weir::inline v0_1::core {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that the escape at the start of `text` stands for; below 0: it is broken.
int escaped(std::string_view text) {
  if (text.size() < 3) return -1;
  const int high = digit_of(text[1]);
  const int low = digit_of(text[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Appends `text` with its escapes decoded, but for those that are odd. False when there is something odd.
bool append_decoded(std::string_view text, std::string& out) {
  bool plain = true;
  while (!text.empty()) {
    const std::size_t next = std::min(text.find_first_of("%\\;"), text.size());
    out += text.substr(0, next);
    text.remove_prefix(next);
    if (text.empty()) break;
    const int byte = text.front() == '%' ? escaped(text) : -1;
    const bool odd = byte <= 0 || byte == '/' || byte == '\\' || byte == ';';
    plain = plain && !odd;
    out += odd ? text.front() : static_cast<char>(byte);
    text.remove_prefix(odd ? 1 : 3);
  }
  return plain;
}

// The segments of a path that begins with `/`, from out[begin] on, without "." and ".." (RFC 3986, 5.2.4).
// False when a ".." removes an empty segment: who makes runs of `/` one before that comes to another path.
bool remove_dots(std::size_t begin, std::string& out) {
  bool plain = true;
  std::size_t end = begin;  // of what is kept
  for (std::size_t at = begin; at < out.size();) {
    const std::size_t next = std::min(out.find('/', at + 1), out.size());
    const std::string_view segment = std::string_view(out).substr(at + 1, next - at - 1);
    const bool dots = segment == "." || segment == "..";
    if (segment == ".." && end > begin) {
      const std::size_t last = out.rfind('/', end - 1);
      plain = plain && last + 1 < end;
      end = last;
    }
    if (!dots) {
      std::copy(out.begin() + static_cast<std::ptrdiff_t>(at),
                out.begin() + static_cast<std::ptrdiff_t>(next),
                out.begin() + static_cast<std::ptrdiff_t>(end));
      end += next - at;
    } else if (next == out.size()) {
      out[end++] = '/';
    }
    at = next;
  }
  out.resize(end);
  return plain;
}

void merge_slashes(std::size_t begin, std::string& out) {
  const auto both = [](char a, char b) { return a == '/' && b == '/'; };
  out.erase(std::unique(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), both), out.end());
}

}  // namespace

std::string_view path_of(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  // scheme "://" authority: RFC 9112, 3.2.2.
  const std::size_t colon = target.find("://");
  if (target.starts_with('/') || colon == std::string_view::npos || target.find('/') < colon) return target;
  const std::size_t path = target.find('/', colon + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

bool append_path(std::string_view target, OddPath odd, std::string& out) {
  const std::string_view path = path_of(target);
  const std::size_t begin = out.size();
  bool plain = path == "*" || path.starts_with('/');
  plain = append_decoded(path, out) && plain;
  if (path.starts_with('/')) {
    plain = remove_dots(begin, out) && plain;
    merge_slashes(begin, out);
  }
  return plain || odd == OddPath::keep;
}

}  // namespace weir::core
