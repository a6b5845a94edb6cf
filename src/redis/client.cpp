// Calls and answers; client_connections.cpp has nodes and time.
#include "redis/client.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "redis/redirect.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using resp::Value;
using Type = resp::Value::Type;
using Kind = Question::Kind;

constexpr Client::nanoseconds kTryAgainAfter = 2ms;  // and after twice as long each time, up to
constexpr Client::nanoseconds kTryAgainAtMost = 16ms;

bool is(const Value& value, Type type) { return value.type == type; }

// Whether an answer to MODULE LIST has redis-cell; one that is an error has not.
bool names_redis_cell(const Value& modules) {
  return std::any_of(modules.items.begin(), modules.items.end(), [](const Value& module) {
    return std::any_of(module.items.begin(), module.items.end(),
                       [](const Value& word) { return word.text == "redis-cell"; });
  });
}

}  // namespace

Client::Client(Endpoint endpoint, std::string script, std::uint64_t seed, OnResult on_result,
               nanoseconds silence)
    : endpoint_(std::move(endpoint)),
      script_(std::move(script)),
      on_result_(std::move(on_result)),
      silence_(silence),
      random_((seed * 0x9E3779B97F4A7C15) | 1),
      topology_(Topology::of(endpoint_, nodes_)) {}

// ------------------------------------------------------------------------------------------------ calls

void Client::call(std::uint64_t tag, std::uint16_t slot, std::string command, nanoseconds deadline,
                  nanoseconds now, Rank rank) {
  const std::uint32_t index = calls_.add({.tag = tag,
                                          .command = std::move(command),
                                          .rank = rank,
                                          .slot = slot,
                                          .patience = deadline - now,
                                          .deadline = deadline});
  ++counters_.calls;
  if (deadline <= now) return finish(index, {Cause::timeout, kNoAnswer, nullptr});
  calls_.schedule({deadline, calls_.ref(index), false});
  place(index, now);
}

void Client::finish(std::uint32_t index, const Result& result) {
  if (const auto tag = calls_.close(index)) on_result_(*tag, result);
}

// Finds the node of a call: sends it there, lets it wait, or fails it at once.
void Client::place(std::uint32_t index, nanoseconds now) {
  const NodeId id = topology_->node_of(calls_[index].slot);
  if (id != kNoNode) return forward(index, id, false, now);
  if (topology_may_come()) {
    unplaced_.push_back(calls_.ref(index));
    return;
  }
  if (topology_->redirects() && told_) {
    return finish(index, {Cause::clusterdown, "no node serves the key's slot", nullptr});
  }
  finish(index, {last_cause_, last_error_, nullptr});
}

void Client::place_unplaced(nanoseconds now) {
  for (const CallRef each : std::exchange(unplaced_, {})) {
    if (calls_.waits(each)) place(each.call, now);
  }
}

// Whether a call without a node has something to wait for: nothing has been told yet, and a node that could
// tell has not failed.
bool Client::topology_may_come() const {
  const bool sentinel = topology_->asks_sentinels();
  return !told_ && std::any_of(nodes_.begin(), nodes_.end(), [sentinel](const Node& node) {
    return node.sentinel == sentinel && node.state != Node::State::down && !node.ever_failed;
  });
}

void Client::forward(std::uint32_t index, NodeId to, bool asking, nanoseconds now) {
  Node& node = nodes_[to];
  Call& call = calls_[index];
  if (node.up() && node.has_room() && node.waits() == 0) return send(to, index, asking, now);
  if (!node.up() && node.ever_failed) return finish(index, {node.cause, node.error, nullptr});
  if (call.rank == Rank::usual && calls_.bytes() > kMostBytes)
    return finish(index, {Cause::overload, kNoRoom, nullptr});
  call.held = node.up();
  // While some that wait could not leave in time, what comes after them would only make others late.
  if (call.held && call.rank == Rank::usual && now < node.busy_until && node.room() == 0) return;
  node.lane(call.rank).push_back({calls_.ref(index), asking});
  if (node.state == Node::State::down) connect(to, now);
}

// As much of what waits as there is room for.
void Client::send_waiting(NodeId id, nanoseconds now) {
  Node& node = nodes_[id];
  for (auto& lane : node.waiting) {
    while (node.up() && node.has_room() && !lane.empty()) {
      const Node::Waiting next = lane.front();
      lane.pop_front();
      if (!calls_.waits(next.call)) continue;
      Call& call = calls_[next.call.call];
      if (!wanted_(call.tag)) {
        finish(next.call.call, {Cause::overload, kNoRoom, nullptr});
        continue;
      }
      const nanoseconds left = call.deadline - now;
      // Its answer would come too late, and make the others later.
      const bool too_late = left > 0ns && left < node.window.needed(call.patience);
      if (call.rank == Rank::usual && too_late) {
        call.held = true;
        node.busy_until = now + kBusyFor;
      } else {
        send(id, next.call.call, next.asking, now);
      }
    }
  }
}

bool Client::busy(std::uint16_t slot) const {
  const NodeId id = topology_->node_of(slot);
  return id != kNoNode && nodes_[id].up() && (nodes_[id].waits() > 0 || !nodes_[id].has_room());
}

Client::nanoseconds Client::needed(std::uint16_t slot, nanoseconds patience, nanoseconds now) const {
  const NodeId id = topology_->node_of(slot);
  if (id == kNoNode || !nodes_[id].up()) return patience / 2;
  const Node& node = nodes_[id];
  // It would wait as long as the one that leaves next; that may have waited in vain.
  nanoseconds waited{0};
  if (!node.waiting[1].empty()) {
    const CallRef next = node.waiting[1].front().call;
    waited = calls_.waits(next) ? now - (calls_[next.call].deadline - calls_[next.call].patience) : patience;
  }
  return node.window.needed(patience) + waited;
}

void Client::send(NodeId id, std::uint32_t index, bool asking, nanoseconds now) {
  Call& call = calls_[index];
  // Nobody would wait for the answer.
  if (call.deadline <= now)
    return finish(index,
                  {call.held ? Cause::overload : Cause::timeout, call.held ? kNoRoom : kNoAnswer, nullptr});
  call.held = false;
  if (asking) ask(id, Kind::asking, std::array<std::string_view, 1>{"ASKING"}, now);
  Node& node = nodes_[id];
  call.node = id;
  call.asking = asking;
  node.out += call.command;
  node.questions.push_back({Kind::call, calls_.ref(index), now, call.patience, node.questions.size() + 1});
  ++node.untaken;
  wants_write(id);
}

void Client::ask(NodeId id, Kind kind, std::span<const std::string_view> words, nanoseconds now) {
  Node& node = nodes_[id];
  resp::Writer request(node.out);
  request.array(words.size());
  for (const std::string_view word : words) request.bulk(word);
  node.questions.push_back({kind, {}, now, {}, 0});
  ++node.untaken;
  if (kind == Kind::script) ++counters_.script_loads;
  wants_write(id);
}

void Client::wants_write(NodeId id) {
  if (!actions_.empty() && actions_.back().kind == Action::Kind::write && actions_.back().node == id) return;
  actions_.push_back({Action::Kind::write, id, {}});
}

std::vector<Client::Action> Client::take_actions() { return std::exchange(actions_, {}); }

std::string Client::take_output(NodeId node) {
  nodes_[node].untaken = 0;
  return std::exchange(nodes_[node].out, {});
}

// ---------------------------------------------------------------------------------------------- answers

void Client::heard(NodeId id, nanoseconds now) { nodes_[id].heard = now; }

void Client::received(NodeId id, std::string_view bytes, nanoseconds now) {
  Node& node = nodes_[id];
  if (node.state == Node::State::down) return;
  node.heard = now;
  std::string joined;  // its own, because what an answer leads to may empty node.in
  if (!node.in.empty()) {
    joined = std::exchange(node.in, {});
    joined += bytes;
    bytes = joined;
  }
  while (!bytes.empty()) {
    const resp::Parsed parsed = parser_.parse(bytes);
    if (parsed.status == resp::Parsed::Status::more) break;
    if (parsed.status == resp::Parsed::Status::broken) {
      return go_down(id, Cause::connection, "not an answer of Redis: " + std::string(parsed.why), now);
    }
    bytes.remove_prefix(parsed.used);
    if (parsed.value.type == Type::push) continue;
    // A question that has not left yet cannot have been answered either.
    if (node.questions.size() == node.untaken)
      return go_down(id, Cause::connection, "an answer that nobody asked for", now);
    const Question question = node.questions.front();
    node.questions.pop_front();
    answer(id, question, parsed.value, now);
    if (node.state == Node::State::down) return;
  }
  node.in = bytes;
  send_waiting(id, now);
}

void Client::answer(NodeId id, const Question& question, const Value& value, nanoseconds now) {
  Node& node = nodes_[id];
  const bool error = is(value, Type::error);
  switch (question.kind) {
    case Kind::call:
      took_.count(now - question.sent_at);
      node.window.answered({question.sent_at, now, question.patience, question.owed, read_time_(value)});
      return calls_.waits(question.call) ? answer_call(id, question, value, now)
                                         : answer_late(id, value, now);
    case Kind::asking:
      return;
    case Kind::ping:
      // What the greeting said may have been a process that did not run.
      node.window.timed(now - question.sent_at);
      return;
    case Kind::auth:
    case Kind::database:
    case Kind::last_greeting:
      if (error) {
        // "ERR invalid password", "ERR AUTH <password> called without any password configured" and so on.
        const Cause cause = cause_of(value.text);
        const bool refused = question.kind == Kind::auth && cause == Cause::other &&
                             !value.text.starts_with("ERR max number of clients");
        return go_down(id, refused ? Cause::auth : cause, value.text, now);
      }
      if (question.kind == Kind::last_greeting) {
        node.window.timed(now - question.sent_at);
        go_up(id, now);
      }
      return;
    case Kind::script:
      node.loading_script = false;
      if (error) go_down(id, cause_of(value.text), value.text, now);
      return;
    case Kind::topology:
      node.asked = asking_ = false;
      // A node that does not know the cluster is of no use; a sentinel's refusal is its answer.
      if (error && !node.sentinel) return go_down(id, cause_of(value.text), value.text, now);
      return learn_topology(id, value, now);
    case Kind::modules:
      endangers_redis_cell_ = endangers_redis_cell_ || names_redis_cell(value);
      return;
    case Kind::eviction_policy:
      if (is(value, Type::array) && value.items.size() == 2 && is(value.items[1], Type::string)) {
        node.eviction = shown(value.items[1].text);
        learn_eviction();
      }
      return;
  }
}

void Client::answer_call(NodeId id, const Question& question, const Value& value, nanoseconds now) {
  const std::uint32_t index = question.call.call;
  Call& call = calls_[index];
  if (!is(value, Type::error)) {
    nodes_[id].failures = 0;
    return finish(index, {Cause::none, {}, &value});
  }
  const Cause cause = cause_of(value.text);
  if (value.text.starts_with("TRYAGAIN") && topology_->redirects()) {
    // Its keys are on their way from node to node, which may take as long as it has.
    ++counters_.redirects;
    call.node = kNoNode;
    const auto wait = std::min(kTryAgainAfter * (1 << std::min<int>(call.again++, 8)), kTryAgainAtMost);
    return calls_.schedule({now + wait, calls_.ref(index), true});
  }
  const bool more_hops = ++call.hops <= kMostHops;
  if (cause == Cause::noscript && more_hops) {
    // One reload for all that were under way; they follow it.
    if (!std::exchange(nodes_[id].loading_script, true)) {
      ask(id, Kind::script, std::array<std::string_view, 3>{"SCRIPT", "LOAD", script_}, now);
      for (const std::string_view each : more_scripts_)
        ask(id, Kind::script, std::array<std::string_view, 3>{"SCRIPT", "LOAD", each}, now);
    }
    return send(id, index, call.asking, now);
  }
  if (cause == Cause::moved && more_hops && redirect(id, index, value.text, now)) return;
  if (cause == Cause::clusterdown) ask_soon_ = true;
  const std::string error = shown(value.text);
  finish(index, {cause, error, nullptr});
  end_if_refused(id, cause, error, now);
}

// The answer to a call that has failed: what it says of the node still holds.
void Client::answer_late(NodeId id, const Value& value, nanoseconds now) {
  if (!is(value, Type::error)) {
    nodes_[id].failures = 0;
    return;
  }
  const Cause cause = cause_of(value.text);
  if (cause == Cause::moved || cause == Cause::clusterdown) ask_soon_ = true;
  end_if_refused(id, cause, shown(value.text), now);
}

// No master any longer, or we are no longer let in: what else goes there would be refused too. NOPERM may be
// about one key.
void Client::end_if_refused(NodeId id, Cause cause, std::string_view error, nanoseconds now) {
  if (cause == Cause::readonly || (cause == Cause::auth && !error.starts_with("NOPERM")))
    go_down(id, cause, error, now);
}

// Follows MOVED and ASK; false when it says nowhere to go.
bool Client::redirect(NodeId id, std::uint32_t index, std::string_view error, nanoseconds now) {
  if (!topology_->redirects()) return false;
  ++counters_.redirects;
  const auto redirect = redirect_of(error, nodes_[id].address.host);
  if (!redirect) return false;
  const NodeId to = nodes_.at(redirect->to, false);
  const bool moved = error.starts_with("MOVED");
  if (moved) {
    topology_->moved(redirect->slot, to);
    ask_soon_ = true;
  }
  calls_[index].node = kNoNode;
  forward(index, to, !moved, now);
  return true;
}

// Of several nodes, the one that evicts is the one to know of.
void Client::learn_eviction() {
  for (const Node& node : nodes_) {
    if (!node.up() || node.eviction.empty()) continue;
    eviction_policy_ = node.eviction;
    if (eviction_policy_ != "noeviction") return;
  }
}

void Client::learn_topology(NodeId id, const Value& value, nanoseconds now) {
  told_ = true;
  const Topology::Told told = topology_->read(id, value);
  ask_soon_ = told.again;
  ask_another_ = ask_another_ || told.ask_another;
  if (!told.error.empty()) last_error_ = nodes_[id].address.text() + ": " + shown(told.error);
  last_cause_ = told.cause.value_or(last_cause_);
  if (told.no_longer_master != kNoNode) {
    for (const auto& lane : std::exchange(nodes_[told.no_longer_master].waiting, {}))
      for (const Node::Waiting& each : lane) unplaced_.push_back(each.call);
    const bool asks_soon = ask_soon_;
    go_down(told.no_longer_master, Cause::readonly, "is no longer the master", now);
    ask_soon_ = asks_soon;
  }
  if (told.to_connect != kNoNode && nodes_[told.to_connect].state == Node::State::down)
    connect(told.to_connect, now);
  place_unplaced(now);
}

}  // namespace weir::redis
