// CLIENT LIST, INFO, KILL and UNBLOCK.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/number.hpp"
#include "resp/commands.hpp"

namespace weir::inline v0_1::resp {
namespace {

using net::ClientInfo;

constexpr std::uint64_t kMostAge = 1'000'000'000;  // in nanoseconds they fit

std::string seconds(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(time).count());
}

// The fields of Redis that mean something here and those that its clients insist on, in its order.
std::string line_of(const ClientInfo& client) {
  return "id=" + std::to_string(client.peer.id) + " addr=" + address_of(client.peer) +
         " name=" + client.name + " age=" + seconds(client.age) + " idle=" + seconds(client.idle) +
         " flags=" +
         (client.waits        ? "b"
          : client.queued < 0 ? "N"
                              : "x") +
         " db=0 sub=0 psub=0 ssub=0 multi=" + std::to_string(client.queued) +
         " qbuf=" + std::to_string(client.input) +
         " qbuf-free=0 argv-mem=0 obl=" + std::to_string(client.output) + " oll=0 omem=0" +
         " tot-mem=" + std::to_string(client.memory) + " cmd=" + client.command + " user=" + client.user +
         " resp=" + std::to_string(client.protocol) + "\n";
}

// What a filter is compared with; all that are given must hold. Every connection is of type `normal`.
struct ClientFilter {
  std::vector<std::uint64_t> ids{};
  std::optional<std::string> address{};
  std::optional<std::string> user{};
  std::chrono::seconds least_age{0};
  bool normal = true;
  std::uint64_t not_this = 0;

  bool matches(const ClientInfo& client) const {
    return normal && client.peer.id != not_this &&
           (ids.empty() || std::find(ids.begin(), ids.end(), client.peer.id) != ids.end()) &&
           (!address || *address == address_of(client.peer)) && (!user || *user == client.user) &&
           client.age >= least_age;
  }
};

// False when the word is not a positive number; then the error is told.
bool read_number(RunningCommand& call, std::string_view word, std::string_view what, std::uint64_t& number) {
  const auto parsed = core::parse_integer(word);
  if (!parsed || *parsed <= 0) {
    call.fail("ERR " + std::string(what) + " should be greater than 0");
    return false;
  }
  number = static_cast<std::uint64_t>(*parsed);
  return true;
}

bool read_type(RunningCommand& call, std::string_view word, ClientFilter& filter) {
  const std::string type = lower(word);
  filter.normal = type == "normal";
  if (filter.normal || type == "master" || type == "replica" || type == "slave" || type == "pubsub")
    return true;
  call.fail("ERR Unknown client type '" + type.substr(0, 32) + "'");
  return false;
}

bool read_filter(RunningCommand& call, std::string_view name, std::string_view value, ClientFilter& filter) {
  const std::string option = lower(name);
  std::uint64_t number = 0;
  if (option == "id") {
    if (!read_number(call, value, "client-id", number)) return false;
    filter.ids.push_back(number);
  } else if (option == "maxage") {
    if (!read_number(call, value, "maxage", number)) return false;
    filter.least_age = std::chrono::seconds{static_cast<std::int64_t>(std::min(number, kMostAge))};
  } else if (option == "type") {
    return read_type(call, value, filter);
  } else if (option == "addr") {
    filter.address = value;
  } else if (option == "user") {
    filter.user = value;
  } else if (option == "skipme" && (lower(value) == "yes" || lower(value) == "no")) {
    filter.not_this = lower(value) == "yes" ? call.caller.peer.id : 0;
  } else {
    call.fail("ERR syntax error");
    return false;
  }
  return true;
}

void tell(RunningCommand& call, ClientFilter filter) {
  call.deferred.list(call.silent(), [filter = std::move(filter)](Writer& to, net::Clients::List& list) {
    std::string text;
    for (const ClientInfo& each : list.rows) {
      if (filter.matches(each)) text += line_of(each);
    }
    to.verbatim(text);
  });
}

void tell_all(RunningCommand& call) {
  call.deferred.list(call.silent(), [](Writer& to, net::Clients::List& list) {
    if (list.text.empty()) {
      for (const ClientInfo& each : list.rows) list.text += line_of(each);
    }
    to.verbatim(list.text);
  });
}

// One that closes itself gets its reply first.
void kill(RunningCommand& call, const ClientFilter& filter, std::function<void(Writer&, std::size_t)> reply) {
  Caller& caller = call.caller;
  const auto itself = std::make_shared<bool>(false);
  call.deferred.close(
      call.silent(),
      [filter, itself, id = caller.peer.id](const ClientInfo& client) {
        const bool found = filter.matches(client);
        *itself = *itself || (found && client.peer.id == id);
        return found && client.peer.id != id;
      },
      [itself, &caller, reply = std::move(reply)](Writer& to, std::size_t closed) {
        caller.closing = caller.closing || *itself;
        reply(to, closed + (*itself ? 1 : 0));
      });
}

}  // namespace

std::string address_of(const net::Peer& peer) {
  const std::string& host = peer.address;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(peer.port);
}

void run_client_info(RunningCommand& call) { tell(call, {.ids = {call.caller.peer.id}}); }

void run_client_list(RunningCommand& call) {
  const Arguments words = call.words;
  if (words.size() == 2) return tell_all(call);
  ClientFilter filter;
  const std::string option = lower(words[2]);
  if (option == "type" && words.size() == 4) {
    if (read_type(call, words[3], filter)) tell(call, std::move(filter));
  } else if (option == "id" && words.size() > 3) {
    for (const std::string_view word : words.subspan(3)) {
      if (!read_filter(call, "id", word, filter)) return;
    }
    tell(call, std::move(filter));
  } else {
    call.fail("ERR syntax error");
  }
}

// CLIENT KILL ADDRESS, or pairs of a filter and its value.
void run_client_kill(RunningCommand& call) {
  const Arguments words = call.words;
  if (words.size() == 3) {
    return kill(call, {.address = std::string(words[2])}, [](Writer& to, std::size_t closed) {
      closed > 0 ? to.simple("OK") : to.error("ERR No such client");
    });
  }
  if (words.size() % 2 != 0 || words.size() < 4) return call.fail("ERR syntax error");
  ClientFilter filter{.not_this = call.caller.peer.id};
  for (std::size_t i = 2; i < words.size(); i += 2) {
    if (!read_filter(call, words[i], words[i + 1], filter)) return;
  }
  kill(call, filter, [](Writer& to, std::size_t closed) { to.integer(static_cast<std::int64_t>(closed)); });
}

// CLIENT UNBLOCK ID [TIMEOUT | ERROR]
void run_client_unblock(RunningCommand& call) {
  const Arguments words = call.words;
  if (words.size() != 3 && words.size() != 4) return call.fail_arity("client|unblock");
  const auto id = core::parse_integer(words[2]);
  if (!id) return call.fail("ERR value is not an integer or out of range");
  const std::string how = words.size() == 4 ? lower(words[3]) : "timeout";
  if (how != "timeout" && how != "error")
    return call.fail("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  call.deferred.end_wait(call.silent(), static_cast<std::uint64_t>(*id), how == "error");
}

}  // namespace weir::resp
