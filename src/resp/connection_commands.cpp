// Commands about the connection itself.
#include <algorithm>

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

// A right password is answered at once, unless too many wrong ones come from the same address: nobody can
// lock out a client elsewhere that knows it. A wrong one is answered late.
bool log_in(RunningCommand& call, std::string_view user, std::string_view password) {
  service::Service& service = call.service;
  const std::string& address = call.caller.peer.address;
  if (!service.guesses.may_come_from(address)) {
    service.counters.count(&service::Counters::auth_refused);
    call.fail("ERR too many wrong passwords come from " + address + "; try again in a second");
    call.caller.closing = true;
    return false;
  }
  if (service.credentials.match(user, password)) {
    call.caller.authenticated = true;
    return true;
  }
  call.caller.guessed = true;
  service.guesses.came_from(address);
  service.counters.count(&service::Counters::auth_failures);
  service.notices.tell(core::Notice::wrong_password, address);
  call.fail("WRONGPASS invalid username-password pair or user is disabled.");
  return false;
}

void set_reply_mode(RunningCommand& call, std::string_view mode) {
  Replies& replies = call.caller.replies;
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

}  // namespace

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
  Caller& caller = call.caller;
  caller.authenticated = !call.service.credentials.required();
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
  }
  std::string_view name = caller.name;
  while (at < words.size()) {
    const std::string option = lower(words[at]);
    if (option == "auth" && at + 2 < words.size()) {
      if (call.service.credentials.required() && !log_in(call, words[at + 1], words[at + 2])) return;
      at += 3;
    } else if (option == "setname" && at + 1 < words.size()) {
      name = words[at + 1];
      if (!is_name(name)) return call.fail(kBadName);
      at += 2;
    } else {
      return call.fail("ERR Syntax error in HELLO option '" + option.substr(0, 32) + "'");
    }
  }
  if (!caller.authenticated) {
    return call.fail(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol "
        "version at the same time");
  }
  caller.protocol = protocol;
  caller.name = std::string(name);
  Writer to = call.reply();
  to.map(9);
  to.bulk("server");
  to.bulk("redis");
  to.bulk("version");
  to.bulk(kRedisVersion);
  to.bulk("proto");
  to.integer(protocol);
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
  to.integer(call.service.options().store_deadline.count());
}

void run_auth(RunningCommand& call) {
  if (call.words.size() > 3) return call.fail("ERR syntax error");
  if (!call.service.credentials.required()) {
    return call.fail(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure "
        "your configuration is correct?");
  }
  const bool named = call.words.size() == 3;
  if (log_in(call, named ? call.words[1] : "default", call.words[named ? 2 : 1])) call.reply().simple("OK");
}

void run_select(RunningCommand& call) {
  if (!core::parse_integer(call.words[1])) return call.fail("ERR invalid DB index");
  if (call.words[1] != "0") return call.fail("ERR DB index is out of range");
  call.reply().simple("OK");
}

void run_client(RunningCommand& call) {
  const Arguments words = call.words;
  Caller& caller = call.caller;
  const std::string what = lower(words[1]);
  if (what == "setname") {
    if (words.size() != 3) return call.fail_arity("client|" + what);
    if (!is_name(words[2])) return call.fail(kBadName);
    caller.name = std::string(words[2]);
    return call.reply().simple("OK");
  }
  if (what == "getname") return caller.name.empty() ? call.reply().null() : call.reply().bulk(caller.name);
  if (what == "id") return call.reply().integer(static_cast<std::int64_t>(caller.peer.id));
  if (call.deferred.possible()) {
    if (what == "info") return run_client_info(call);
    if (what == "list") return run_client_list(call);
    if (what == "kill") return run_client_kill(call);
    if (what == "unblock") return run_client_unblock(call);
  }
  if (what == "setinfo" || what == "no-evict" || what == "no-touch") return call.reply().simple("OK");
  if (what == "reply") {
    if (words.size() != 3) return call.fail_arity("client|" + what);
    return set_reply_mode(call, lower(words[2]));
  }
  call.fail_subcommand(what);
}

}  // namespace weir::resp
