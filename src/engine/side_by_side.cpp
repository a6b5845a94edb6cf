#include "engine/side_by_side.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/duration.hpp"
#include "redis/reserve_script.hpp"
#include "redis/script.hpp"
#include "resp/parser.hpp"
#include "store/verb_traits.hpp"

namespace weir::inline v0_1::engine {
namespace {

using redis::Client;
using resp::Value;
using std::chrono::nanoseconds;
using store::Request;
using store::Verb;
using namespace std::chrono_literals;

// How far the times that are handed in begin ahead of the engine's clock, and how long the keys that last
// are kept: a sequence takes less time than the first and goes over less than 25 s.
constexpr nanoseconds kAhead = 5s;
constexpr std::int64_t kKeptMs = 50'000;

redis::Endpoint endpoint_of(const Bench& bench) {
  // As a cluster of one node, so that all that lies beside a key is in its slot, as its hash tag says.
  redis::Endpoint endpoint = redis::Endpoint::parse("redis+cluster://engine").value();
  endpoint.prefix = bench.prefix();
  return endpoint;
}

redis::SharedStore::Options options() {
  return {.deadline = std::chrono::hours{1}, .remember_denials = false};
}

std::string words_of(const Decision& decision) {
  constexpr std::array kVerdicts = {"allowed", "denied", "never", "busy"};
  std::string text = kVerdicts[static_cast<std::size_t>(decision.verdict)];
  text += ", " + std::to_string(decision.remaining) + " of " + std::to_string(decision.limit) + " left";
  if (decision.retry_after) text += ", retry after " + core::to_text(*decision.retry_after);
  return text + ", full after " + core::to_text(decision.reset_after);
}

std::string words_of(const Charged& told) {
  return "charged " + std::to_string(told.charged) + ", " + std::to_string(told.overdraft) + " beyond, " +
         std::to_string(told.remaining) + " left, wait " + core::to_text(told.wait) + ", full after " +
         core::to_text(told.reset_after) + ", dropped " + std::to_string(told.dropped);
}

}  // namespace

// A request and its terms, twice.
struct SideBySide::Both {
  struct One {
    std::vector<store::Check> checks;
    store::ReservationTerms reservation;
    store::ChargeTerms charge;
    store::TakeTerms take;
    Request request;
  };
  std::array<One, 2> each;

  Both(Verb verb, const std::vector<Part>& asks) {
    for (One& one : each) {
      for (const Part& ask : asks)
        one.checks.push_back(
            {.limit = ask.limit, .key = ask.key, .cost = Cost{ask.cost}, .shadow = ask.shadow});
      one.request.checks = one.checks;
      one.request.verb = verb;
      one.request.on_answer = [](Request&) {};
      if (verb == Verb::charge) one.request.charge = &one.charge;
      if (verb == Verb::take) one.request.take = &one.take;
      if (verb >= Verb::reserve) one.request.reservation = &one.reservation;
    }
  }
  One& own() { return each[0]; }
  One& shared() { return each[1]; }

  static std::string said(const One& one) {
    const Request& request = one.request;
    if (request.fault != Fault::none) return "'" + request.why + "'";
    if (request.verb == Verb::reset) return std::to_string(request.forgotten) + " forgotten";
    if (request.verb == Verb::cancel) return std::to_string(one.reservation.given_back) + " given back";
    if (request.verb == Verb::charge) return words_of(one.charge.told);
    std::string text;
    for (const store::Check& check : one.checks)
      text += (text.empty() ? "" : "; ") + words_of(check.decision);
    if (one.checks.size() > 1) text += "; by " + std::to_string(request.by + 1);
    if (request.verb == Verb::take) text += "; granted " + std::to_string(one.take.granted);
    if (request.reservation == nullptr) return text;
    text += std::string(text.empty() ? "" : "; ") + "wait " + core::to_text(one.reservation.wait);
    if (request.verb == Verb::reserve) text += one.reservation.id.empty() ? ", no id" : ", an id";
    return text +
           (one.reservation.dropped == 0 ? "" : ", dropped " + std::to_string(one.reservation.dropped));
  }
};

SideBySide::SideBySide(Bench& bench, bool lasts)
    : bench_(bench),
      lasts_(lasts),
      began_(std::chrono::floor<std::chrono::milliseconds>(bench.time())),
      now_(began_ + kAhead),
      shared_(endpoint_of(bench), options(), local_, memory_, [this] { return now_; }) {
  shared_.client().start(now_);
  settle();
}

store::Limit& SideBySide::limit(const std::string& rule) {
  limits_.push_back(std::make_unique<store::Limit>(store::Limit{.rule = core::Rule::parse(rule).value()}));
  return *limits_.back();
}

void SideBySide::advance(nanoseconds time) {
  const nanoseconds until = now_ + time;
  for (nanoseconds next = shared_.client().next_tick(); next <= until; next = shared_.client().next_tick()) {
    now_ = std::max(now_, next);
    shared_.client().tick(now_);
    settle();
  }
  now_ = until;
}

void SideBySide::settle() {
  Client& client = shared_.client();
  for (auto actions = client.take_actions(); !actions.empty(); actions = client.take_actions()) {
    for (const Client::Action& action : actions) {
      if (action.kind == Client::Action::Kind::connect) client.connected(action.node, now_);
      if (action.kind == Client::Action::Kind::write) carry_out(action.node, client.take_output(action.node));
    }
  }
}

void SideBySide::carry_out(Client::NodeId node, std::string_view bytes) {
  resp::CommandParser parser;
  while (!bytes.empty() && parser.next(bytes, resp::Bounds{}) == resp::CommandParser::Status::complete) {
    const std::string said = answer(parser.args());
    bytes.remove_prefix(parser.consumed());
    shared_.client().received(node, said, now_);
  }
}

// What the engine answers, with the time handed in; of the cluster's map and its eviction, what we say.
std::string SideBySide::answer(std::span<const std::string_view> words) {
  if (words[0] == "CLUSTER") return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$6\r\nengine\r\n:6379\r\n";
  if (words[0] == "CONFIG") return "*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n";
  std::vector<CommandWords> commands{CommandWords(words.begin(), words.end())};
  if (words[0] == "EVALSHA") {
    CommandWords& call = commands[0];
    const std::size_t keys = std::stoul(call[2]);
    const CommandWords names(call.begin() + 3, call.begin() + 3 + static_cast<std::ptrdiff_t>(keys));
    // check.lua has the time as its last word where there is one, reserve.lua as its second.
    if (call[1] == redis::reserve_sha()) {
      call.at(4 + keys) = redis::time_word(now_);
    } else if (call.at(3 + keys) != "reset") {
      call.push_back(redis::time_word(now_));
    }
    const std::string end = std::to_string(began_ / 1ms + kKeptMs);
    for (const std::string& each : names) {
      bench_.remember(each);
      if (lasts_) commands.push_back({"PEXPIREAT", each, end});
    }
  }
  bench_.send(commands);
  const WireAnswer first = bench_.receive();
  std::string bytes(first.bytes);
  if (first.value.type == Value::Type::error && words[0] == "EVALSHA")
    error_ = bench_.shown(first.value.text);
  for (std::size_t i = 1; i < commands.size(); ++i) bench_.receive();
  return bytes;
}

void SideBySide::submit(Both& both, const std::string& what) {
  ++asked_;
  error_.clear();
  Request* const own[] = {&both.own().request};
  own_.submit(own, {now_, now_});
  Request* const shared[] = {&both.shared().request};
  shared_.submit(shared, {now_, now_});
  settle();
  const std::string where = "request " + std::to_string(asked_) + " (" + what + ")";
  if (both.shared().request.state != Request::State::answered) throw Seen(where + " had no answer");
  if (both.shared().request.source == Source::fallback)
    throw Seen(where + " was answered " + (error_.empty() ? "nothing that weir's script says" : error_));
  const std::string expected = Both::said(both.own());
  const std::string found = Both::said(both.shared());
  if (found != expected)
    throw Seen(where + " is '" + found + "'; in weir's own store it is '" + expected + "'");
}

namespace {

std::string text_of(Verb verb, const std::vector<SideBySide::Part>& asks) {
  std::string text(store::name_of(verb));
  for (const SideBySide::Part& each : asks)
    text += (&each == asks.data() ? " " : " and ") + std::to_string(each.cost) + " of " +
            core::to_text(each.limit->rule);
  return text;
}

}  // namespace

void SideBySide::ask(Verb verb, const std::vector<Part>& asks) {
  Both both(verb, asks);
  submit(both, text_of(verb, asks));
}

void SideBySide::check_log(const store::Limit& limit, std::string_view key, std::uint64_t cost) {
  ++asked_;
  Both both(Verb::check, {{&limit, key, cost}});
  Request* const shared[] = {&both.shared().request};
  shared_.submit(shared, {now_, now_});
  settle();
  const std::string expected =
      words_of(core::sliding_window_log::decide(limit.rule.quota, log_, ring_, now_, Cost{cost}));
  const std::string found = Both::said(both.shared());
  if (both.shared().request.source == Source::fallback || found != expected)
    throw Seen("request " + std::to_string(asked_) + " (" + text_of(Verb::check, {{&limit, key, cost}}) +
               ") is '" + found + "' " + error_ + "; by weir's own rule it is '" + expected + "'");
}

void SideBySide::check_at_once(const store::Limit& limit, std::string_view key, std::size_t times) {
  std::vector<std::unique_ptr<Both>> all;
  std::vector<Request*> own;
  std::vector<Request*> shared;
  for (std::size_t i = 0; i < times; ++i) {
    Both& both = *all.emplace_back(std::make_unique<Both>(Verb::check, std::vector<Part>{{&limit, key}}));
    own.push_back(&both.own().request);
    shared.push_back(&both.shared().request);
  }
  asked_ += times;
  own_.submit(own, {now_, now_});
  shared_.submit(shared, {now_, now_});
  settle();
  for (std::size_t i = 0; i < times; ++i) {
    const std::string expected = Both::said(all[i]->own());
    const std::string found = Both::said(all[i]->shared());
    if (shared[i]->state != Request::State::answered || shared[i]->source == Source::fallback ||
        found != expected)
      throw Seen("check " + std::to_string(i + 1) + " of " + std::to_string(times) + " at once is '" + found +
                 "' " + error_ + "; in weir's own store it is '" + expected + "'");
  }
}

void SideBySide::take(const std::vector<Part>& asks, std::uint64_t least, std::uint64_t most) {
  Both both(Verb::take, asks);
  for (Both::One& one : both.each) {
    one.take.least = least;
    one.take.most = most;
    for (std::size_t i = 0; i < asks.size(); ++i) one.take.unit[i] = asks[i].cost;
  }
  submit(both, text_of(Verb::take, asks));
}

void SideBySide::charge(const std::vector<Part>& asks, const Outside& outside) {
  Both both(Verb::charge, asks);
  for (Both::One& one : both.each) one.charge.outside = outside;
  constexpr std::array kForms = {"cost", "remaining", "pause", "refund"};
  submit(both, text_of(Verb::charge, asks) + ", " + kForms[static_cast<std::size_t>(outside.form)]);
}

std::size_t SideBySide::reserve(const std::vector<Part>& asks, nanoseconds max_wait, nanoseconds hold) {
  Both both(Verb::reserve, asks);
  for (Both::One& one : both.each) {
    one.reservation.max_wait = max_wait;
    one.reservation.hold = hold;
  }
  submit(both, text_of(Verb::reserve, asks));
  ids_.emplace_back(both.own().reservation.id, both.shared().reservation.id);
  return ids_.size() - 1;
}

void SideBySide::undo(Verb verb, std::size_t number, nanoseconds hold, std::optional<std::uint64_t> actual) {
  Both both(verb, {});
  both.own().reservation.id = ids_.at(number).first;
  both.shared().reservation.id = ids_.at(number).second;
  for (Both::One& one : both.each) {
    one.reservation.hold = hold;
    one.reservation.actual = actual;
  }
  submit(both, std::string(store::name_of(verb)));
}

void SideBySide::check_and_give_back(const store::Limit& limit, std::string_view key, std::uint64_t cost,
                                     nanoseconds after) {
  Both both(Verb::check, {{&limit, key, cost}});
  submit(both, text_of(Verb::check, {{&limit, key, cost}}));
  advance(after);
  own_.give_back(both.own().request, now_);
  shared_.give_back(both.shared().request, now_);
  settle();
}

std::string SideBySide::fault_of(const store::Limit& limit, std::string_view key) {
  Both both(Verb::check, {{&limit, key}});
  Request* const shared[] = {&both.shared().request};
  shared_.submit(shared, {now_, now_});
  settle();
  return both.shared().request.fault == Fault::foreign_value ? bench_.shown(both.shared().request.why)
                                                             : Both::said(both.shared());
}

Outcome SideBySide::outcome() const {
  return holds(std::to_string(asked_) + " requests were answered as by weir's own store");
}

}  // namespace weir::engine
