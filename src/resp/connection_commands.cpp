// Commands about the connection itself.
#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "core/number.hpp"
#include "resp/commands.hpp"
#include "resp/info.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::resp {
namespace {

constexpr std::size_t kLongestName = 256;
constexpr std::string_view kBadName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

// As in Redis; a name is listed in CLIENT INFO, where a line feed would forge a line.
bool is_name(std::string_view name) {
  return name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

using service::Logins;
using OnLogin = std::function<void(Caller&, Writer&)>;

// A right password is answered at once, unless too many wrong ones come from the same address: nobody can
// lock out a client elsewhere that knows it. A wrong one is answered late.
void tell(const Logins::Ruling& told, Caller& caller, Writer& to, const OnLogin& reply) {
  switch (told.outcome) {
    case Logins::Outcome::in:
      caller.take(told.login);
      return reply(caller, to);
    case Logins::Outcome::wrong:
      caller.guessed = true;
      return to.error("WRONGPASS invalid username-password pair or user is disabled.");
    case Logins::Outcome::guessed:
      to.error("ERR too many wrong passwords come from " + caller.peer.address + "; try again in a second");
      break;
    case Logins::Outcome::crowded:
      to.error("ERR too many passwords are being compared; try again in a second");
      break;
  }
  caller.closing = true;
}

// A password that is compared with its hash is answered later, and nothing else of the connection runs
// before.
void log_in(RunningCommand& call, std::optional<std::string_view> user, std::string_view secret,
            OnLogin reply) {
  Caller& caller = call.caller;
  const Logins::Shown shown{.user = user ? std::optional(std::string(*user)) : std::nullopt,
                            .secret = std::string(secret),
                            .address = caller.peer.address};
  Logins& logins = call.service.logins;
  Writer to = call.reply();
  if (const auto told = logins.judge(shown)) return tell(*told, caller, to, reply);
  if (!call.deferred.possible()) return call.fail("ERR no password can be compared here");
  call.deferred.ask<Logins::Ruling>(
      call.silent(),
      [&logins, shown](const std::function<void(Logins::Ruling)>& told) { logins.check(shown, told); },
      [&caller, reply = std::move(reply)](Writer& late, const Logins::Ruling& told) {
        tell(told, caller, late, reply);
      });
}

// What HELLO sets, once it is known that its caller may.
struct HelloTerms {
  int protocol;
  std::string name;
  std::chrono::milliseconds store_deadline;
  std::chrono::milliseconds max_wait;
  std::size_t max_waiters;
};

void greet(const HelloTerms& greeting, Caller& caller, Writer& to) {
  if (!caller.authenticated()) {
    return to.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol "
        "version at the same time");
  }
  caller.protocol = greeting.protocol;
  caller.name = greeting.name;
  to.use(greeting.protocol);
  to.map(11);
  to.bulk("server");
  to.bulk("redis");
  to.bulk("version");
  to.bulk(kRedisVersion);
  to.bulk("proto");
  to.integer(greeting.protocol);
  to.bulk("id");
  to.integer(static_cast<std::int64_t>(caller.peer.id));
  to.bulk("mode");
  to.bulk("standalone");
  to.bulk("role");
  to.bulk("master");
  to.bulk("modules");
  to.array(0);
  to.bulk("weir_version");
  to.bulk(WEIR_VERSION);
  to.bulk("store_deadline_ms");
  to.integer(greeting.store_deadline.count());
  to.bulk("max_wait_ms");
  to.integer(greeting.max_wait.count());
  to.bulk("max_waiters");
  to.integer(static_cast<std::int64_t>(greeting.max_waiters));
}

}  // namespace

void Caller::take(service::Login shown) {
  login = std::move(shown);
  actor.user = login.user;
  actor.role = std::min(login.role, most);
}

std::string Caller::has_role() const {
  return std::string(called(actor)) + " has the role " + std::string(name_of(actor.role)) +
         (login.role > most ? " here" : "");
}

void run_ping(RunningCommand& call) {
  if (call.words.size() > 2) return call.fail_arity("ping");
  if (call.words.size() == 2) return call.reply().bulk(call.words[1]);
  call.reply().simple("PONG");
}

void run_echo(RunningCommand& call) { call.reply().bulk(call.words[1]); }

void run_quit(RunningCommand& call) {
  call.reply().simple("OK");
  call.caller.closing = true;
}

void run_reset_connection(RunningCommand& call) {
  call.transaction.discard();
  call.pipeline.asking().leave_all_lines();
  Caller& caller = call.caller;
  caller.take(call.service.logins.at_first(caller.peer.certificate, false));
  caller.name.clear();
  caller.protocol = 2;
  caller.replies = Replies::on;
  call.reply().simple("RESET");
}

void run_hello(RunningCommand& call) {
  const Arguments words = call.words;
  Caller& caller = call.caller;
  int protocol = caller.protocol;
  std::size_t at = 1;
  if (words.size() > 1) {
    if (words[1] != "2" && words[1] != "3") {
      const bool number =
          words[1].find_first_not_of("0123456789") == std::string_view::npos && !words[1].empty();
      return call.fail(number ? "NOPROTO unsupported protocol version"
                              : "ERR Protocol version is not an integer or out of range");
    }
    protocol = words[1] == "3" ? 3 : 2;
    at = 2;
    if (protocol == 2 && call.pipeline.asking().tags() > 0)
      return call.fail("ERR HELLO 2: what waits by TAG is answered by RESP3; WEIR.LEAVE, or wait, before it");
  }
  std::string_view name = caller.name;
  std::optional<std::pair<std::string_view, std::string_view>> shown;
  while (at < words.size()) {
    const std::string option = lower(words[at]);
    if (option == "auth" && at + 2 < words.size()) {
      shown.emplace(words[at + 1], words[at + 2]);
      at += 3;
    } else if (option == "setname" && at + 1 < words.size()) {
      name = words[at + 1];
      if (!is_name(name)) return call.fail(kBadName);
      at += 2;
    } else {
      return call.fail("ERR Syntax error in HELLO option '" + option.substr(0, 32) + "'");
    }
  }
  const HelloTerms greeting{protocol, std::string(name), call.service.options().store_deadline,
                            call.service.options().max_wait, call.service.options().max_waiters};
  if (shown && call.service.logins.takes_passwords())
    return log_in(call, shown->first, shown->second,
                  [greeting](Caller& who, Writer& to) { greet(greeting, who, to); });
  Writer to = call.reply();
  greet(greeting, caller, to);
}

void run_auth(RunningCommand& call) {
  if (call.words.size() > 3) return call.fail("ERR syntax error");
  if (!call.service.logins.takes_passwords()) {
    return call.fail(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure "
        "your configuration is correct?");
  }
  const bool named = call.words.size() == 3;
  log_in(call, named ? std::optional(call.words[1]) : std::nullopt, call.words[named ? 2 : 1],
         [](Caller&, Writer& to) { to.simple("OK"); });
}

void run_select(RunningCommand& call) {
  if (!core::parse_integer(call.words[1])) return call.fail("ERR invalid DB index");
  if (call.words[1] != "0") return call.fail("ERR DB index is out of range");
  call.reply().simple("OK");
}

void run_client(RunningCommand& call) {
  const Subcommand* const found = find_command("CLIENT")->find_subcommand(call.words[1]);
  if (found == nullptr || (found->of_others && !call.deferred.possible()))
    return call.fail_subcommand(lower(call.words[1]));
  found->run(call);
}

void run_client_id(RunningCommand& call) {
  call.reply().integer(static_cast<std::int64_t>(call.caller.peer.id));
}

void run_client_getname(RunningCommand& call) {
  const std::string& name = call.caller.name;
  name.empty() ? call.reply().null() : call.reply().bulk(name);
}

void run_client_setname(RunningCommand& call) {
  if (call.words.size() != 3) return call.fail_arity("client|setname");
  if (!is_name(call.words[2])) return call.fail(kBadName);
  call.caller.name = std::string(call.words[2]);
  call.reply().simple("OK");
}

void run_client_reply(RunningCommand& call) {
  if (call.words.size() != 3) return call.fail_arity("client|reply");
  Replies& replies = call.caller.replies;
  const std::string mode = lower(call.words[2]);
  if (mode == "on") {
    replies = Replies::on;
    call.reply().simple("OK");
  } else if (mode == "off") {
    replies = Replies::off;
  } else if (mode == "skip") {
    if (replies != Replies::off) replies = Replies::skip_next;
  } else {
    call.fail("ERR syntax error");
  }
}

// What a client tells of itself, and asks of a memory that no connection here has.
void run_client_nothing(RunningCommand& call) { call.reply().simple("OK"); }

}  // namespace weir::resp
