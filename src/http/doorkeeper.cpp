#include "http/doorkeeper.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "http/problem.hpp"

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

// "RESET" of "/v1/reset".
std::string verb_of(std::string_view path) {
  std::string verb(path.substr(path.rfind('/') + 1));
  for (char& each : verb) each = each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
  return verb;
}

}  // namespace

Doorkeeper::Doorkeeper(service::Service& service, const net::Peer& peer, steering::Role most, Post post,
                       std::function<void()> resume)
    : service_(service),
      peer_(peer),
      most_(most),
      actor_{.address = peer.address, .protocol = "http"},
      compared_(std::move(post), std::move(resume)) {
  take(service.logins.at_first(peer.certificate, true));
}

void Doorkeeper::take(const service::Login& login) {
  actor_.user = login.user;
  actor_.role = std::min(login.role, most_);
  capped_ = login.role > most_;
}

Doorkeeper::Verdict Doorkeeper::judge(const Message& head, Reply& reply) {
  if (!service_.logins.required()) {
    take(service_.logins.at_first({}, true));
    return Verdict::in;
  }
  if (const auto told = compared_.take()) return judge(*told, reply);
  const auto shown = shown_by(head);
  if (!shown) {
    take(head.find("Authorization") == nullptr ? service_.logins.at_first(peer_.certificate, true)
                                               : service::Login{});
    return actor_.role == steering::Role::none ? refuse("missing credentials", reply) : Verdict::in;
  }
  if (const auto told = service_.logins.judge(*shown)) return judge(*told, reply);
  if (!compared_.possible()) return refuse("no password can be compared here", reply);
  service_.logins.check(*shown, compared_.begin());
  return Verdict::waits;
}

// Nothing: it says nothing that could be compared, or that is compared.
std::optional<Doorkeeper::Logins::Shown> Doorkeeper::shown_by(const Message& head) const {
  const Logins& logins = service_.logins;
  const Field* const field = head.find("Authorization");
  if (field == nullptr || head.find("Authorization", field) != nullptr) return std::nullopt;
  const std::size_t blank = field->value.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view scheme = field->value.substr(0, blank);
  const std::string_view secret = field->value.substr(field->value.find_first_not_of(' ', blank));
  if (same(scheme, "Bearer") && logins.takes_tokens())
    return Logins::Shown{
        .secret = std::string(secret), .address = peer_.address, .only_token = true, .known = known_};
  if (!same(scheme, "Basic") || !logins.takes_passwords()) return std::nullopt;
  const std::optional<std::string> pair = read_base64(secret);
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  if (!pair || colon == std::string::npos) return std::nullopt;
  return Logins::Shown{.user = pair->substr(0, colon),
                       .secret = pair->substr(colon + 1),
                       .address = peer_.address,
                       .known = known_};
}

Doorkeeper::Verdict Doorkeeper::judge(const Logins::Ruling& told, Reply& reply) {
  const auto too_many = [&reply](int status, const std::string& detail) {
    write_problem(reply, status, detail);
    append_field(reply.fields, "Retry-After", "1");
    reply.closes = true;
    return Verdict::refused;
  };
  switch (told.outcome) {
    case Logins::Outcome::in:
      take(told.login);
      known_ = true;
      return Verdict::in;
    case Logins::Outcome::guessed:
      return too_many(429,
                      "too many wrong credentials come from " + peer_.address + "; try again in a second");
    case Logins::Outcome::crowded:
      return too_many(503, "too many passwords are being compared; try again in a second");
    case Logins::Outcome::wrong:
      break;
  }
  refuse("wrong credentials", reply);
  return Verdict::late;
}

// A 401 says what is accepted.
Doorkeeper::Verdict Doorkeeper::refuse(std::string_view why, Reply& reply) const {
  write_problem(reply, 401, why);
  if (service_.logins.takes_tokens()) append_field(reply.fields, "WWW-Authenticate", "Bearer realm=\"weir\"");
  if (service_.logins.takes_passwords())
    append_field(reply.fields, "WWW-Authenticate", "Basic realm=\"weir\", charset=\"UTF-8\"");
  return Verdict::refused;
}

bool Doorkeeper::allow(steering::Role needed, std::string_view path, Reply& reply) {
  if (actor_.role >= needed) return true;
  service_.counters.count_forbidden(needed);
  const std::string role(name_of(needed));
  write_forbidden(reply,
                  verb_of(path) + " needs the role " + role + "; " + std::string(called(actor_)) + " has " +
                      std::string(name_of(actor_.role)) + (capped_ ? " here" : ""),
                  role);
  return false;
}

}  // namespace weir::http
