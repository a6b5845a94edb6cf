#include "http/prefer.hpp"

#include <algorithm>
#include <cstdint>

#include "core/number.hpp"

namespace weir::inline v0_1::http {
namespace {

// As far as to a `,` or `;` that is not quoted, and what ended it; 0: nothing did.
struct Part {
  std::string_view text;
  char end;
};

Part take_part(std::string_view& rest) {
  bool quoted = false;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    const char letter = rest[at];
    if (quoted && letter == '\\') {
      ++at;
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted && (letter == ',' || letter == ';')) {
      break;
    }
  }
  at = std::min(at, rest.size());
  const Part part{rest.substr(0, at), at < rest.size() ? rest[at] : '\0'};
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::chrono::seconds> seconds_of(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000'000;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::nullopt;
  return std::chrono::seconds{std::min(kMost, core::parse_integer(text).value_or(kMost))};
}

}  // namespace

std::optional<std::chrono::seconds> preferred_wait(const Message& message) {
  for (const Field* field = message.find("Prefer"); field != nullptr; field = message.find("Prefer", field)) {
    std::string_view rest = field->value;
    char before = ',';
    while (!rest.empty()) {
      const Part part = take_part(rest);
      // What follows a `;` is a parameter of another preference.
      const bool begins = before == ',';
      before = part.end;
      const std::size_t equals = part.text.find('=');
      if (!begins || !same(trim(part.text.substr(0, equals)), "wait")) continue;
      if (equals == std::string_view::npos) return std::nullopt;
      return seconds_of(trim(part.text.substr(equals + 1)));
    }
  }
  return std::nullopt;
}

}  // namespace weir::http
