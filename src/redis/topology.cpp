#include "redis/topology.hpp"

#include <algorithm>
#include <tuple>

#include "redis/redirect.hpp"

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using resp::Value;
using Type = resp::Value::Type;

// A master that sentinels have replaced still answers until they tell it.
constexpr std::chrono::nanoseconds kAskSentinelsEvery = 500ms;
constexpr std::chrono::nanoseconds kAskClusterEvery = 2s;
constexpr std::chrono::nanoseconds kAskAgain = 100ms;  // while something is wrong

bool has_type(const Value& value, Type type) { return value.type == type; }

class Single final : public Topology {
 public:
  explicit Single(Nodes& nodes) : Topology(nodes) {}

  void seed(NodeId id) override { only_ = id; }
  NodeId node_of(std::uint16_t) const override { return only_; }
  NodeId master() const override { return only_; }
  bool ready() const override { return only_ != kNoNode && nodes_[only_].up(); }

 private:
  NodeId only_ = kNoNode;
};

class Sentinel final : public Topology {
 public:
  Sentinel(Nodes& nodes, std::string name) : Topology(nodes), name_(std::move(name)) {}

  NodeId node_of(std::uint16_t) const override { return master_; }
  NodeId master() const override { return master_; }
  bool ready() const override { return master_ != kNoNode && nodes_[master_].up(); }

  bool asks_sentinels() const override { return true; }
  // A sentinel is believed until its master fails: two may disagree, and the master must not change with
  // every question.
  std::vector<std::string_view> question() const override {
    return {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name_};
  }

 private:
  std::optional<Asks> asks() const override { return Asks{kAskSentinelsEvery, true}; }

  Meaning read(NodeId, const Value& value) override {
    const bool named =
        has_type(value, Type::array) && value.items.size() == 2 && !value.items[0].text.empty();
    const auto port = named ? port_of(value.items[1].text) : std::nullopt;
    if (!port) {
      const bool error = has_type(value, Type::error);
      const bool refused = error && cause_of(value.text) == Cause::auth;
      return {
          .again = true,
          .ask_another = true,
          .error = error ? std::string(value.text) : "this sentinel knows no master named '" + name_ + "'",
          .cause = refused ? Cause::auth : Cause::connection};
    }
    Meaning told;
    const NodeId found = nodes_.at({std::string(value.items[0].text), *port}, false);
    if (found != master_) {
      told.no_longer_master = std::exchange(master_, found);
      if (told.no_longer_master != kNoNode) nodes_[told.no_longer_master].gone = true;
    }
    const Node& master = nodes_[master_];
    told.again = !master.up();
    if (master.state == Node::State::down && !master.ever_failed) told.to_connect = master_;
    return told;
  }

  std::string name_;
  NodeId master_ = kNoNode;
};

class Cluster final : public Topology {
 public:
  explicit Cluster(Nodes& nodes) : Topology(nodes), slots_(kSlots, kNoNode) {}

  NodeId node_of(std::uint16_t slot) const override { return slots_[slot]; }
  bool ready() const override {
    return std::any_of(slots_.begin(), slots_.end(),
                       [this](NodeId id) { return id != kNoNode && nodes_[id].up(); });
  }
  std::vector<std::string_view> question() const override { return {"CLUSTER", "SLOTS"}; }
  bool redirects() const override { return true; }
  void moved(std::uint16_t slot, NodeId to) override { slots_[slot] = to; }

 private:
  std::optional<Asks> asks() const override { return Asks{kAskClusterEvery, false}; }

  Meaning read(NodeId from, const Value& value) override {
    std::vector<NodeId> fresh(kSlots, kNoNode);
    std::vector<bool> serves(nodes_.size());
    bool any = false;
    for (const Value& range : value.items) {
      if (!has_type(range, Type::array) || range.items.size() < 3) continue;
      const auto& [first, last, node] = std::tie(range.items[0], range.items[1], range.items[2]);
      const bool sane = has_type(first, Type::integer) && has_type(last, Type::integer) &&
                        first.integer >= 0 && first.integer <= last.integer && last.integer < kSlots &&
                        has_type(node, Type::array) && node.items.size() >= 2 &&
                        has_type(node.items[1], Type::integer) && node.items[1].integer > 0 &&
                        node.items[1].integer < 65'536;
      if (!sane) continue;
      const NodeAddress address{host_of(node.items[0].text, nodes_[from].address.host),
                                static_cast<std::uint16_t>(node.items[1].integer)};
      const NodeId owner = nodes_.at(address, false);
      serves.resize(nodes_.size());
      serves[owner] = any = true;
      std::fill(fresh.begin() + first.integer, fresh.begin() + last.integer + 1, owner);
    }
    // From a node that has left, or that never belonged: others know more, and so did we.
    if (!any) return {.again = true, .error = "its answer to CLUSTER SLOTS names no master"};
    slots_ = std::move(fresh);
    for (NodeId each = 0; each < nodes_.size(); ++each) nodes_[each].gone = !serves[each];
    // A slot without a node that is well is to have one soon.
    return {.again = std::any_of(slots_.begin(), slots_.end(), [this](NodeId owner) {
              return owner == kNoNode || nodes_[owner].ever_failed;
            })};
  }

  std::vector<NodeId> slots_;
};

}  // namespace

// A node that does not answer keeps us from asking the next for a while only.
std::chrono::nanoseconds Topology::due() const {
  const auto how = asks();
  const bool any = std::any_of(nodes_.begin(), nodes_.end(), [this](const Node& node) {
    return node.up() && node.sentinel == asks_sentinels() && !node.asked;
  });
  if (!how || !any) return nanoseconds::max();
  if (asking_) return std::max(ask_at_, asked_at_ + kAnswerAtMost);
  return soon_ ? ask_at_ : ask_at_ + how->every;
}

std::optional<NodeId> Topology::whom_to_ask(nanoseconds now, Jitter& jitter) {
  const auto how = asks();
  if (!how || now < due()) return std::nullopt;
  if (!how->believes_one || asking_ || std::exchange(another_, false)) ++asked_last_;
  // One that has left the cluster knows only itself, so it comes last.
  for (const bool gone : {false, true}) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto id = static_cast<NodeId>((asked_last_ + i) % nodes_.size());
      Node& node = nodes_[id];
      if (!node.up() || node.sentinel != asks_sentinels() || node.asked || node.gone != gone) continue;
      asked_last_ = id;
      node.asked = asking_ = true;
      asked_at_ = now;
      ask_at_ = now + jitter(kAskAgain);
      return id;
    }
  }
  return std::nullopt;
}

Topology::Meaning Topology::answered(NodeId from, const Value& value) {
  nodes_[from].asked = asking_ = false;
  told_ = true;
  Meaning told = read(from, value);
  soon_ = told.again;
  another_ = another_ || told.ask_another;
  return told;
}

void Topology::lost(NodeId node) {
  if (nodes_[node].asked) asking_ = false;
  soon_ = true;
  another_ = another_ || node == master();
}

bool Topology::may_come() const {
  return !told_ && std::any_of(nodes_.begin(), nodes_.end(), [this](const Node& node) {
    return node.sentinel == asks_sentinels() && node.state != Node::State::down && !node.ever_failed;
  });
}

std::unique_ptr<Topology> Topology::of(const Endpoint& endpoint, Nodes& nodes) {
  switch (endpoint.kind) {
    case Endpoint::Kind::sentinel:
      return std::make_unique<Sentinel>(nodes, endpoint.master);
    case Endpoint::Kind::cluster:
      return std::make_unique<Cluster>(nodes);
    case Endpoint::Kind::single:
      break;
  }
  return std::make_unique<Single>(nodes);
}

}  // namespace weir::redis
