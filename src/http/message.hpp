// One HTTP request as it came: views of the bytes of a connection, nothing decoded.
//
// A plain value, any thread. What it views belongs to the connection and lasts until the request's handler
// returns; a handler that answers later copies what it then needs. Not for: finding a request in bytes
// (parser.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weir::inline v0_1::http {

// Names of fields and most words in them: letters in either case are the same.
constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}
constexpr bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

struct Field {
  std::string_view name;   // as it was written
  std::string_view value;  // without the blanks around it
};

struct Message {
  std::string_view method{};
  std::string_view target{};  // as it came
  // Of the target, as it came: without its query, and without the scheme and the host of an absolute one.
  std::string_view path;
  std::string_view query;           // after the first '?'; empty: none
  int minor = 1;                    // HTTP/1.minor: 0 or 1
  std::span<const Field> fields{};  // in their order
  std::string_view body{};          // chunks put together
  bool keep_alive = true;           // the client may send another request by this connection

  // The first field of that name after `before`, or of all; null: there is none.
  const Field* find(std::string_view name, const Field* before = nullptr) const {
    const std::size_t from = before == nullptr ? 0 : static_cast<std::size_t>(before - fields.data()) + 1;
    for (const Field& each : fields.subspan(from)) {
      if (same(each.name, name)) return &each;
    }
    return nullptr;
  }
  // The value of its only or first field of that name; empty when there is none.
  std::string_view value(std::string_view name) const {
    const Field* const found = find(name);
    return found == nullptr ? std::string_view{} : found->value;
  }
  std::size_t count(std::string_view name) const {
    std::size_t times = 0;
    for (const Field* each = find(name); each != nullptr; each = find(name, each)) ++times;
    return times;
  }
};

// Fills path and query from the target.
void split_target(Message& message);

}  // namespace weir::http
