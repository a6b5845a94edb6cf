// Nodes and time: connecting, greeting, what fails, and when what is due; client.cpp has calls and answers.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/printable.hpp"
#include "redis/client.hpp"

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using Kind = Question::Kind;
using State = Node::State;

constexpr Client::nanoseconds kConnectAtMost = 500ms;  // and greet
constexpr Client::nanoseconds kFirstRetry = 20ms;      // less a half at most, or more by a half
constexpr Client::nanoseconds kLastRetry = 400ms;      // back within a second of a recovery
constexpr Client::nanoseconds kSteadyAfter = 1s;       // of being up, failures are forgotten
constexpr Client::nanoseconds kAnswerAtMost = 500ms;   // to what is not a call
constexpr Client::nanoseconds kPingAfter = 1s;
constexpr Client::nanoseconds kAskAgain = 100ms;  // while something is wrong
constexpr Client::nanoseconds kAskEvictionEvery = 1min;
constexpr std::array<std::string_view, 3> kAskEviction = {"CONFIG", "GET", "maxmemory-policy"};
constexpr std::size_t kLongestShown = 200;
constexpr Client::nanoseconds kNever{std::numeric_limits<std::int64_t>::max()};

}  // namespace

Client::nanoseconds Client::jittered(nanoseconds about) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return about / 2 +
         nanoseconds{static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(about.count()))};
}

void Client::start(nanoseconds now) {
  for (const Address& address : endpoint_.addresses) {
    const NodeId id = nodes_.at(address, topology_->asks_sentinels());
    topology_->seed(id);
    if (nodes_[id].state == State::down) connect(id, now);
  }
  nodes_.keep_these();
}

// ------------------------------------------------------------------------------------------ connections

void Client::connect(NodeId id, nanoseconds now) {
  Node& node = nodes_[id];
  node.state = State::connecting;
  node.tried_at = now;
  ++counters_.connects;
  actions_.push_back({Action::Kind::connect, id, node.address});
}

void Client::connected(NodeId id, nanoseconds now) {
  if (nodes_[id].state != State::connecting) return;
  nodes_[id].state = State::greeting;
  greet(id, now);
}

void Client::greet(NodeId id, nanoseconds now) {
  const auto say = [&](Kind kind, std::vector<std::string_view> words) { ask(id, kind, words, now); };
  const bool sentinel = nodes_[id].sentinel;
  const std::string& user = sentinel ? endpoint_.sentinel_user : endpoint_.user;
  const std::string& password = sentinel ? endpoint_.sentinel_password : endpoint_.password;
  if (!password.empty() && user.empty()) say(Kind::auth, {"AUTH", password});
  if (!password.empty() && !user.empty()) say(Kind::auth, {"AUTH", user, password});
  if (sentinel) return say(Kind::last_greeting, {"PING"});
  const std::string database = std::to_string(endpoint_.database);
  if (endpoint_.database != 0) say(Kind::database, {"SELECT", database});
  // A node that is still loading, or in a slow script, says so in the answer to this one. A replica does not:
  // that shows in the answer to the first call.
  say(Kind::last_greeting, {"SCRIPT", "LOAD", script_});
  say(Kind::eviction_policy, {kAskEviction.begin(), kAskEviction.end()});
  if (ask_eviction_at_ <= now) ask_eviction_at_ = now + kAskEvictionEvery;
  if (endpoint_.format == Format::weir && endpoint_.prefix.empty()) say(Kind::modules, {"MODULE", "LIST"});
}

void Client::go_up(NodeId id, nanoseconds now) {
  Node& node = nodes_[id];
  node.state = State::up;
  node.since = node.heard = now;
  node.ever_failed = false;
  ask_soon_ = true;
  send_waiting(id, now);
  for (const auto& lane : node.waiting) {
    for (const Node::Waiting& each : lane) calls_[each.call.call].held = calls_.waits(each.call);
  }
  ask_topology(now);
}

void Client::failed(NodeId id, std::string_view why, nanoseconds now) {
  go_down(id, Cause::connection, why, now);
}

// What may be shown of an error: one line that is no longer than it helps, without the arguments that Redis
// repeats of a command that it does not know, which may be keys or a password.
std::string Client::shown(std::string_view why) const {
  std::string text(why.substr(0, why.find(", with args beginning with")));
  std::string_view longer = endpoint_.password;
  std::string_view shorter = endpoint_.sentinel_password;
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  // The longer first: were the other cut out of it, the rest of it would no longer be found.
  for (const std::string_view password : {longer, shorter}) {
    if (password.empty()) continue;
    for (std::size_t at = 0; (at = text.find(password, at)) != std::string::npos; at += 3)
      text.replace(at, password.size(), "***");
  }
  return core::printable(std::string_view(text).substr(0, kLongestShown));
}

void Client::go_down(NodeId id, Cause cause, std::string_view why, nanoseconds now) {
  Node& node = nodes_[id];
  if (node.state == State::down) return;
  actions_.push_back({Action::Kind::close, id, {}});
  if (node.up() && now >= node.since + kSteadyAfter) node.failures = 0;
  // A timeout is one only for the calls whose deadline has come.
  node.cause = cause == Cause::timeout ? Cause::connection : cause;
  node.error = node.address.text() + ": " + shown(why);
  last_cause_ = node.cause;
  last_error_ = node.error;
  node.state = State::down;
  node.ever_failed = true;
  node.loading_script = false;
  node.out.clear();
  node.untaken = 0;
  node.in.clear();
  node.window = {};
  if (std::exchange(node.asked, false)) asking_ = false;
  ask_soon_ = true;
  ask_another_ = ask_another_ || id == topology_->master();
  // Soon, since most breaks are short; the patience that grows is counted from the last time, so that a node
  // that lets us wait is not waited for twice.
  const int doublings = std::min(node.failures++, 6);
  node.retry_at = std::max(now + jittered(kFirstRetry),
                           node.tried_at + jittered(std::min(kFirstRetry * (1 << doublings), kLastRetry)));
  const auto questions = std::exchange(node.questions, {});
  const auto waiting = std::exchange(node.waiting, {});
  // A result may lead to a call at once, and that to another error.
  const Cause its = node.cause;
  const std::string error = node.error;
  for (const Question& each : questions) {
    if (each.kind != Kind::call || !calls_.waits(each.call)) continue;
    const bool late = cause == Cause::timeout && calls_[each.call.call].deadline <= now;
    finish(each.call.call, {late ? Cause::timeout : its, error, nullptr});
  }
  for (const auto& lane : waiting) {
    for (const Node::Waiting& each : lane) {
      if (calls_.waits(each.call)) finish(each.call.call, {its, error, nullptr});
    }
  }
  // This was the last that could have told the topology: what waits for that has waited enough.
  if (!topology_may_come()) place_unplaced(now);
}

// One that has left the cluster is asked again only when there is no other to ask.
bool Client::worth_retrying(const Node& node) const {
  if (node.state != State::down || !node.ever_failed) return false;
  return !node.gone || (topology_->redirects() && !nodes_.any_up(false));
}

// ------------------------------------------------------------------------------------------------- time

// When to ask for the topology: when something has changed, and now and then anyway. A node that does not
// answer keeps us from asking the next for a while only.
Client::nanoseconds Client::topology_due() const {
  const auto asks = topology_->asks();
  if (!asks) return kNever;
  const bool sentinel = topology_->asks_sentinels();
  const bool any = std::any_of(nodes_.begin(), nodes_.end(), [sentinel](const Node& node) {
    return node.up() && node.sentinel == sentinel && !node.asked;
  });
  if (!any) return kNever;
  if (asking_) return std::max(ask_at_, asked_at_ + kAnswerAtMost);
  return ask_soon_ ? ask_at_ : ask_at_ + asks->every;
}

void Client::ask_topology(nanoseconds now) {
  const auto asks = topology_->asks();
  if (!asks || now < topology_due()) return;
  if (!asks->believes_one || asking_ || std::exchange(ask_another_, false)) ++asked_last_;
  // One that has left the cluster knows only itself, so it comes last.
  for (const bool gone : {false, true}) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto id = static_cast<NodeId>((asked_last_ + i) % nodes_.size());
      Node& node = nodes_[id];
      if (!node.up() || node.sentinel != topology_->asks_sentinels() || node.asked || node.gone != gone)
        continue;
      asked_last_ = id;
      node.asked = asking_ = true;
      asked_at_ = now;
      ask_at_ = now + jittered(kAskAgain);
      ++counters_.refreshes;
      return ask(id, Kind::topology, topology_->question(), now);
    }
  }
}

// Those that would not say are not asked again: Redis keeps a log of what it has refused.
Client::nanoseconds Client::eviction_due() const {
  const bool any = std::any_of(nodes_.begin(), nodes_.end(),
                               [](const Node& node) { return node.up() && !node.eviction.empty(); });
  return any ? ask_eviction_at_ : kNever;
}

void Client::ask_eviction(nanoseconds now) {
  if (now < eviction_due()) return;
  ask_eviction_at_ = now + kAskEvictionEvery;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].up() && !nodes_[id].eviction.empty()) ask(id, Kind::eviction_policy, kAskEviction, now);
  }
}

// When something of the node falls due: a retry, a greeting, an answer, or a ping.
Client::nanoseconds Client::due(const Node& node) const {
  switch (node.state) {
    case State::down:
      return worth_retrying(node) ? node.retry_at : kNever;
    case State::connecting:
    case State::greeting:
      return node.tried_at + kConnectAtMost;
    case State::up:
      break;
  }
  if (node.questions.empty()) return node.heard + kPingAfter;
  const Question& first = node.questions.front();
  // The answers before it may have taken their time.
  return std::max(first.sent_at, node.heard) +
         (first.kind == Kind::call ? std::max(silence_, first.patience) : kAnswerAtMost);
}

void Client::fall_due(nanoseconds now) {
  while (const auto due = calls_.take_due(now)) {
    const Call& call = calls_[due->ref.call];
    if (due->retry) {
      place(due->ref.call, now);
    } else if (call.held) {
      finish(due->ref.call, {Cause::overload, kNoRoom, nullptr});
    } else if (call.node != kNoNode) {
      const std::string error = nodes_[call.node].address.text() + ": " + std::string(kNoAnswer);
      finish(due->ref.call, {Cause::timeout, error, nullptr});
    } else {
      const bool sent = call.hops + call.again > 0;
      finish(due->ref.call, {Cause::timeout, sent ? kNoAnswer : last_error_, nullptr});
    }
  }
}

void Client::tick(nanoseconds now) {
  // First what may still be sent in time.
  if (now >= alarm_) {
    alarm_ = kNever;
    ring_(now);
  }
  fall_due(now);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    if (node.state == State::down || now < due(node)) continue;
    if (!node.up()) {
      go_down(id, Cause::timeout, "no greeting in time", now);
    } else if (node.questions.empty()) {
      ask(id, Kind::ping, std::array<std::string_view, 1>{"PING"}, now);
    } else {
      go_down(id, Cause::timeout, "no answer in time", now);
    }
  }
  // After the others, because whether one is worth it may depend on them.
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].state == State::down && now >= due(nodes_[id])) connect(id, now);
  }
  ask_topology(now);
  ask_eviction(now);
}

Client::Load Client::load() const {
  Load load;
  for (const Node& node : nodes_) {
    load.under_way += node.questions.size();
    load.waiting += node.waits();
  }
  return load;
}

std::size_t Client::room() const {
  bool up = false;
  std::size_t most = 0;
  for (const Node& node : nodes_) {
    if (!node.up() || node.sentinel) continue;
    up = true;
    most = std::max(most, node.room());
  }
  return up ? most : std::numeric_limits<std::size_t>::max();
}

Client::nanoseconds Client::round_trip() const {
  nanoseconds longest{0};
  for (const Node& node : nodes_) {
    if (node.up() && !node.sentinel) longest = std::max(longest, node.window.round_trip());
  }
  return longest;
}

Client::nanoseconds Client::next_tick() const {
  nanoseconds next = std::min({calls_.next_due().value_or(kNever), topology_due(), alarm_, eviction_due()});
  for (const Node& node : nodes_) next = std::min(next, due(node));
  return next;
}

}  // namespace weir::redis
