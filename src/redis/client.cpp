#include "redis/client.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <tuple>

#include "resp/writer.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using resp::Value;
using Type = resp::Value::Type;

constexpr Client::nanoseconds kConnectAtMost = 500ms;  // and greet
constexpr Client::nanoseconds kFirstRetry = 20ms;      // less a half at most, or more by a half
constexpr Client::nanoseconds kLastRetry = 400ms;      // back within a second of a recovery
constexpr Client::nanoseconds kSteadyAfter = 1s;       // of being up, failures are forgotten
constexpr Client::nanoseconds kAnswerAtMost = 500ms;   // to what is not a call
constexpr Client::nanoseconds kPingAfter = 1s;
constexpr Client::nanoseconds kLookAgain = 100ms;  // while something is wrong
constexpr Client::nanoseconds kLookAnyway = 2s;
// A master that sentinels have replaced still answers until they tell it.
constexpr Client::nanoseconds kAskAnyway = 500ms;
constexpr Client::nanoseconds kTryAgainAfter = 2ms;  // and after twice as long each time, up to
constexpr Client::nanoseconds kTryAgainAtMost = 16ms;
constexpr std::string_view kNoAnswer = "no answer by the deadline";
constexpr Client::nanoseconds kNever{std::numeric_limits<std::int64_t>::max()};

bool is(const Value& value, Type type) { return value.type == type; }

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, wrong] = std::from_chars(text.data(), end, port);
  if (wrong != std::errc{} || behind != end || port == 0) return std::nullopt;
  return port;
}

// "" and "?" are what a node says that does not know by which name it, or another, is reached: the host that
// was asked is right for a node that cannot see its own address.
std::string host_of(std::string_view said, const std::string& asked) {
  return said.empty() || said == "?" ? asked : std::string(said);
}

// "MOVED 3999 127.0.0.1:6381": the slot and where it is.
struct Redirect {
  std::uint16_t slot;
  Address to;
};
std::optional<Redirect> redirect_of(std::string_view error, const std::string& asked) {
  const std::size_t first = std::min(error.find(' '), error.size());
  const std::size_t second = std::min(error.find(' ', first + 1), error.size());
  const std::size_t colon = error.rfind(':');
  if (second == error.size() || colon == std::string_view::npos || colon < second) return std::nullopt;
  std::uint16_t slot = 0;
  const auto [behind, wrong] = std::from_chars(error.data() + first + 1, error.data() + second, slot);
  const auto port = port_of(error.substr(colon + 1));
  if (wrong != std::errc{} || behind != error.data() + second || slot >= kSlots || !port) return std::nullopt;
  return Redirect{slot, {host_of(error.substr(second + 1, colon - second - 1), asked), *port}};
}

}  // namespace

Client::Client(Endpoint endpoint, std::string script, std::uint64_t seed, OnResult on_result)
    : endpoint_(std::move(endpoint)),
      script_(std::move(script)),
      on_result_(std::move(on_result)),
      random_((seed * 0x9E3779B97F4A7C15) | 1) {
  if (endpoint_.kind == Endpoint::Kind::cluster) slots_.assign(kSlots, kNobody);
}

Client::nanoseconds Client::jittered(nanoseconds about) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return about / 2 +
         nanoseconds{static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(about.count()))};
}

void Client::start(nanoseconds now) {
  const bool sentinel = endpoint_.kind == Endpoint::Kind::sentinel;
  for (const Address& address : endpoint_.addresses) {
    const NodeId id = node_at(address, sentinel);
    if (endpoint_.kind == Endpoint::Kind::single) master_ = id;
    if (nodes_[id].state == State::down) connect(id, now);
  }
  seeds_ = nodes_.size();
}

Client::NodeId Client::node_at(const Address& address, bool sentinel) {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].address == address && nodes_[id].sentinel == sentinel) {
      nodes_[id].gone = false;
      return id;
    }
  }
  auto id = static_cast<NodeId>(seeds_);
  if (nodes_.size() >= kManyNodes) {
    while (id < nodes_.size() && !(nodes_[id].gone && nodes_[id].state == State::down)) ++id;
  } else {
    id = static_cast<NodeId>(nodes_.size());
  }
  if (id == nodes_.size()) {
    nodes_.emplace_back();
  } else {
    Node fresh;
    nodes_[id] = std::move(fresh);
  }
  nodes_[id].address = address;
  nodes_[id].sentinel = sentinel;
  return id;
}

// ------------------------------------------------------------------------------------------------ calls

void Client::call(std::uint64_t tag, std::uint16_t slot, std::string command, nanoseconds deadline,
                  nanoseconds now) {
  std::uint32_t index = 0;
  if (free_calls_.empty()) {
    index = static_cast<std::uint32_t>(calls_.size());
    calls_.emplace_back();
  } else {
    index = free_calls_.back();
    free_calls_.pop_back();
  }
  Call& made = calls_[index];
  made.tag = tag;
  made.command = std::move(command);
  made.slot = slot;
  made.hops = made.again = 0;
  made.deadline = deadline;
  made.node = kNobody;
  made.open = true;
  made.asking = false;
  ++counters_.calls;
  if (deadline <= now) return finish(index, {Cause::timeout, kNoAnswer, nullptr});
  schedule({deadline, {index, made.generation}, false});
  place(index, now);
}

void Client::schedule(Due due) {
  due_.push_back(due);
  std::push_heap(due_.begin(), due_.end(), std::greater<>{});
}

void Client::finish(std::uint32_t index, const Result& result) {
  Call& done = calls_[index];
  if (!done.open) return;
  done.open = false;
  ++done.generation;
  const std::uint64_t tag = done.tag;
  done.command.clear();
  free_calls_.push_back(index);
  // Most calls are answered in the order of their deadlines: what nobody waits for is gone at once.
  while (!due_.empty() && !waits(due_.front().ticket)) {
    std::pop_heap(due_.begin(), due_.end(), std::greater<>{});
    due_.pop_back();
  }
  on_result_(tag, result);
}

Client::NodeId Client::route(std::uint16_t slot) const {
  return endpoint_.kind == Endpoint::Kind::cluster ? slots_[slot] : master_;
}

// Finds the node of a call: sends it there, lets it wait, or fails it at once.
void Client::place(std::uint32_t index, nanoseconds now) {
  const NodeId id = route(calls_[index].slot);
  if (id != kNobody) return again(index, id, false, now);
  if (may_be_told()) {
    unplaced_.push_back({index, calls_[index].generation});
    return;
  }
  if (endpoint_.kind == Endpoint::Kind::cluster && told_) {
    return finish(index, {Cause::clusterdown, "no node serves the key's slot", nullptr});
  }
  finish(index, {last_cause_, last_error_, nullptr});
}

// Whether a call without a map or a master has something to wait for: nobody has told yet, and one who could
// has not failed.
bool Client::may_be_told() const {
  const bool sentinel = endpoint_.kind == Endpoint::Kind::sentinel;
  return !told_ && std::any_of(nodes_.begin(), nodes_.end(), [sentinel](const Node& node) {
    return node.sentinel == sentinel && node.state != State::down && !node.ever_failed;
  });
}

void Client::again(std::uint32_t index, NodeId to, bool asking, nanoseconds now) {
  Node& node = nodes_[to];
  if (node.state == State::up) return send(to, index, asking, now);
  if (node.ever_failed) return finish(index, {node.cause, node.error, nullptr});
  node.waiting.push_back({{index, calls_[index].generation}, asking});
  if (node.state == State::down) connect(to, now);
}

void Client::send(NodeId id, std::uint32_t index, bool asking, nanoseconds now) {
  Call& call = calls_[index];
  // It would only cost the connection.
  if (call.deadline <= now) return finish(index, {Cause::timeout, kNoAnswer, nullptr});
  if (asking) send_internal(id, Sent::asking, {"ASKING"}, now);
  Node& node = nodes_[id];
  call.node = id;
  call.asking = asking;
  node.out += call.command;
  node.pending.push_back({Sent::call, index, now});
  ++node.untaken;
  wants_write(id);
}

void Client::send_internal(NodeId id, Sent what, std::initializer_list<std::string_view> words,
                           nanoseconds now) {
  Node& node = nodes_[id];
  resp::Writer request(node.out);  // requests are arrays of bulk strings too
  request.array(words.size());
  for (const std::string_view word : words) request.bulk(word);
  node.pending.push_back({what, 0, now});
  ++node.untaken;
  if (what == Sent::script) ++counters_.script_loads;
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
  const Node& node = nodes_[id];
  const std::string& user = node.sentinel ? endpoint_.sentinel_user : endpoint_.user;
  const std::string& password = node.sentinel ? endpoint_.sentinel_password : endpoint_.password;
  if (!password.empty()) {
    if (user.empty()) {
      send_internal(id, Sent::auth, {"AUTH", password}, now);
    } else {
      send_internal(id, Sent::auth, {"AUTH", user, password}, now);
    }
  }
  if (node.sentinel) return send_internal(id, Sent::last_greeting, {"PING"}, now);
  if (endpoint_.database != 0)
    send_internal(id, Sent::database, {"SELECT", std::to_string(endpoint_.database)}, now);
  // A node that is still loading, or in somebody's slow script, says so in the answer to this one. A replica
  // does not: that shows in the answer to the first call.
  send_internal(id, Sent::last_greeting, {"SCRIPT", "LOAD", script_}, now);
  if (eviction_policy_.empty()) send_internal(id, Sent::policy, {"CONFIG", "GET", "maxmemory-policy"}, now);
}

void Client::go_up(NodeId id, nanoseconds now) {
  Node& node = nodes_[id];
  node.state = State::up;
  node.since = node.heard = now;
  node.ever_failed = false;
  refresh_wanted_ = refresh_wanted_ || endpoint_.kind != Endpoint::Kind::single;
  for (const Node::Waiting& each : std::exchange(node.waiting, {})) {
    if (waits(each.ticket)) send(id, each.ticket.call, each.asking, now);
  }
  look_around(now);
}

void Client::failed(NodeId id, std::string_view why, nanoseconds now) {
  go_down(id, Cause::connection, why, now);
}

// What may be shown of an error: one line, without the arguments that Redis repeats of a command that it does
// not know, which may be keys or a password.
std::string Client::shown(std::string_view why) const {
  std::string text(why.substr(0, why.find(", with args beginning with")));
  std::string_view longer = endpoint_.password;
  std::string_view shorter = endpoint_.sentinel_password;
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  // The longer first: with the other inside it cut out, the rest of it would be found no more.
  for (const std::string_view password : {longer, shorter}) {
    if (password.empty()) continue;
    for (std::size_t at = 0; (at = text.find(password, at)) != std::string::npos; at += 3)
      text.replace(at, password.size(), "***");
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  }
  return text;
}

void Client::go_down(NodeId id, Cause cause, std::string_view why, nanoseconds now) {
  Node& node = nodes_[id];
  if (node.state == State::down) return;
  actions_.push_back({Action::Kind::close, id, {}});
  if (node.state == State::up && now >= node.since + kSteadyAfter) node.failures = 0;
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
  if (std::exchange(node.asked, false)) refreshing_ = false;
  refresh_wanted_ = true;
  ask_another_ = ask_another_ || id == master_;
  // Soon, since most breaks are short; the patience that grows is counted from the last time, so that one who
  // lets us wait is not waited for twice.
  const int doublings = std::min(node.failures++, 6);
  node.retry_at = std::max(now + jittered(kFirstRetry),
                           node.tried_at + jittered(std::min(kFirstRetry * (1 << doublings), kLastRetry)));
  const auto pending = std::exchange(node.pending, {});
  const auto waiting = std::exchange(node.waiting, {});
  // A listener may call at once, and that may lead to another error.
  const Cause its = node.cause;
  const std::string error = node.error;
  for (const Pending& each : pending) {
    if (each.what != Sent::call) continue;
    const bool late = cause == Cause::timeout && calls_[each.call].deadline <= now;
    finish(each.call, {late ? Cause::timeout : its, error, nullptr});
  }
  for (const Node::Waiting& each : waiting) {
    if (waits(each.ticket)) finish(each.ticket.call, {its, error, nullptr});
  }
  // This was the last who could have told the map or the master: calls that wait for that have waited enough.
  if (!may_be_told()) place_unplaced(now);
}

bool Client::any_up(bool sentinel) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [sentinel](const Node& node) {
    return node.state == State::up && node.sentinel == sentinel;
  });
}

// One that has left the cluster is asked again only when nobody else is there to ask.
bool Client::worth_retrying(const Node& node) const {
  if (node.state != State::down || !node.ever_failed) return false;
  return !node.gone || (endpoint_.kind == Endpoint::Kind::cluster && !any_up(false));
}

void Client::place_unplaced(nanoseconds now) {
  for (const Ticket each : std::exchange(unplaced_, {})) {
    if (waits(each)) place(each.call, now);
  }
}

bool Client::ready() const {
  if (endpoint_.kind == Endpoint::Kind::cluster) {
    return std::any_of(slots_.begin(), slots_.end(),
                       [this](NodeId id) { return id != kNobody && nodes_[id].state == State::up; });
  }
  return master_ != kNobody && nodes_[master_].state == State::up;
}

// ---------------------------------------------------------------------------------------------- answers

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
    // Nor did anybody whose question has not left yet.
    if (node.pending.size() == node.untaken)
      return go_down(id, Cause::connection, "an answer that nobody asked for", now);
    const Pending pending = node.pending.front();
    node.pending.pop_front();
    answer(id, pending, parsed.value, now);
    if (node.state == State::down) return;
  }
  node.in = bytes;
}

void Client::answer(NodeId id, const Pending& pending, const Value& value, nanoseconds now) {
  Node& node = nodes_[id];
  const bool error = is(value, Type::error);
  switch (pending.what) {
    case Sent::call:
      return answer_call(id, pending.call, value, now);
    case Sent::asking:
    case Sent::ping:
      return;
    case Sent::auth:
    case Sent::database:
    case Sent::last_greeting:
      if (error) {
        // "ERR invalid password", "ERR AUTH <password> called without any password configured" and so on.
        const Cause cause = cause_of(value.text);
        const bool refused = pending.what == Sent::auth && cause == Cause::other &&
                             !value.text.starts_with("ERR max number of clients");
        return go_down(id, refused ? Cause::auth : cause, value.text, now);
      }
      if (pending.what == Sent::last_greeting) go_up(id, now);
      return;
    case Sent::script:
      node.loading_script = false;
      if (error) go_down(id, cause_of(value.text), value.text, now);
      return;
    case Sent::slots:
      node.asked = refreshing_ = false;
      if (error) return go_down(id, cause_of(value.text), value.text, now);
      return read_slots(id, value, now);
    case Sent::master:
      node.asked = refreshing_ = false;
      return read_master(id, value, now);
    case Sent::policy:
      if (is(value, Type::array) && value.items.size() == 2 && is(value.items[1], Type::string)) {
        eviction_policy_ = value.items[1].text;
      }
      return;
  }
}

void Client::answer_call(NodeId id, std::uint32_t index, const Value& value, nanoseconds now) {
  Call& call = calls_[index];
  if (!is(value, Type::error)) {
    nodes_[id].failures = 0;
    return finish(index, {Cause::none, {}, &value});
  }
  const Cause cause = cause_of(value.text);
  if (value.text.starts_with("TRYAGAIN") && endpoint_.kind == Endpoint::Kind::cluster) {
    // Its keys are on their way from node to node, which may take as long as it has.
    ++counters_.redirects;
    call.node = kNobody;
    const auto wait = std::min(kTryAgainAfter * (1 << std::min<int>(call.again++, 8)), kTryAgainAtMost);
    return schedule({now + wait, {index, call.generation}, true});
  }
  const bool more_hops = ++call.hops <= kMostHops;
  if (cause == Cause::noscript && more_hops) {
    // One reload for all that were under way; they follow it.
    if (!nodes_[id].loading_script) {
      nodes_[id].loading_script = true;
      send_internal(id, Sent::script, {"SCRIPT", "LOAD", script_}, now);
    }
    return send(id, index, call.asking, now);
  }
  if (cause == Cause::moved && more_hops && endpoint_.kind == Endpoint::Kind::cluster) {
    ++counters_.redirects;
    if (const auto redirect = redirect_of(value.text, nodes_[id].address.host)) {
      const NodeId to = node_at(redirect->to, false);
      const bool moved = value.text.starts_with("MOVED");
      if (moved) {
        slots_[redirect->slot] = to;
        refresh_wanted_ = true;
      }
      call.node = kNobody;
      return again(index, to, !moved, now);
    }
  }
  if (cause == Cause::clusterdown) refresh_wanted_ = true;
  const std::string error = shown(value.text);
  finish(index, {cause, error, nullptr});
  // No master any longer, or we are no longer let in: whatever else goes there would be refused too. NOPERM
  // may be about one key.
  if (cause == Cause::readonly || (cause == Cause::auth && !error.starts_with("NOPERM")))
    go_down(id, cause, error, now);
}

void Client::read_slots(NodeId id, const Value& value, nanoseconds now) {
  std::vector<NodeId> fresh(kSlots, kNobody);
  std::vector<bool> serves(nodes_.size());
  bool any = false;
  for (const Value& range : value.items) {
    if (!is(range, Type::array) || range.items.size() < 3) continue;
    const auto& [first, last, node] = std::tie(range.items[0], range.items[1], range.items[2]);
    const bool sane = is(first, Type::integer) && is(last, Type::integer) && first.integer >= 0 &&
                      first.integer <= last.integer && last.integer < kSlots && is(node, Type::array) &&
                      node.items.size() >= 2 && is(node.items[1], Type::integer) &&
                      node.items[1].integer > 0 && node.items[1].integer < 65'536;
    if (!sane) continue;
    const Address address{host_of(node.items[0].text, nodes_[id].address.host),
                          static_cast<std::uint16_t>(node.items[1].integer)};
    const NodeId owner = node_at(address, false);
    serves.resize(nodes_.size());
    serves[owner] = any = true;
    std::fill(fresh.begin() + first.integer, fresh.begin() + last.integer + 1, owner);
  }
  told_ = true;
  if (any) {
    slots_ = std::move(fresh);
    for (NodeId each = 0; each < nodes_.size(); ++each) nodes_[each].gone = !serves[each];
    // Somebody is to have those slots soon.
    refresh_wanted_ = std::any_of(slots_.begin(), slots_.end(), [this](NodeId owner) {
      return owner == kNobody || nodes_[owner].ever_failed;
    });
  } else {
    // Of a node that has left, or that never belonged: others know more, and so did we.
    last_error_ = nodes_[id].address.text() + ": its answer to CLUSTER SLOTS names no master";
    refresh_wanted_ = true;
  }
  place_unplaced(now);
}

void Client::read_master(NodeId id, const Value& value, nanoseconds now) {
  told_ = true;
  const bool named = is(value, Type::array) && value.items.size() == 2 && !value.items[0].text.empty();
  const auto port = named ? port_of(value.items[1].text) : std::nullopt;
  if (!port) {
    const bool refused = is(value, Type::error) && cause_of(value.text) == Cause::auth;
    last_error_ = nodes_[id].address.text() + ": ";
    last_error_ += is(value, Type::error)
                       ? shown(value.text)
                       : shown("this sentinel knows no master named '" + endpoint_.master + "'");
    last_cause_ = refused ? Cause::auth : Cause::connection;
    refresh_wanted_ = ask_another_ = true;
    return place_unplaced(now);
  }
  const NodeId found = node_at({std::string(value.items[0].text), *port}, false);
  if (found != master_) {
    const NodeId old = std::exchange(master_, found);
    if (old != kNobody) {
      nodes_[old].gone = true;
      for (const Node::Waiting& each : std::exchange(nodes_[old].waiting, {}))
        unplaced_.push_back(each.ticket);
      go_down(old, Cause::readonly, "is no longer the master", now);
    }
  }
  Node& master = nodes_[master_];
  refresh_wanted_ = master.state != State::up;
  if (master.state == State::down && !master.ever_failed) connect(master_, now);
  place_unplaced(now);
}

// ------------------------------------------------------------------------------------------------- time

// When to ask for the slot map, or who the master is: when something has changed, and now and then anyway.
// Who does not answer keeps nobody from asking the next.
Client::nanoseconds Client::look_at() const {
  if (endpoint_.kind == Endpoint::Kind::single) return kNever;
  const bool sentinel = endpoint_.kind == Endpoint::Kind::sentinel;
  const bool anybody = std::any_of(nodes_.begin(), nodes_.end(), [sentinel](const Node& node) {
    return node.state == State::up && node.sentinel == sentinel && !node.asked;
  });
  if (!anybody) return kNever;
  if (refreshing_) return std::max(refresh_at_, asked_at_ + kAnswerAtMost);
  return refresh_wanted_ ? refresh_at_ : refresh_at_ + (sentinel ? kAskAnyway : kLookAnyway);
}

void Client::look_around(nanoseconds now) {
  if (now < look_at()) return;
  const bool sentinel = endpoint_.kind == Endpoint::Kind::sentinel;
  // A sentinel is believed until its master fails: two may disagree, and the master must not change with
  // every question.
  if (!sentinel || refreshing_ || std::exchange(ask_another_, false)) ++refresher_;
  // One that has left the cluster knows only itself, so it comes last.
  for (const bool gone : {false, true}) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto id = static_cast<NodeId>((refresher_ + i) % nodes_.size());
      Node& node = nodes_[id];
      if (node.state != State::up || node.sentinel != sentinel || node.asked || node.gone != gone) continue;
      refresher_ = id;
      node.asked = refreshing_ = true;
      asked_at_ = now;
      refresh_at_ = now + jittered(kLookAgain);
      ++counters_.refreshes;
      if (sentinel) {
        send_internal(id, Sent::master, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", endpoint_.master}, now);
      } else {
        send_internal(id, Sent::slots, {"CLUSTER", "SLOTS"}, now);
      }
      return;
    }
  }
}

// When an answer that belongs to no call is overdue. Those before it may have taken their time.
Client::nanoseconds Client::answer_due(const Node& node) const {
  return std::max(node.pending.front().sent_at, node.heard) + kAnswerAtMost;
}

void Client::tick(nanoseconds now) {
  while (!due_.empty() && due_.front().at <= now) {
    const Due due = due_.front();
    std::pop_heap(due_.begin(), due_.end(), std::greater<>{});
    due_.pop_back();
    if (!waits(due.ticket)) continue;
    const Call& call = calls_[due.ticket.call];
    if (due.retry) {
      place(due.ticket.call, now);
    } else if (call.node == kNobody) {
      finish(due.ticket.call,
             {Cause::timeout, call.hops + call.again > 0 ? kNoAnswer : last_error_, nullptr});
    } else {
      go_down(call.node, Cause::timeout, kNoAnswer, now);
    }
  }
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    Node& node = nodes_[id];
    switch (node.state) {
      case State::down:
        break;
      case State::connecting:
      case State::greeting:
        if (now >= node.tried_at + kConnectAtMost) go_down(id, Cause::timeout, "no greeting in time", now);
        break;
      case State::up:
        if (node.pending.empty()) {
          if (now >= node.heard + kPingAfter) send_internal(id, Sent::ping, {"PING"}, now);
        } else if (node.pending.front().what != Sent::call && now >= answer_due(node)) {
          go_down(id, Cause::timeout, "no answer in time", now);
        }
        break;
    }
  }
  // After the others, because whether one is worth it may depend on them.
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (worth_retrying(nodes_[id]) && nodes_[id].retry_at <= now) connect(id, now);
  }
  look_around(now);
}

Client::nanoseconds Client::next_tick() const {
  nanoseconds next = due_.empty() ? kNever : due_.front().at;
  for (const Node& node : nodes_) {
    switch (node.state) {
      case State::down:
        if (worth_retrying(node)) next = std::min(next, node.retry_at);
        break;
      case State::connecting:
      case State::greeting:
        next = std::min(next, node.tried_at + kConnectAtMost);
        break;
      case State::up:
        if (node.pending.empty()) {
          next = std::min(next, node.heard + kPingAfter);
        } else if (node.pending.front().what != Sent::call) {
          next = std::min(next, answer_due(node));
        }
        break;
    }
  }
  return std::min(next, look_at());
}

}  // namespace weir::redis
