#include "server/resp_front.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "resp/number.hpp"
#include "server/info.hpp"

namespace weir::server {
namespace {

constexpr std::size_t kLongestName = 256;
constexpr std::string_view kBadName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

// As Redis has it; a name is listed in CLIENT INFO, where a line feed would forge a line.
bool is_name(std::string_view name) {
  return name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

// Enough misses to keep the memory busy; more only pushes earlier lines out again.
constexpr std::size_t kMostPending = 64;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return result;
}

}  // namespace

struct RespFront::Command {
  std::string_view name;  // upper case
  int arity;              // as Redis counts it: negative is a minimum
  int first_key;
  int last_key;
  bool before_auth;
  bool in_multi;  // runs at once inside MULTI, is not queued
  bool batched;   // its decision may wait for those behind it; everything else is answered after them
  void (*run)(RespFront&, Arguments, std::string&);
  std::string_view summary;
};

RespFront::RespFront(Service& service, Scratch& pending, std::uint64_t id, std::string address,
                     redis::SharedStore* store, std::function<void()> resume)
    : service_(service),
      pending_(pending),
      id_(id),
      address_(std::move(address)),
      authenticated_(!service.credentials.required()),
      remote_(store != nullptr ? std::make_unique<Remote>(*store, service.settings, std::move(resume))
                               : nullptr) {}

RespFront::~RespFront() = default;

std::size_t RespFront::feed(std::string_view input, std::string& out, std::chrono::nanoseconds arrived,
                            std::chrono::nanoseconds now) {
  arrived_ = arrived;
  now_ = now;
  std::size_t used = 0;
  std::uint64_t ran = 0;
  if (!collect(out)) return 0;
  run_transaction(out);
  while (!closing_ && transaction_.empty() && !yielding_ && out.size() < kOutputCap) {
    if (remote_ != nullptr && remote_->size() >= kMostPending && !collect(out)) break;
    const resp::RequestParser::Status status =
        parser_.next(input.substr(used), authenticated_ ? resp::Bounds{} : resp::kUnauthenticated);
    if (status == resp::RequestParser::Status::incomplete) break;
    if (status == resp::RequestParser::Status::malformed) {
      if (!collect(out)) break;
      fail_protocol(out, parser_.error());
      break;
    }
    if (must_wait(parser_.args()) && !collect(out)) break;
    used += parser_.consumed();
    if (parser_.args().empty()) continue;
    ++ran;
    execute(parser_.args(), out);
  }
  decide_pending(out);
  collect(out);
  busy_ = !closing_ && !waiting() && (yielding_ || out.size() >= kOutputCap || !transaction_.empty());
  yielding_ = false;
  service_.counters.commands.fetch_add(ran, std::memory_order_relaxed);
  return closing_ ? input.size() : used;
}

// What EXEC runs, as far as the output cap allows; the rest is for the next call.
void RespFront::run_transaction(std::string& out) {
  const std::size_t before = out.size();
  while (transaction_at_ < transaction_.size() && out.size() < kOutputCap && collect(out)) {
    const std::vector<std::string>& words = transaction_[transaction_at_++];
    const std::vector<std::string_view> views(words.begin(), words.end());
    run(*find(views[0]), views, out);
    if (replies_ == Replies::off) out.resize(before);
  }
  decide_pending(out);
  if (transaction_at_ < transaction_.size()) return;
  std::vector<std::vector<std::string>>().swap(transaction_);
  transaction_at_ = 0;
}

// Writes what the shared store has answered; false while some of it is outstanding.
bool RespFront::collect(std::string& out) {
  if (remote_ == nullptr) return true;
  if (remote_->waiting()) return false;
  service_.counters.denied.fetch_add(remote_->collect(reply(out)), std::memory_order_relaxed);
  return true;
}

// Answers come in the order of the commands: only another decision may be asked for behind one.
bool RespFront::must_wait(Arguments words) const {
  if (remote_ == nullptr || remote_->size() == 0 || words.empty()) return false;
  const Command* found = find(words[0]);
  return found == nullptr || !found->batched;
}

void RespFront::decide_pending(std::string& out) {
  if (pending_.empty()) return;
  const std::chrono::nanoseconds now = now_.count() != 0 ? now_ : service_.now();
  now_ = std::chrono::nanoseconds{0};
  resp::Writer to = reply(out);
  std::uint64_t denied = 0;
  for (const Pending& check : pending_) {
    const Decision decision = service_.table.check(check.place, check.quota, check.cost, arrived_, now);
    denied += decision.allowed() ? 0 : 1;
    to.five_integers(five_integers(decision));
  }
  pending_.clear();
  service_.counters.denied.fetch_add(denied, std::memory_order_relaxed);
}

void RespFront::throttle(Arguments words, std::string& out, bool gcra) {
  const Throttle request = gcra ? throttle_parser_.gcra(words) : throttle_parser_.cl_throttle(words);
  if (remote_ != nullptr) {
    if (request.quota == nullptr) return remote_->fail(throttle_parser_.error(), silent());
    return remote_->throttle(*request.quota, request.key, request.cost, silent(), service_.now());
  }
  if (request.quota == nullptr) return fail(out, throttle_parser_.error());
  const store::Table::Place place = service_.table.locate(request.key);
  service_.table.prefetch(place);
  pending_.push_back({place, *request.quota, request.cost});
  if (pending_.size() >= kMostPending) decide_pending(out);
}

void RespFront::fail(std::string& out, std::string_view text) {
  decide_pending(out);
  reply(out).error(text);
}

void RespFront::fail_protocol(std::string& out, std::string_view text) {
  fail(out, text);
  service_.counters.protocol_errors.fetch_add(1, std::memory_order_relaxed);
  closing_ = true;
}

bool RespFront::log_in(std::string_view user, std::string_view password, std::string& out) {
  // A look first, so that a guess costs its address something only when it was wrong.
  if (service_.auth_failures.check(address_, Cost{0}).remaining == 0) {
    fail(out, "ERR too many failed AUTH attempts from this address, try again in a second");
    return false;
  }
  if (!service_.credentials.match(user, password)) {
    static_cast<void>(service_.auth_failures.check(address_));
    service_.counters.auth_failures.fetch_add(1, std::memory_order_relaxed);
    fail(out, "WRONGPASS invalid username-password pair or user is disabled.");
    return false;
  }
  authenticated_ = true;
  return true;
}

void RespFront::ping(Arguments words, std::string& out) {
  if (words.size() > 2) return fail(out, "ERR wrong number of arguments for 'ping' command");
  if (words.size() == 2) return reply(out).bulk(words[1]);
  reply(out).simple("PONG");
}

void RespFront::echo(Arguments words, std::string& out) { reply(out).bulk(words[1]); }

void RespFront::quit(Arguments, std::string& out) {
  reply(out).simple("OK");
  closing_ = true;
}

void RespFront::reset_connection(Arguments, std::string& out) {
  protocol_ = 2;
  authenticated_ = !service_.credentials.required();
  in_multi_ = false;
  queued_.clear();
  name_.clear();
  replies_ = Replies::on;
  reply(out).simple("RESET");
}

void RespFront::hello(Arguments words, std::string& out) {
  int protocol = protocol_;
  std::size_t at = 1;
  if (words.size() > 1) {
    if (words[1] != "2" && words[1] != "3") {
      const bool number =
          words[1].find_first_not_of("0123456789") == std::string_view::npos && !words[1].empty();
      return fail(out, number ? "NOPROTO unsupported protocol version"
                              : "ERR Protocol version is not an integer or out of range");
    }
    protocol = words[1] == "3" ? 3 : 2;
    at = 2;
  }
  std::string_view name = name_;
  while (at < words.size()) {
    const std::string option = lower(words[at]);
    if (option == "auth" && at + 2 < words.size()) {
      if (service_.credentials.required() && !log_in(words[at + 1], words[at + 2], out)) return;
      at += 3;
    } else if (option == "setname" && at + 1 < words.size()) {
      name = words[at + 1];
      if (!is_name(name)) return fail(out, kBadName);
      at += 2;
    } else {
      return fail(out, "ERR Syntax error in HELLO option '" + option.substr(0, 32) + "'");
    }
  }
  if (!authenticated_) {
    return fail(
        out,
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol "
        "version at the same time");
  }
  protocol_ = protocol;
  name_ = std::string(name);
  resp::Writer to = reply(out);
  to.map(7);
  to.bulk("server");
  to.bulk("redis");
  to.bulk("version");
  to.bulk(kRedisVersion);
  to.bulk("proto");
  to.integer(protocol_);
  to.bulk("id");
  to.integer(static_cast<std::int64_t>(id_));
  to.bulk("mode");
  to.bulk("standalone");
  to.bulk("role");
  to.bulk("master");
  to.bulk("modules");
  to.array(0);
}

void RespFront::auth(Arguments words, std::string& out) {
  if (words.size() > 3) return fail(out, "ERR syntax error");
  if (!service_.credentials.required()) {
    return fail(
        out,
        "ERR AUTH <password> called without any password configured for the default user. Are you sure "
        "your configuration is correct?");
  }
  const bool named = words.size() == 3;
  if (log_in(named ? words[1] : "default", words[named ? 2 : 1], out)) reply(out).simple("OK");
}

void RespFront::select(Arguments words, std::string& out) {
  if (!resp::parse_integer(words[1])) return fail(out, "ERR invalid DB index");
  if (words[1] != "0") return fail(out, "ERR DB index is out of range");
  reply(out).simple("OK");
}

void RespFront::client(Arguments words, std::string& out) {
  const std::string what = lower(words[1]);
  const auto wrong = [&] { fail(out, "ERR wrong number of arguments for 'client|" + what + "' command"); };
  if (what == "setname") {
    if (words.size() != 3) return wrong();
    if (!is_name(words[2])) return fail(out, kBadName);
    name_ = std::string(words[2]);
    return reply(out).simple("OK");
  }
  if (what == "getname") return name_.empty() ? reply(out).null() : reply(out).bulk(name_);
  if (what == "id") return reply(out).integer(static_cast<std::int64_t>(id_));
  if (what == "info") {
    return reply(out).verbatim("id=" + std::to_string(id_) + " addr=" + address_ + " name=" + name_ +
                               " db=0 resp=" + std::to_string(protocol_) + "\n");
  }
  if (what == "setinfo" || what == "no-evict" || what == "no-touch") return reply(out).simple("OK");
  if (what == "reply") {
    if (words.size() != 3) return wrong();
    const std::string mode = lower(words[2]);
    if (mode == "on") {
      replies_ = Replies::on;
      return reply(out).simple("OK");
    }
    if (mode == "off") {
      replies_ = Replies::off;
      return;
    }
    if (mode == "skip") {
      if (replies_ == Replies::on || replies_ == Replies::skip_this) replies_ = Replies::skip_next;
      return;
    }
    return fail(out, "ERR syntax error");
  }
  fail(out, "ERR unknown subcommand '" + what.substr(0, 32) + "'");
}

void RespFront::config(Arguments words, std::string& out) {
  if (lower(words[1]) != "get" || words.size() < 3) {
    return fail(out, "ERR CONFIG knows only GET here; settings are given when the server starts");
  }
  const Settings& settings = service_.settings;
  const std::array<std::pair<std::string_view, std::string>, 7> known = {{
      {"save", settings.snapshot.empty() ? "" : "snapshot"},
      {"appendonly", "no"},
      {"databases", "1"},
      {"timeout", "0"},
      {"maxclients", std::to_string(settings.max_connections)},
      {"maxmemory", std::to_string(settings.memory)},
      {"maxmemory-policy", "noeviction"},
  }};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const bool asked = std::any_of(words.begin() + 2, words.end(), [&](std::string_view word) {
      return fnmatch(lower(word).c_str(), known[i].first.data(), 0) == 0;
    });
    if (asked) found.push_back(i);
  }
  resp::Writer to = reply(out);
  to.map(found.size());
  for (const std::size_t i : found) {
    to.bulk(known[i].first);
    to.bulk(known[i].second);
  }
}

void RespFront::time(Arguments, std::string& out) {
  using namespace std::chrono;
  const auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  resp::Writer to = reply(out);
  to.array(2);
  to.bulk(std::to_string(now / 1'000'000));
  to.bulk(std::to_string(now % 1'000'000));
}

void RespFront::dbsize(Arguments, std::string& out) {
  yielding_ = true;
  reply(out).integer(static_cast<std::int64_t>(service_.live()));
}

void RespFront::shutdown(Arguments words, std::string& out) {
  const std::string how = words.size() > 1 ? lower(words[1]) : "save";
  if (how != "save" && how != "nosave") return fail(out, "ERR syntax error");
  // Like Redis, no reply on success: the connection closes.
  closing_ = true;
  service_.shut_down(how == "save");
}

void RespFront::multi(Arguments, std::string& out) {
  if (in_multi_) return fail(out, "ERR MULTI calls can not be nested");
  in_multi_ = true;
  multi_broken_ = false;
  queued_bytes_ = 0;
  reply(out).simple("OK");
}

void RespFront::exec(Arguments, std::string& out) {
  if (!in_multi_) return fail(out, "ERR EXEC without MULTI");
  in_multi_ = false;
  if (multi_broken_) {
    queued_.clear();
    return fail(out, "EXECABORT Transaction discarded because of previous errors.");
  }
  transaction_ = std::exchange(queued_, {});
  reply(out).array(transaction_.size());
  run_transaction(out);
}

void RespFront::discard(Arguments, std::string& out) {
  if (!in_multi_) return fail(out, "ERR DISCARD without MULTI");
  in_multi_ = false;
  queued_.clear();
  reply(out).simple("OK");
}

void RespFront::del(Arguments words, std::string& out) {
  if (remote_ != nullptr) return remote_->reset(words.subspan(1), silent(), service_.now());
  std::int64_t forgotten = 0;
  for (const std::string_view key : words.subspan(1)) {
    forgotten += service_.table.reset(service_.table.locate(key), service_.now()) ? 1 : 0;
  }
  reply(out).integer(forgotten);
}

void RespFront::command(Arguments words, std::string& out) {
  resp::Writer to = reply(out);
  const std::string what = words.size() > 1 ? lower(words[1]) : "";
  if (what == "count") return to.integer(static_cast<std::int64_t>(commands().size()));
  if (what == "docs") {
    std::vector<const Command*> shown;
    for (const Command& each : commands()) {
      const auto is_it = [&each](std::string_view name) { return find(name) == &each; };
      if (words.size() == 2 || std::any_of(words.begin() + 2, words.end(), is_it)) shown.push_back(&each);
    }
    to.map(shown.size());
    for (const Command* each : shown) {
      to.bulk(lower(each->name));
      to.map(2);
      to.bulk("summary");
      to.bulk(each->summary);
      to.bulk("group");
      to.bulk("weir");
    }
    return;
  }
  if (what == "info" && words.size() > 2) {
    to.array(words.size() - 2);
    for (const std::string_view name : words.subspan(2)) {
      if (const Command* found = find(name)) {
        describe(to, *found);
      } else {
        to.null_array();
      }
    }
    return;
  }
  if (!what.empty() && what != "info") {
    return fail(out, "ERR unknown subcommand '" + what.substr(0, 32) + "'");
  }
  to.array(commands().size());
  for (const Command& each : commands()) describe(to, each);
}

// The first six of the fields that Redis gives for a command: what cluster-aware clients read to find the
// keys.
void RespFront::describe(resp::Writer& to, const Command& command) const {
  to.array(6);
  to.bulk(lower(command.name));
  to.integer(command.arity);
  to.array(1);
  to.simple(command.first_key != 0 ? "write" : "fast");
  to.integer(command.first_key);
  to.integer(command.last_key);
  to.integer(command.first_key != 0 ? 1 : 0);
}

void RespFront::info(Arguments words, std::string& out) {
  std::vector<std::string> sections;
  for (const std::string_view word : words.subspan(1)) sections.push_back(lower(word));
  const Info info = tell_info(service_, sections, remote_ != nullptr ? &remote_->store() : nullptr);
  yielding_ = yielding_ || info.counted_keys;
  reply(out).verbatim(info.text);
}

const std::vector<RespFront::Command>& RespFront::commands() {
  using F = RespFront;
#define WEIR_RUN(call) [](F& f, Arguments w, std::string& out) { f.call; }
  static const std::vector<Command> kCommands = {
      {"CL.THROTTLE", -5, 1, 1, false, false, true, WEIR_RUN(throttle(w, out, false)),
       "key max_burst count period [quantity]: decides one request"},
      {"RL.THROTTLE", -5, 1, 1, false, false, true, WEIR_RUN(throttle(w, out, false)),
       "CL.THROTTLE by its other name"},
      {"GCRA", -5, 1, 1, false, false, true, WEIR_RUN(throttle(w, out, true)),
       "key max_burst tokens_per_period period [TOKENS n]: decides one request"},
      {"WEIR.RESET", 2, 1, 1, false, false, false, WEIR_RUN(del(w, out)),
       "key: forgets what was charged to it"},
      {"DEL", -2, 1, -1, false, false, false, WEIR_RUN(del(w, out)),
       "key...: forgets what was charged to each"},
      {"PING", -1, 0, 0, false, false, false, WEIR_RUN(ping(w, out)),
       "[message]: answers PONG or the message"},
      {"ECHO", 2, 0, 0, false, false, false, WEIR_RUN(echo(w, out)), "message: answers the message"},
      {"QUIT", -1, 0, 0, true, true, false, WEIR_RUN(quit(w, out)), "closes the connection"},
      {"RESET", 1, 0, 0, true, true, false, WEIR_RUN(reset_connection(w, out)),
       "the connection as it was when new"},
      {"HELLO", -1, 0, 0, true, true, false, WEIR_RUN(hello(w, out)),
       "[2|3 [AUTH user password] [SETNAME name]]: chooses the protocol"},
      {"AUTH", -2, 0, 0, true, true, false, WEIR_RUN(auth(w, out)),
       "[user] password: authenticates the connection"},
      {"SELECT", 2, 0, 0, false, false, false, WEIR_RUN(select(w, out)), "0: there is one database"},
      {"CLIENT", -2, 0, 0, false, false, false, WEIR_RUN(client(w, out)),
       "SETNAME|GETNAME|SETINFO|ID|INFO|NO-EVICT|REPLY: about this connection"},
      {"COMMAND", -1, 0, 0, false, false, false, WEIR_RUN(command(w, out)),
       "[COUNT|DOCS|INFO [name...]]: this table"},
      {"INFO", -1, 0, 0, false, false, false, WEIR_RUN(info(w, out)), "[section...]: about this server"},
      {"CONFIG", -2, 0, 0, false, false, false, WEIR_RUN(config(w, out)), "GET name...: settings, read only"},
      {"TIME", 1, 0, 0, false, false, false, WEIR_RUN(time(w, out)),
       "seconds and microseconds of the wall clock"},
      {"DBSIZE", 1, 0, 0, false, false, false, WEIR_RUN(dbsize(w, out)), "live keys"},
      {"SHUTDOWN", -1, 0, 0, false, false, false, WEIR_RUN(shutdown(w, out)),
       "[SAVE|NOSAVE]: stops the server"},
      {"MULTI", 1, 0, 0, false, true, false, WEIR_RUN(multi(w, out)), "queues what follows until EXEC"},
      {"EXEC", 1, 0, 0, false, true, false, WEIR_RUN(exec(w, out)), "runs what MULTI queued"},
      {"DISCARD", 1, 0, 0, false, true, false, WEIR_RUN(discard(w, out)), "forgets what MULTI queued"},
  };
#undef WEIR_RUN
  return kCommands;
}

const RespFront::Command* RespFront::find(std::string_view name) {
  constexpr std::size_t kLongest = 16;
  if (name.size() > kLongest) return nullptr;
  std::array<char, kLongest> upper{};
  for (std::size_t i = 0; i < name.size(); ++i) {
    upper[i] = name[i] >= 'a' && name[i] <= 'z' ? static_cast<char>(name[i] - 32) : name[i];
  }
  const std::string_view wanted(upper.data(), name.size());
  for (const Command& each : commands()) {
    if (each.name == wanted) return &each;
  }
  return nullptr;
}

void RespFront::run(const Command& command, Arguments words, std::string& out) {
  if (!command.batched) decide_pending(out);
  command.run(*this, words, out);
}

void RespFront::execute(Arguments words, std::string& out) {
  // A web page can make a browser send us a request whose later lines read as commands (CVE-2016-10517 is
  // about this): such a connection is closed before any of it runs.
  if (resp::looks_like_http(words)) {
    decide_pending(out);
    closing_ = true;
    return;
  }
  const Command* found = find(words[0]);
  if (found != nullptr && found->batched && authenticated_ && !in_multi_ && replies_ == Replies::on) {
    return run(*found, words, out);
  }

  decide_pending(out);
  if (replies_ == Replies::skip_next) replies_ = Replies::skip_this;
  const std::size_t before = out.size();
  const auto refuse = [&](std::string_view text) {
    multi_broken_ = true;
    fail(out, text);
  };
  const auto size = static_cast<int>(std::min<std::size_t>(words.size(), 1 << 30));
  if (found == nullptr) {
    refuse("ERR unknown command '" + std::string(words[0].substr(0, 64)) + "'");
  } else if (!authenticated_ && !found->before_auth) {
    refuse("NOAUTH Authentication required.");
  } else if (found->arity >= 0 ? size != found->arity : size < -found->arity) {
    refuse("ERR wrong number of arguments for '" + lower(found->name) + "' command");
  } else if (in_multi_ && !found->in_multi) {
    // What a client may queue is bounded like one command.
    for (const std::string_view word : words) queued_bytes_ += word.size() + sizeof(std::string);
    if (queued_bytes_ > resp::Bounds{}.command_bytes) {
      refuse("ERR too much queued in one MULTI");
    } else {
      queued_.emplace_back(words.begin(), words.end());
      reply(out).simple("QUEUED");
    }
  } else {
    run(*found, words, out);
    decide_pending(out);
  }
  if (replies_ == Replies::off || replies_ == Replies::skip_this || replies_ == Replies::skip_next) {
    out.resize(before);  // what comes later, from a shared store, has been asked for silently
  }
  if (replies_ == Replies::skip_this) replies_ = Replies::on;
}

}  // namespace weir::server
