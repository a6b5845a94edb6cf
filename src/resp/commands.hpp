// The commands: one row each, found by name.
//
// Any thread; the rows are constants. What a row runs belongs to one of the groups: connection_commands.cpp,
// server_commands.cpp, transaction_commands.cpp, throttle_commands.cpp. The order of the checks before it
// runs is Conversation's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/clients.hpp"
#include "resp/deferred_reply.hpp"
#include "resp/option_words.hpp"
#include "resp/pipeline.hpp"
#include "resp/throttle.hpp"
#include "resp/transaction.hpp"
#include "resp/writer.hpp"
#include "service/service.hpp"
#include "steering/actor.hpp"

namespace weir::inline v0_1::resp {

using Arguments = std::span<const std::string_view>;

// Which commands are replied to, as CLIENT REPLY chose.
enum class Replies : std::uint8_t { on, off, skip_next, skip_this };

// What a connection has told of itself, and how it is replied to.
struct Caller {
  net::Peer peer;
  steering::Role most = steering::Role::admin;  // that anybody has on its listener
  service::Login login{};
  steering::Actor actor{};  // the same with that bound, as take() says it
  std::string name{};
  int protocol = 2;
  Replies replies = Replies::on;
  bool closing = false;  // after the replies so far have been written
  bool guessed = false;  // a wrong password just now: nothing more is run before its answer is sent
  std::shared_ptr<const void> testing{};  // Service::tester, once this connection is that

  bool silent() const { return replies != Replies::on; }
  bool authenticated() const { return actor.role != steering::Role::none; }
  void take(service::Login shown);
  std::string has_role() const;  // "ann has the role decide"
};

// One command that runs.
struct RunningCommand {
  service::Service& service;
  Caller& caller;
  Transaction& transaction;
  Pipeline& pipeline;
  DeferredReply& deferred;
  Arguments words;  // with the name
  std::string& out;
  bool slow = false;  // to be set: it took long, so the other connections are next

  // Its reply is not wanted.
  bool silent() const { return caller.silent() || transaction.silent(); }
  Writer reply() const { return Writer(out, caller.protocol); }
  void fail(std::string_view text) const { reply().error(text); }
  void fail_arity(std::string_view name) const;
  void fail_subcommand(std::string_view name) const;
  // Its words are options of `takes` and nothing else. False: they are not, and the reply says so.
  bool take_options(OptionSet takes, OptionWords& into) const;
  // Under virtual time: whether this connection may begin tests again. False: another may, and the reply says
  // so.
  bool may_begin_tests() const;
};

enum class Flags : std::uint8_t {
  none = 0,
  before_auth = 1,   // needs no authentication
  in_multi = 2,      // runs at once inside MULTI, is not queued
  unlisted = 4,      // only a better error than `unknown command`
  not_in_multi = 8,  // MULTI refuses it
  waits = 16,        // its answer may come long after it
  audited = 32,      // it is written down before it runs, where change_of() says what it changes
};
constexpr Flags operator|(Flags a, Flags b) {
  return static_cast<Flags>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool has(Flags flags, Flags flag) {
  return (static_cast<std::uint8_t>(flags) & static_cast<std::uint8_t>(flag)) != 0;
}

// Of a command whose subcommands are not for the same people.
struct Subcommand {
  std::string_view name;  // upper case
  steering::Role role;
  void (*run)(RunningCommand&);
  bool of_others = false;  // it asks the loops which connections there are
};

struct Command {
  // Gathers what its words ask. False: nothing was gathered, and pipeline.answer() is the reply.
  using Gather = bool (*)(Pipeline&, Arguments words, bool silent);
  // The positions of its keys among the words; 0: it has none. As Redis counts: a last of -1 is the last
  // word.
  struct Keys {
    int first = 0;
    int last = 0;
    int step = 1;
  };

  std::string_view name;  // upper case
  int arity;              // as Redis counts it: with the name, negative is a minimum
  Keys keys;
  Flags flags;
  steering::Role role;           // who may, at least
  Gather ask;                    // of a decision, which is gathered with those around it; null for all others
  void (*run)(RunningCommand&);  // of the others; null for a decision
  std::string_view form;         // what follows its name; empty: nothing
  std::string_view says;         // what it does, in one line
  std::span<const Subcommand> subcommands{};  // those that say who may

  // Who may run it with these words.
  steering::Role needs(Arguments words) const {
    return subcommands.empty() || words.size() < 2 ? role : needs_of_subcommand(words[1]);
  }
  const Subcommand* find_subcommand(std::string_view name) const;
  std::string summary() const { return std::string(form) + (form.empty() ? "" : ": ") + std::string(says); }

  bool allowed_in_multi(Arguments with) const;
  bool takes(std::size_t words) const {
    return arity >= 0 ? words == static_cast<std::size_t>(arity) : words >= static_cast<std::size_t>(-arity);
  }

 private:
  steering::Role needs_of_subcommand(std::string_view name) const;
};

// All but the unlisted ones.
std::span<const Command> listed_commands();
// In any letter case; null when there is none of that name.
const Command* find_command(std::string_view name);

// HOST:PORT, an IPv6 host in brackets.
std::string address_of(const net::Peer& peer);
// Letters A to Z in lower case.
std::string lower(std::string_view text);

// connection_commands.cpp
void run_ping(RunningCommand& call);
void run_echo(RunningCommand& call);
void run_quit(RunningCommand& call);
void run_reset_connection(RunningCommand& call);
void run_hello(RunningCommand& call);
void run_auth(RunningCommand& call);
void run_select(RunningCommand& call);
void run_client(RunningCommand& call);
void run_client_id(RunningCommand& call);
void run_client_getname(RunningCommand& call);
void run_client_setname(RunningCommand& call);
void run_client_reply(RunningCommand& call);
void run_client_nothing(RunningCommand& call);
// client_commands.cpp
void run_client_info(RunningCommand& call);
void run_client_list(RunningCommand& call);
void run_client_kill(RunningCommand& call);
void run_client_unblock(RunningCommand& call);
// server_commands.cpp
void run_command(RunningCommand& call);
void run_info(RunningCommand& call);
void run_config(RunningCommand& call);
void run_time(RunningCommand& call);
void run_dbsize(RunningCommand& call);
void run_shutdown(RunningCommand& call);
void run_lastsave(RunningCommand& call);
void run_bgsave(RunningCommand& call);
// time_commands.cpp
void run_weir_time(RunningCommand& call);
// audit_command.cpp
// What the command is about to change, where an audit has to say so.
std::optional<steering::OperatorChange> change_of(const Command& command, const RunningCommand& call);
void run_audit(RunningCommand& call);
// slow_log_command.cpp
void run_slowlog(RunningCommand& call);
// transaction_commands.cpp
void run_multi(RunningCommand& call);
void run_exec(RunningCommand& call);
void run_discard(RunningCommand& call);
// limits_commands.cpp
bool ask_check(Pipeline& pipeline, Arguments words, bool silent);
bool ask_look(Pipeline& pipeline, Arguments words, bool silent);
void run_explain(RunningCommand& call);
void run_reset(RunningCommand& call);
void run_limits_config(RunningCommand& call);
// override_commands.cpp
void run_ban(RunningCommand& call);
void run_raise(RunningCommand& call);
void run_lower(RunningCommand& call);
void run_shadow(RunningCommand& call);
void run_unban(RunningCommand& call);
void run_lift(RunningCommand& call);
void run_overrides(RunningCommand& call);
// top_command.cpp
void run_top(RunningCommand& call);
// usage_command.cpp
void run_usage(RunningCommand& call);
// reservation_commands.cpp
bool ask_acquire(Pipeline& pipeline, Arguments words, bool silent);
void run_leave(RunningCommand& call);
bool ask_reserve(Pipeline& pipeline, Arguments words, bool silent);
bool ask_cancel(Pipeline& pipeline, Arguments words, bool silent);
bool ask_moment(Pipeline& pipeline, Arguments words, bool silent);
bool ask_settle(Pipeline& pipeline, Arguments words, bool silent);
bool ask_extend(Pipeline& pipeline, Arguments words, bool silent);
// holds_command.cpp
bool ask_holds(Pipeline& pipeline, Arguments words, bool silent);
// charge_command.cpp
bool ask_charge(Pipeline& pipeline, Arguments words, bool silent);
bool ask_refund(Pipeline& pipeline, Arguments words, bool silent);
// throttle_commands.cpp
bool ask_cl_throttle(Pipeline& pipeline, Arguments words, bool silent);
bool ask_gcra(Pipeline& pipeline, Arguments words, bool silent);
bool ask_throttle(Pipeline& pipeline, Arguments words, bool silent);
// "the form is WEIR.HOLDS [COUNT n] ...", of a command that there is.
std::string command_form(std::string_view command);
// Asks `ask` about those keys and their rules, each at that cost; false: the words are wrong, and
// pipeline.answer() says how, with the form of `command`.
bool ask_rules(Pipeline& pipeline, Arguments words, const service::Ask& ask, Cost cost, ReplyForm reply,
               bool silent, std::string_view command);
void run_del(RunningCommand& call);
void refuse_script(RunningCommand& call);

}  // namespace weir::resp
