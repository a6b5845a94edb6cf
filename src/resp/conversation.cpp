#include "resp/conversation.hpp"

#include <utility>

#include "core/packed.hpp"

namespace weir::inline v0_1::resp {

Conversation::Conversation(service::Service& service, RespLoop& loop, net::Peer peer,
                           std::function<void()> resume, net::Clients* clients, steering::Role most)
    : service_(service),
      caller_{.peer = std::move(peer), .most = most},
      pipeline_(loop, caller_.peer, resume),
      deferred_(clients, std::move(resume)) {
  caller_.actor.address = caller_.peer.address;
  pipeline_.asking().come_from(address_of(caller_.peer));
  caller_.actor.protocol = "resp";
  caller_.take(service.logins.at_first(caller_.peer.certificate, false));
}

std::size_t Conversation::feed(std::string_view input, std::string& out, net::Arrival when) {
  pipeline_.asking().begin({when.arrived, when.now});
  slow_ = false;
  caller_.guessed = false;
  if (service_.logins.by_file()) [[unlikely]]
    look_who();
  std::size_t used = 0;
  std::uint64_t ran = 0;
  if (!settle(out) || deferred_.waiting()) return 0;
  if (waits_since_.count() != 0) {
    if (when.now - waits_since_ >= service::SlowLog::kSlow && !has(last_->flags, Flags::waits))
      note(when.now - waits_since_, {std::string(last_->name), "... (and what it waited for)"});
    waits_since_ = {};
  }
  push(out);
  if (deferred_.answered()) deferred_.write(Writer(out, caller_.protocol));
  while (goes_on(out)) {
    if (transaction_.running()) {
      run_transaction(out);
      continue;
    }
    const CommandParser::Status status =
        parser_.next(input.substr(used), caller_.authenticated() ? Bounds{} : kUnauthenticated);
    if (status == CommandParser::Status::incomplete) break;
    if (status == CommandParser::Status::malformed) {
      if (settle(out)) fail_protocol(parser_.error(), out);
      break;
    }
    if (!parser_.args().empty()) {
      if (!take(input.substr(used, parser_.consumed()), out)) break;
      ++ran;
    }
    used += parser_.consumed();
  }
  settle(out);
  push(out);
  busy_ = !caller_.closing && !waiting() &&
          (slow_ || caller_.guessed || out.size() >= kOutputCap || transaction_.running());
  if (waiting()) {
    asked_ += used;
    waits_since_ = when.now;
  } else {
    asked_ = 0;
  }
  service_.counters.count(&service::Counters::commands, ran);
  return caller_.closing ? input.size() : used;
}

// Pushes stand between replies, never within one.
void Conversation::push(std::string& out) {
  if (waiting() || transaction_.running()) return;
  while (pipeline_.asking().has_answered_tags() && out.size() < kOutputCap)
    pipeline_.push(Writer(out, caller_.protocol));
}

// Runs the command that was parsed of these bytes, or gathers it; false, and nothing is done, when those
// before it have to be answered first.
bool Conversation::take(std::string_view bytes, std::string& out) {
  const Arguments words = parser_.args();
  const Command* command = find_command(words[0]);
  if (command != nullptr && may(*command, words) && !transaction_.open() &&
      gather(*command, words, caller_.silent())) {
    last_ = command;
    if (caller_.replies == Replies::skip_next) caller_.replies = Replies::on;
    // Words that had to be unescaped are the parser's, until its next command.
    if (pipeline_.asking().full() || !parser_.args_in_input()) settle(out);
    return true;
  }
  if (!settle(out)) return false;
  last_ = command;
  if (command != nullptr && has(command->flags, Flags::audited)) {
    RunningCommand call{service_, caller_, transaction_, pipeline_, deferred_, words, out};
    if (!transaction_.open() && may(*command, words) && records_first(*command, call)) return false;
  }
  execute(command, bytes, out);
  return true;
}

// A decision waits for those after it; any other command is answered after those before it.
bool Conversation::gather(const Command& command, Arguments words, bool silent) {
  if (has(command.flags, Flags::waits)) {
    pipeline_.asking().let_wait(!transaction_.running());
    pipeline_.let_push(caller_.protocol >= 3);
  }
  return command.ask != nullptr && command.takes(words.size()) && command.ask(pipeline_, words, silent);
}

// What is changed is written down first: true, that is under way, and the command is to be taken again.
bool Conversation::records_first(const Command& command, RunningCommand& call) {
  if (written_ != Written::no || !caller_.authenticated() || !command.takes(call.words.size())) return false;
  std::optional<steering::OperatorChange> change = change_of(command, call);
  if (!change) return false;
  if (!service_.operators.records_later || !deferred_.possible()) {
    service_.operators.record(*std::move(change), [](bool) {});
    return false;
  }
  deferred_.ask<bool>(
      false,
      [this, &change](std::function<void(bool)> told) {
        service_.operators.record(*std::move(change), std::move(told));
      },
      [this](Writer&, bool written) { written_ = written ? Written::yes : Written::refused; });
  return true;
}

void Conversation::execute(const Command* command, std::string_view bytes, std::string& out) {
  const Arguments words = parser_.args();
  // A web page can make a browser send a request whose later lines read as commands (CVE-2016-10517 is about
  // this): such a connection is closed before any of it runs.
  if (looks_like_http(words)) {
    caller_.closing = true;
    return;
  }
  if (caller_.replies == Replies::skip_next) caller_.replies = Replies::skip_this;
  const std::size_t before = out.size();
  RunningCommand call{service_, caller_, transaction_, pipeline_, deferred_, words, out};
  const auto refuse = [&](std::string_view text) {
    transaction_.refuse();
    call.fail(text);
  };
  if (command == nullptr) {
    refuse("ERR unknown command '" + std::string(words[0].substr(0, 64)) + "'");
  } else if (!may(*command, words)) {
    refuse(forbid(*command, words));
  } else if (!command->takes(words.size())) {
    refuse("ERR wrong number of arguments for '" + lower(command->name) + "' command");
  } else if (transaction_.open() && !has(command->flags, Flags::in_multi)) {
    queue(*command, bytes, call);
  } else {
    run(*command, call);
  }
  if (caller_.silent()) out.resize(before);
  if (caller_.replies == Replies::skip_this) caller_.replies = Replies::on;
}

// The users file may say something else of its caller by now.
void Conversation::look_who() {
  if (service_.logins.look_again(caller_.login, caller_.peer.certificate)) caller_.take(caller_.login);
}

// The error of one that its caller may not run.
std::string Conversation::forbid(const Command& command, Arguments words) {
  if (!caller_.authenticated()) return "NOAUTH Authentication required.";
  const steering::Role needed = command.needs(words);
  service_.counters.count_forbidden(needed);
  std::string name(command.name);
  if (needed != command.role) name += " " + std::string(command.find_subcommand(words[1])->name);
  return "NOPERM " + caller_.has_role() + "; " + name + " needs " + std::string(name_of(needed));
}

// What a client may queue is bounded like one command. EXEC announces a reply for each, so nothing that
// keeps one back may be among them.
void Conversation::queue(const Command& command, std::string_view bytes, RunningCommand& call) {
  const bool allowed = command.allowed_in_multi(call.words);
  if (allowed && transaction_.queue(bytes)) return call.reply().simple("QUEUED");
  transaction_.refuse();
  call.fail(allowed ? "ERR too much queued in one MULTI" : "ERR Command not allowed inside a transaction");
}

// A decision comes here when it could not be gathered.
void Conversation::run(const Command& command, RunningCommand& call) {
  if (command.ask != nullptr) return pipeline_.answer(call.reply());
  if (std::exchange(written_, Written::no) == Written::refused)
    return call.fail("ERR " + std::string(steering::kNotWritten));
  const std::chrono::nanoseconds began = service_.now();
  command.run(call);
  slow_ = slow_ || call.slow;
  settle(call.out);
  const std::chrono::nanoseconds took = service_.now() - began;
  if (took < service::SlowLog::kSlow) return;
  // What may run before authentication may have a password among its words.
  note(took, service::cut(has(command.flags, Flags::before_auth) ? call.words.first(1) : call.words));
}

void Conversation::note(std::chrono::nanoseconds took, std::vector<std::string> words) {
  service_.slow_log.add({.at = std::chrono::floor<std::chrono::seconds>(service_.wall_now()),
                         .took = took,
                         .words = std::move(words),
                         .address = address_of(caller_.peer),
                         .name = caller_.name});
}

// What EXEC runs, as far as the output's bound and the store allow; the rest is for a later call.
void Conversation::run_transaction(std::string& out) {
  while (transaction_.next()) {
    if (!goes_on(out)) return;
    const CommandParser& parser = transaction_.parser();
    const Arguments words = parser.args();
    const Command& command = *find_command(words[0]);
    // Since it was queued its caller may have lost a role.
    const bool allowed = may(command, words);
    if (allowed && gather(command, words, transaction_.silent())) {
      if (pipeline_.asking().full() || !parser.args_in_input()) settle(out);
      transaction_.advance();
      continue;
    }
    if (!settle(out)) return;
    const std::size_t before = out.size();
    RunningCommand call{service_, caller_, transaction_, pipeline_, deferred_, words, out};
    if (!allowed) {
      call.fail(forbid(command, words));
    } else {
      if (has(command.flags, Flags::audited) && records_first(command, call)) return;
      run(command, call);
    }
    if (transaction_.silent()) out.resize(before);
    transaction_.advance();
  }
  if (settle(out)) transaction_.end();
}

void Conversation::fail_protocol(std::string_view text, std::string& out) {
  Writer(out, caller_.protocol).error(text);
  service_.counters.count(&service::Counters::protocol_errors);
  service_.notices.tell(core::Notice::malformed, caller_.peer.address, text);
  caller_.closing = true;
}

void Conversation::describe(net::ClientInfo& client) const {
  client.name = caller_.name;
  const std::string& user = caller_.actor.user;
  client.user = !caller_.authenticated() ? "" : user == "-" ? service_.options().user : user;
  client.protocol = caller_.protocol;
  client.command = last_ != nullptr ? lower(last_->name) : "NULL";
  client.waits = pipeline_.asking().acquiring();
  if (transaction_.open()) client.queued = static_cast<std::int64_t>(transaction_.queued());
}

std::optional<std::string> Conversation::hand_over() const {
  if (caller_.closing || caller_.guessed) return std::nullopt;
  core::Packing out;
  out.number(static_cast<std::uint64_t>(caller_.most));
  out.number(static_cast<std::uint64_t>(caller_.login.role));
  out.text(caller_.login.user);
  out.text(caller_.login.by);
  out.text(caller_.name);
  out.number(static_cast<std::uint64_t>(caller_.protocol));
  out.number(static_cast<std::uint64_t>(caller_.replies));
  pipeline_.asking().pack_holds(out);
  return out.take();
}

bool Conversation::take_over(std::string_view state) {
  core::Unpacking in(state);
  constexpr auto kMost = static_cast<std::uint64_t>(steering::Role::admin);
  const std::uint64_t most = in.number();
  const std::uint64_t role = in.number();
  if (most > kMost || role > kMost) return false;
  // What it may is derived here: its listener, the settings and the users may be others.
  service::Login login{.role = static_cast<steering::Role>(role)};
  login.user = in.text();
  login.by = in.text();
  caller_.take(service_.logins.again(login, caller_.peer.certificate));
  caller_.name = in.text();
  caller_.protocol = in.number() == 3 ? 3 : 2;
  const std::uint64_t replies = in.number();
  if (replies > static_cast<std::uint64_t>(Replies::skip_this)) return false;
  caller_.replies = static_cast<Replies>(replies);
  pipeline_.asking().take_over_holds(in);
  return in.is_whole();
}

}  // namespace weir::resp
