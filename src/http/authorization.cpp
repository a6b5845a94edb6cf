#include "http/authorization.hpp"

#include <optional>
#include <string>

#include "http/problem.hpp"
#include "http/writer.hpp"

namespace weir::inline v0_1::http {
namespace {

// With its padding or without. Nothing: it is not base64.
std::optional<std::string> read_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  unsigned value = 0;
  unsigned bits = 0;
  for (const char each : text) {
    unsigned six = 0;
    if (each >= 'A' && each <= 'Z') {
      six = static_cast<unsigned>(each - 'A');
    } else if (each >= 'a' && each <= 'z') {
      six = static_cast<unsigned>(each - 'a') + 26;
    } else if (each >= '0' && each <= '9') {
      six = static_cast<unsigned>(each - '0') + 52;
    } else if (each == '+' || each == '/') {
      six = each == '+' ? 62 : 63;
    } else {
      return std::nullopt;
    }
    value = (value << 6 | six) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(value >> bits & 0xff);
  }
  return bytes;
}

Authorized authorize(const service::Service& service, const Message& message) {
  const Field* const field = message.find("Authorization");
  if (field == nullptr || message.find("Authorization", field) != nullptr) return Authorized::missing;
  const std::size_t blank = field->value.find(' ');
  if (blank == std::string_view::npos) return Authorized::missing;
  const std::string_view scheme = field->value.substr(0, blank);
  const std::string_view secret = field->value.substr(field->value.find_first_not_of(' ', blank));
  if (same(scheme, "Bearer") && service.token.required())
    return service.token.match({}, secret) ? Authorized::yes : Authorized::wrong;
  if (!same(scheme, "Basic") || !service.credentials.required()) return Authorized::missing;
  const std::optional<std::string> pair = read_base64(secret);
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  if (!pair || colon == std::string::npos) return Authorized::missing;
  return service.credentials.match(std::string_view(*pair).substr(0, colon),
                                   std::string_view(*pair).substr(colon + 1))
             ? Authorized::yes
             : Authorized::wrong;
}

// The field of a 401, which says what is accepted.
void append_challenge(std::string& fields, const service::Service& service) {
  if (service.token.required()) append_field(fields, "WWW-Authenticate", "Bearer realm=\"weir\"");
  if (service.credentials.required())
    append_field(fields, "WWW-Authenticate", "Basic realm=\"weir\", charset=\"UTF-8\"");
}

}  // namespace

Authorized admit(service::Service& service, const Message& message, std::string_view address, bool known,
                 Reply& reply) {
  if (!known && message.find("Authorization") != nullptr && !service.guesses.may_come_from(address)) {
    service.counters.count(&service::Counters::auth_refused);
    write_problem(reply, 429,
                  "too many wrong credentials come from " + std::string(address) + "; try again in a second");
    append_field(reply.fields, "Retry-After", "1");
    reply.closes = true;
    return Authorized::missing;
  }
  const Authorized authorized = authorize(service, message);
  if (authorized == Authorized::yes) return authorized;
  write_problem(reply, 401, authorized == Authorized::wrong ? "wrong credentials" : "missing credentials");
  append_challenge(reply.fields, service);
  if (authorized == Authorized::wrong) {
    service.guesses.came_from(address);
    service.counters.count(&service::Counters::auth_failures);
    service.notices.tell(core::Notice::wrong_password, address);
  }
  return authorized;
}

}  // namespace weir::http
