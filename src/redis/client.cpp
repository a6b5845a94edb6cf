#include "redis/client.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "redis/redirect.hpp"

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using resp::Value;
using Type = resp::Value::Type;
using Kind = SentCommand::Kind;
using State = Node::State;

constexpr int kMostHops = 16;
// Of all calls that have no result: a call that would have to wait is not taken then.
constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr std::string_view kNoAnswer = "no answer by the deadline";
constexpr std::string_view kNoRoom = "more is asked than is answered in time";
constexpr Client::nanoseconds kTryAgainAfter = 2ms;  // and after twice as long each time, up to
constexpr Client::nanoseconds kTryAgainAtMost = 16ms;
constexpr Client::nanoseconds kNever = Client::nanoseconds::max();

}  // namespace

Client::Client(Greeting greeting, Options options)
    : greeting_(std::move(greeting)),
      options_(std::move(options)),
      jitter_(options_.seed),
      topology_(Topology::of(greeting_.endpoint, nodes_)) {}

// ------------------------------------------------------------------------------------------------ calls

void Client::call(std::unique_ptr<Call> call, std::uint16_t slot, std::string command, nanoseconds deadline,
                  nanoseconds now, Rank rank) {
  const std::uint32_t index = calls_.add({.its = std::move(call),
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

void Client::finish(std::uint32_t index, const Call::Result& result) {
  if (std::unique_ptr<Call> call = calls_.close(index)) {
    Call& its = *call;
    its.answered(std::move(call), result);
  }
}

// Finds the node of a call: sends it there, lets it wait, or fails it at once.
void Client::place(std::uint32_t index, nanoseconds now) {
  const NodeId id = topology_->node_of(calls_[index].slot);
  if (id != kNoNode) return forward(index, id, false, now);
  if (topology_->may_come()) {
    unplaced_.push_back(calls_.ref(index));
    return;
  }
  if (topology_->redirects() && topology_->has_answer())
    return finish(index, {Cause::clusterdown, "no node serves the key's slot", nullptr});
  finish(index, {last_.cause, last_.error, nullptr});
}

void Client::place_unplaced(nanoseconds now) {
  for (const CallRef each : std::exchange(unplaced_, {})) {
    if (calls_.waits(each)) place(each.call, now);
  }
}

void Client::forward(std::uint32_t index, NodeId to, bool asking, nanoseconds now) {
  Node& node = nodes_[to];
  OpenCall& call = calls_[index];
  if (node.up() && node.has_room() && node.admission.waits() == 0) return send(to, index, asking, now);
  if (!node.up() && node.ever_failed) return finish(index, {node.cause, node.error, nullptr});
  if (call.rank == Rank::usual && calls_.bytes() > kMostBytes)
    return finish(index, {Cause::overload, kNoRoom, nullptr});
  call.held = node.up();
  if (call.held && !node.admission.takes(call.rank, node.questions.size(), now)) return;
  node.admission.wait(call.rank, {calls_.ref(index), asking});
  if (node.state == State::down) connect(to, now);
}

// As much of what waits as there is room for.
void Client::send_waiting(NodeId id, nanoseconds now) {
  Node& node = nodes_[id];
  while (node.up() && node.has_room()) {
    const auto next = node.admission.next();
    if (!next) return;
    if (!calls_.waits(next->call)) continue;
    const std::uint32_t index = next->call.call;
    OpenCall& call = calls_[index];
    if (!call.its->wanted()) {
      finish(index, {Cause::overload, kNoRoom, nullptr});
    } else if (node.admission.passes_over(call, now)) {
      call.held = true;
    } else {
      send(id, index, next->asking, now);
    }
  }
}

bool Client::busy(std::uint16_t slot) const {
  const NodeId id = topology_->node_of(slot);
  return id != kNoNode && nodes_[id].up() && (nodes_[id].admission.waits() > 0 || !nodes_[id].has_room());
}

Client::nanoseconds Client::needed(std::uint16_t slot, nanoseconds patience, nanoseconds now) const {
  const NodeId id = topology_->node_of(slot);
  if (id == kNoNode || !nodes_[id].up()) return patience / 2;
  return nodes_[id].admission.needed(calls_, patience, now);
}

void Client::send(NodeId id, std::uint32_t index, bool asking, nanoseconds now) {
  OpenCall& call = calls_[index];
  // Nobody would wait for the answer.
  if (call.deadline <= now)
    return finish(index,
                  {call.held ? Cause::overload : Cause::timeout, call.held ? kNoRoom : kNoAnswer, nullptr});
  call.held = false;
  if (asking) ask(id, Kind::asking, std::array<std::string_view, 1>{"ASKING"}, now);
  call.node = id;
  call.asking = asking;
  nodes_[id].send(call, calls_.ref(index), now);
  wants_write(id);
}

void Client::ask(NodeId id, Kind kind, std::span<const std::string_view> words, nanoseconds now) {
  nodes_[id].ask(kind, words, now);
  wants_write(id);
}

void Client::wants_write(NodeId id) {
  if (!actions_.empty() && actions_.back().kind == Action::Kind::write && actions_.back().node == id) return;
  actions_.push_back({Action::Kind::write, id, {}});
}

std::vector<Client::Action> Client::take_actions() { return std::exchange(actions_, {}); }

std::string Client::take_output(NodeId node) { return nodes_[node].take_output(); }

// ---------------------------------------------------------------------------------------------- answers

void Client::heard(NodeId id, nanoseconds now) { nodes_[id].heard = now; }

void Client::received(NodeId id, std::string_view bytes, nanoseconds now) {
  Node& node = nodes_[id];
  if (node.state == State::down) return;
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
    const SentCommand question = node.questions.front();
    node.questions.pop_front();
    answer(id, question, parsed.value, now);
    if (node.state == State::down) return;
  }
  node.in = bytes;
  send_waiting(id, now);
}

void Client::answer(NodeId id, const SentCommand& question, const Value& value, nanoseconds now) {
  Node& node = nodes_[id];
  const bool error = value.type == Type::error;
  switch (question.kind) {
    case Kind::call:
      counters_.took.count(now - question.sent_at);
      node.admission.window.answered(
          {question.sent_at, now, question.patience, question.owed, options_.read_time(value)});
      return calls_.waits(question.call) ? answer_call(id, question, value, now)
                                         : answer_late(id, value, now);
    case Kind::asking:
      return;
    case Kind::ping:
      // What the greeting said may have been a process that did not run.
      node.admission.window.timed(now - question.sent_at);
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
        node.admission.window.timed(now - question.sent_at);
        go_up(id, now);
      }
      return;
    case Kind::script:
      node.loading_script = false;
      if (error) go_down(id, cause_of(value.text), value.text, now);
      return;
    case Kind::topology:
      // A node that does not know the cluster is of no use; a sentinel's refusal is its answer.
      if (error && !node.sentinel) return go_down(id, cause_of(value.text), value.text, now);
      return learn_topology(id, value, now);
    case Kind::modules:
      return setup_.learn_modules(value);
    case Kind::eviction_policy:
      if (value.type != Type::array || value.items.size() != 2 || value.items[1].type != Type::string) return;
      node.eviction = greeting_.shown(value.items[1].text);
      return setup_.learn_policy(nodes_);
  }
}

void Client::answer_call(NodeId id, const SentCommand& question, const Value& value, nanoseconds now) {
  const std::uint32_t index = question.call.call;
  OpenCall& call = calls_[index];
  if (value.type != Type::error) {
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
    load_scripts(id, now);
    return send(id, index, call.asking, now);
  }
  if (cause == Cause::moved && more_hops && redirect(id, index, value.text, now)) return;
  if (cause == Cause::clusterdown) topology_->ask_soon();
  const std::string error = greeting_.shown(value.text);
  finish(index, {cause, error, nullptr});
  end_if_refused(id, cause, error, now);
}

// One reload for all calls that were under way; they follow it.
void Client::load_scripts(NodeId id, nanoseconds now) {
  if (std::exchange(nodes_[id].loading_script, true)) return;
  for (const std::string_view each : greeting_.scripts) {
    ask(id, Kind::script, std::array<std::string_view, 3>{"SCRIPT", "LOAD", each}, now);
    ++counters_.script_loads;
  }
}

// The answer to a call that has failed: what it says of the node still holds.
void Client::answer_late(NodeId id, const Value& value, nanoseconds now) {
  if (value.type != Type::error) {
    nodes_[id].failures = 0;
    return;
  }
  const Cause cause = cause_of(value.text);
  if (cause == Cause::moved || cause == Cause::clusterdown) topology_->ask_soon();
  end_if_refused(id, cause, greeting_.shown(value.text), now);
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
    topology_->ask_soon();
  }
  calls_[index].node = kNoNode;
  forward(index, to, !moved, now);
  return true;
}

void Client::learn_topology(NodeId id, const Value& value, nanoseconds now) {
  const Topology::Meaning told = topology_->answered(id, value);
  if (!told.error.empty()) last_.error = nodes_[id].address.text() + ": " + greeting_.shown(told.error);
  last_.cause = told.cause.value_or(last_.cause);
  if (told.no_longer_master != kNoNode) {
    for (const CallRef each : nodes_[told.no_longer_master].take_waiting()) unplaced_.push_back(each);
    go_down(told.no_longer_master, Cause::readonly, "is no longer the master", now);
    topology_->ask_soon(told.again);
  }
  if (told.to_connect != kNoNode && nodes_[told.to_connect].state == State::down)
    connect(told.to_connect, now);
  place_unplaced(now);
}

// ------------------------------------------------------------------------------------------- connections

void Client::start(nanoseconds now) {
  for (const NodeAddress& address : greeting_.endpoint.addresses) {
    const NodeId id = nodes_.at(address, topology_->asks_sentinels());
    topology_->seed(id);
    if (nodes_[id].state == State::down) connect(id, now);
  }
  nodes_.keep_these();
}

void Client::connect(NodeId id, nanoseconds now) {
  Node& node = nodes_[id];
  node.state = State::connecting;
  node.tried_at = now;
  ++counters_.connects;
  actions_.push_back({Action::Kind::connect, id, node.address});
}

void Client::connected(NodeId id, nanoseconds now) {
  Node& node = nodes_[id];
  if (node.state != State::connecting) return;
  node.state = State::greeting;
  greeting_.say(node, now);
  if (!node.sentinel) setup_.asked(now);
  wants_write(id);
}

void Client::go_up(NodeId id, nanoseconds now) {
  nodes_[id].go_up(now);
  topology_->ask_soon();
  send_waiting(id, now);
  nodes_[id].admission.hold(calls_);
  ask_topology(now);
}

void Client::failed(NodeId id, std::string_view why, nanoseconds now) {
  go_down(id, Cause::connection, why, now);
}

void Client::go_down(NodeId id, Cause cause, std::string_view why, nanoseconds now) {
  Node& node = nodes_[id];
  if (node.state == State::down) return;
  actions_.push_back({Action::Kind::close, id, {}});
  topology_->lost(id);
  // A timeout is one only for the calls whose deadline has come.
  last_.cause = cause == Cause::timeout ? Cause::connection : cause;
  last_.error = node.address.text() + ": " + greeting_.shown(why);
  const Node::Lost lost = node.go_down(last_.cause, last_.error, now, jitter_);
  // A result may lead to a call at once, and that to another error.
  const Failure its = last_;
  for (const SentCommand& each : lost.questions) {
    if (each.kind != Kind::call || !calls_.waits(each.call)) continue;
    const bool late = cause == Cause::timeout && calls_[each.call.call].deadline <= now;
    finish(each.call.call, {late ? Cause::timeout : its.cause, its.error, nullptr});
  }
  for (const CallRef each : lost.calls) {
    if (calls_.waits(each)) finish(each.call, {its.cause, its.error, nullptr});
  }
  // This was the last that could have told the topology: what waits for that has waited enough.
  if (!topology_->may_come()) place_unplaced(now);
}

// ------------------------------------------------------------------------------------------------- time

void Client::ask_topology(nanoseconds now) {
  const auto whom = topology_->whom_to_ask(now, jitter_);
  if (!whom) return;
  ++counters_.refreshes;
  ask(*whom, Kind::topology, topology_->question(), now);
}

void Client::ask_eviction(nanoseconds now) {
  if (now < setup_.due(nodes_)) return;
  setup_.asked(now);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].up() && !nodes_[id].eviction.empty())
      ask(id, Kind::eviction_policy, Setup::kQuestion, now);
  }
}

// When something of the node falls due. One that is down is tried again when it has failed, and one that has
// left the cluster only when there is no other to ask.
Client::nanoseconds Client::due(const Node& node, bool any_up) const {
  const bool rests =
      node.state == State::down && (!node.ever_failed || (node.gone && (!topology_->redirects() || any_up)));
  return rests ? kNever : node.due(options_.silence);
}

void Client::fall_due(nanoseconds now) {
  while (const auto due = calls_.take_due(now)) {
    const std::uint32_t index = due->ref.call;
    const OpenCall& call = calls_[index];
    if (due->retry) {
      place(index, now);
    } else if (call.held) {
      finish(index, {Cause::overload, kNoRoom, nullptr});
    } else if (call.node != kNoNode) {
      const std::string error = nodes_[call.node].address.text() + ": " + std::string(kNoAnswer);
      finish(index, {Cause::timeout, error, nullptr});
    } else {
      const bool sent = call.hops + call.again > 0;
      finish(index, {Cause::timeout, sent ? kNoAnswer : last_.error, nullptr});
    }
  }
}

void Client::tick(nanoseconds now) {
  // First what may still be sent in time.
  if (now >= alarm_) {
    alarm_ = kNever;
    options_.ring(now);
  }
  fall_due(now);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    if (node.state == State::down || now < node.due(options_.silence)) continue;
    if (!node.up()) {
      go_down(id, Cause::timeout, "no greeting in time", now);
    } else if (node.questions.empty()) {
      ask(id, Kind::ping, std::array<std::string_view, 1>{"PING"}, now);
    } else {
      go_down(id, Cause::timeout, "no answer in time", now);
    }
  }
  // After the others, because whether one is worth it may depend on them.
  const bool any_up = nodes_.any_up(false);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].state == State::down && now >= due(nodes_[id], any_up)) connect(id, now);
  }
  ask_topology(now);
  ask_eviction(now);
}

Client::nanoseconds Client::next_tick() const {
  nanoseconds next =
      std::min({calls_.next_due().value_or(kNever), topology_->due(), alarm_, setup_.due(nodes_)});
  const bool any_up = nodes_.any_up(false);
  for (const Node& node : nodes_) next = std::min(next, due(node, any_up));
  return next;
}

}  // namespace weir::redis
