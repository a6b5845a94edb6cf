#include "limits/descriptors.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/duration.hpp"
#include "core/pattern.hpp"
#include "core/printable.hpp"
#include "core/window_quota.hpp"
#include "limits/findings.hpp"
#include "limits/identity.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

constexpr std::array<std::string_view, kRateUnits> kUnitNames = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                                                 "DAY",     "MONTH",  "YEAR",   "WEEK"};

// Times of a window or of a debt stay far below 2^63 ns.
constexpr nanoseconds kLongestPeriod{(std::int64_t{1} << 62) - 1};

// Of a name in any case; unknown for all else.
RateUnit unit_named(std::string_view text) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  for (std::size_t i = 1; i < kRateUnits; ++i) {
    if (std::equal(text.begin(), text.end(), kUnitNames[i].begin(), kUnitNames[i].end(),
                   [&](char a, char b) { return upper(a) == b; }))
      return static_cast<RateUnit>(i);
  }
  return RateUnit::unknown;
}

// A request's worth of units at once. Where whole nanoseconds would slow it by more than 0.1 %, which is
// above a million a second, it is slowed all the same: a little less passes than is said, never more.
Quota draining(std::int64_t count, nanoseconds period) {
  if (const auto exact = Quota::make({count, period}, count)) return *exact;
  return Quota::make({1, nanoseconds{(period.count() - 1) / count + 1}}, count).value();
}

core::Rule rule_of(Algorithm algorithm, std::uint32_t requests_per_unit, nanoseconds period) {
  const std::int64_t count = std::max<std::int64_t>(requests_per_unit, 1);
  if (core::has_burst(algorithm)) return {draining(count, period), algorithm};
  return {core::WindowQuota::of(count, period), algorithm};
}

// "rls:1min|gcra". No limit of a limits file has a name with a colon.
void append_state_name(nanoseconds period, Algorithm algorithm, std::string& out) {
  out += "rls:";
  core::append_window(period, out);
  out += '|';
  out += core::name_of(algorithm);
}

// One part of a key.
void append_part(std::string_view text, DescriptorMatch& into) {
  if (text.size() > kLongestValue) {
    digest_of(text, into.memory.digest);
    into.key += into.memory.digest;
    return;
  }
  std::array<char, kLongestPart> part;
  into.key.append(part.data(), write_part(text, part.data()));
}

// Empty where there are no lines.
std::string at(Position place) {
  if (place.line == 0) return {};
  return ", line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

}  // namespace

RateUnit unit_of(nanoseconds period) {
  for (std::size_t i = 1; i < kRateUnits; ++i)
    if (period == period_of(static_cast<RateUnit>(i))) return static_cast<RateUnit>(i);
  return RateUnit::unknown;
}

std::string_view name_of(RateUnit unit) { return kUnitNames[static_cast<std::size_t>(unit)]; }

// Found by a view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Mapped>
using ByText = std::unordered_map<std::string, Mapped, TextHash, std::equal_to<>>;

struct Descriptors::Node {
  const Descriptor* said = nullptr;  // null: of a domain
  const std::string* file = nullptr;
  ByText<Index> children;                               // Parts::nodes, by "key_value" or the key alone
  std::vector<std::pair<std::string, Index>> patterns;  // those of them with a star, in the order of the file
  std::string shared;    // the pattern that stands for what it matches, with the key; or empty
  Index series = kNone;  // of its limit
  RateUnit unit = RateUnit::unknown;
  std::optional<store::Limit> limit;
};

struct Descriptors::Tree {
  std::string name;
  const Domain* said = nullptr;  // the first that says it
  Index root = 0;                // Parts::nodes
  Index override_series = kNone;
};

struct Descriptors::Parts {
  struct State {
    std::string name;
    std::uint64_t id = 0;
  };

  std::vector<Domain> said;
  DescriptorOptions options;
  std::vector<Node> nodes;
  std::vector<Tree> trees;
  ByText<Index> by_domain;
  std::vector<std::string> series;
  std::vector<Labels> labels;  // of each
  std::size_t limits = 0;
  std::array<State, kRateUnits> states;

  store::Limit limit_of(std::uint32_t requests_per_unit, nanoseconds period, std::string_view name,
                        std::uint64_t id) const {
    return {.rule = rule_of(options.algorithm, requests_per_unit, period).on_clock(options.wall),
            .id = id,
            .name = name,
            .on_store_error = options.on_store_error,
            .sharing = {.merge = options.sharing.merge, .remembers_to_the_end = true}};
  }

  void meet(const Node& node, DescriptorMeets& into) const;
  void meet_override(const Tree& domain, const DescriptorOverride& asked, DescriptorMatch& into) const;
  // The node of all entries; null: no limit.
  const Node* walk(const Tree& domain, std::span<const DescriptorEntry> entries,
                   DescriptorMatch::Memory& memory) const;
  static void write_key(const Tree& domain, std::span<const DescriptorEntry> entries, DescriptorMatch& into);
};

// ---------------------------------------------------------------------------------------- making the trees

namespace {

class TreeMaker {
 public:
  using Parts = Descriptors::Parts;

  explicit TreeMaker(Descriptors::Parts& parts) : parts_(parts) {}

  std::vector<Finding> make() {
    make_states();
    for (const Domain& each : parts_.said) add(each);
    for (Descriptors::Tree& each : parts_.trees) {
      path_ = {each.name, "override"};
      each.override_series = series_of(each.name + ".override");
    }
    return std::move(wrong_);
  }

 private:
  void make_states() {
    for (std::size_t i = 1; i < kRateUnits; ++i) {
      Parts::State& state = parts_.states[i];
      append_state_name(period_of(static_cast<RateUnit>(i)), parts_.options.algorithm, state.name);
      state.id = short_form(state.name);
    }
    const core::Rule any = rule_of(parts_.options.algorithm, 1, std::chrono::seconds{1});
    if (auto why = parts_.options.unsuitable(any)) refuse({}, *std::move(why));
  }

  void refuse(Position place, std::string text) {
    if (wrong_.size() >= Findings::kMost) return;
    wrong_.push_back({.rule = FileRule::form,
                      .file = file_ != nullptr ? *file_ : "",
                      .place = place,
                      .path = "",
                      .text = std::move(text)});
  }

  // There, points part the places of a name, and these two letters its parts in statsd's form.
  std::string label(std::size_t place) const {
    std::string text = place < path_.size() ? path_[place] : "";
    for (char& c : text)
      if (c == '.' || c == ':' || c == '|') c = '_';
    return text;
  }

  Index series_of(const std::string& name) {
    const auto [known, fresh] = series_.emplace(name, static_cast<Index>(parts_.series.size()));
    if (!fresh) return known->second;
    parts_.series.push_back(name);
    parts_.labels.push_back({label(0), label(1), label(2)});
    return known->second;
  }

  void add(const Domain& said) {
    file_ = &said.file;
    if (said.domain.empty()) return refuse(said.place, "config file cannot have empty domain");
    const auto known = parts_.by_domain.find(said.domain);
    if (known != parts_.by_domain.end() && !parts_.options.merge_domains) {
      const Domain& first = *parts_.trees[known->second].said;
      return refuse(said.place, "duplicate domain '" + core::printable(said.domain) +
                                    "' in config file; it is in " + core::printable(first.file) + " already");
    }
    if (known == parts_.by_domain.end()) {
      parts_.by_domain.emplace(said.domain, static_cast<Index>(parts_.trees.size()));
      parts_.trees.push_back({said.domain, &said, new_node(), kNone});
    }
    const Index root = parts_.trees[parts_.by_domain.find(said.domain)->second].root;
    path_ = {said.domain};
    for (const Descriptor& each : said.descriptors) add(root, each, said.domain + ".", 1);
  }

  Index new_node() {
    parts_.nodes.emplace_back();
    return static_cast<Index>(parts_.nodes.size() - 1);
  }

  void add(Index parent, const Descriptor& said, const std::string& before, std::size_t depth) {
    if (depth > kDeepestDescriptor)
      return refuse(said.place,
                    "descriptors in each other, more than " + std::to_string(kDeepestDescriptor) + " deep");
    if (said.key.empty()) refuse(said.place, "descriptor has empty key");
    const std::string composite = said.key + (said.value.empty() ? "" : "_" + said.value);
    const std::string name = before + composite;
    const Index number = new_node();
    const auto [known, fresh] = parts_.nodes[parent].children.emplace(composite, number);
    if (!fresh && !said.key.empty()) {
      const Descriptors::Node& first = parts_.nodes[known->second];
      refuse(said.place, "duplicate descriptor composite key '" + core::printable(name) +
                             "'; the first is in " + core::printable(*first.file) + at(first.said->place));
    }
    path_.push_back(composite);
    Descriptors::Node& node = parts_.nodes[number];
    node.said = &said;
    node.file = file_;
    if (said.limit) add_limit(node, *said.limit, name);
    if (composite.find('*') != std::string::npos) {
      if (fresh) parts_.nodes[parent].patterns.emplace_back(composite, number);
      if (said.share_threshold) node.shared = composite;
    } else if (said.share_threshold) {
      refuse(said.place,
             "share_threshold can only be used with wildcard values (containing '*'), but found key '" +
                 core::printable(composite) + "'");
    }
    for (const Descriptor& each : said.descriptors) add(number, each, name + ".", depth + 1);
    path_.pop_back();
  }

  void add_limit(Descriptors::Node& node, const DescriptorLimit& said, const std::string& name) {
    node.unit = unit_named(said.unit);
    if (said.unlimited) {
      if (node.unit != RateUnit::unknown)
        refuse(said.unit_place, "should not specify rate limit unit when unlimited");
    } else if (node.unit == RateUnit::unknown) {
      refuse(said.unit_place, "invalid rate limit unit '" + core::printable(said.unit) +
                                  "'; it is one of second, minute, hour, day, week, month and year");
    }
    for (const std::string& each : said.replaces) {
      if (each.empty()) refuse(said.replaces_place, "should not have an empty replaces entry");
      if (each == said.name && !each.empty())
        refuse(said.replaces_place, "replaces should not contain name of same descriptor");
    }
    ++parts_.limits;
    node.series = series_of(name);
    if (said.unlimited || node.unit == RateUnit::unknown) return;
    const Parts::State& state = parts_.states[static_cast<std::size_t>(node.unit)];
    node.limit = parts_.limit_of(said.requests_per_unit, period_of(node.unit), state.name, state.id);
  }

  Descriptors::Parts& parts_;
  const std::string* file_ = nullptr;
  std::vector<std::string> path_;  // of what is added: the domain, and each place below it
  ByText<Index> series_;
  std::vector<Finding> wrong_;
};

}  // namespace

Descriptors::Descriptors() : parts_(std::make_unique<Parts>()) {}
Descriptors::~Descriptors() = default;

tl::expected<std::shared_ptr<const Descriptors>, std::vector<Finding>> Descriptors::make(
    std::vector<Domain> said, const DescriptorOptions& options) {
  std::shared_ptr<Descriptors> made(new Descriptors);
  made->parts_->said = std::move(said);
  made->parts_->options = options;
  std::vector<Finding> wrong = TreeMaker(*made->parts_).make();
  if (!wrong.empty()) return tl::unexpected(std::move(wrong));
  return made;
}

const Descriptors::Tree* Descriptors::find(std::string_view domain) const {
  const auto found = parts_->by_domain.find(domain);
  return found == parts_->by_domain.end() ? nullptr : &parts_->trees[found->second];
}

std::size_t Descriptors::domains() const { return parts_->trees.size(); }
std::size_t Descriptors::limits() const { return parts_->limits; }
const std::vector<std::string>& Descriptors::series() const { return parts_->series; }
const std::vector<Descriptors::Labels>& Descriptors::labels() const { return parts_->labels; }

void Descriptors::append_text(std::string& out) const {
  const auto switched = [](bool on) { return on ? "true" : "false"; };
  for (const Node& each : parts_->nodes) {
    if (each.series == kNone || !each.said->limit) continue;
    out += parts_->series[each.series] + ": unit=" + std::string(name_of(each.unit)) +
           " requests_per_unit=" + std::to_string(each.said->limit->requests_per_unit) +
           ", shadow_mode: " + switched(each.said->shadow_mode) +
           ", quota_mode: " + switched(each.said->quota_mode) + "\n";
  }
}

// ------------------------------------------------------------------------------------------------ matching

const Descriptors::Node* Descriptors::Parts::walk(const Tree& domain,
                                                  std::span<const DescriptorEntry> entries,
                                                  DescriptorMatch::Memory& memory) const {
  const Node* node = &nodes[domain.root];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const DescriptorEntry& entry = entries[i];
    std::string& composite = memory.composite;
    composite.assign(entry.key).append(1, '_').append(entry.value);
    auto found = node->children.find(composite);
    if (found == node->children.end()) {
      const auto first = std::find_if(
          node->patterns.begin(), node->patterns.end(),
          [&composite](const auto& each) { return core::matches_pattern(each.first, composite); });
      if (first != node->patterns.end()) {
        node = &nodes[first->second];
        std::string_view pattern = node->shared;
        composite.resize(entry.key.size() + 1);
        if (pattern.starts_with(composite)) pattern.remove_prefix(composite.size());
        memory.shared[i] = pattern;
        continue;
      }
      found = node->children.find(entry.key);
    }
    if (found == node->children.end()) return nullptr;
    node = &nodes[found->second];
  }
  return node;
}

void Descriptors::Parts::write_key(const Tree& domain, std::span<const DescriptorEntry> entries,
                                   DescriptorMatch& into) {
  into.key.clear();
  append_part(domain.name, into);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    append_part(entries[i].key, into);
    const std::string_view pattern = into.memory.shared[i];
    append_part(pattern.empty() ? entries[i].value : pattern, into);
  }
}

void Descriptors::Parts::meet(const Node& node, DescriptorMeets& into) const {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a node that is met has one
  const DescriptorLimit& rate_limit = *node.said->limit;
  into.shadow_mode = node.said->shadow_mode;
  into.quota_mode = node.said->quota_mode;
  into.name = series[node.series];
  into.series = node.series;
  into.limit_name = rate_limit.name;
  into.replaces = rate_limit.replaces;
  if (node.said->metadata.kind == Metadata::Kind::map) into.metadata = &node.said->metadata;
  if (rate_limit.unlimited) {
    into.outcome = DescriptorMeets::Outcome::unlimited;
    return;
  }
  into.unit = node.unit;
  into.requests_per_unit = rate_limit.requests_per_unit;
  into.period = period_of(node.unit);
  into.limit = &*node.limit;  // NOLINT(bugprone-unchecked-optional-access): made with it
}

void Descriptors::Parts::meet_override(const Tree& domain, const DescriptorOverride& asked,
                                       DescriptorMatch& into) const {
  const nanoseconds unit = period_of(asked.unit);
  if (unit.count() == 0 || asked.unit_multiplier == 0 || asked.unit_multiplier > kLongestPeriod / unit) {
    into.outcome = DescriptorMeets::Outcome::bad_override;
    return;
  }
  into.is_override = true;
  into.requests_per_unit = asked.requests_per_unit;
  into.period = unit * asked.unit_multiplier;
  into.unit = asked.unit_multiplier == 1 ? asked.unit : RateUnit::unknown;
  into.name = series[domain.override_series];
  into.series = domain.override_series;
  DescriptorMatch::Memory& memory = into.memory;
  if (into.unit == RateUnit::unknown) {
    memory.unit_text.clear();
    core::append_window(into.period, memory.unit_text);
    into.unit_text = memory.unit_text;
  }
  if (const RateUnit known = unit_of(into.period); known != RateUnit::unknown) {
    const State& state = states[static_cast<std::size_t>(known)];
    memory.limit = limit_of(asked.requests_per_unit, into.period, state.name, state.id);
  } else {
    memory.name.clear();
    append_state_name(into.period, options.algorithm, memory.name);
    memory.limit = limit_of(asked.requests_per_unit, into.period, memory.name, short_form(memory.name));
  }
  into.limit = &*memory.limit;
}

void Descriptors::match(const Tree& domain, std::span<const DescriptorEntry> entries,
                        const DescriptorOverride* override, DescriptorMatch& into) const {
  using Outcome = DescriptorMeets::Outcome;
  static_cast<DescriptorMeets&>(into) = {};
  into.memory.shared.assign(entries.size(), {});
  if (override != nullptr) {
    parts_->meet_override(domain, *override, into);
    if (into.outcome == Outcome::bad_override) return;
  } else {
    const Node* const node = parts_->walk(domain, entries, into.memory);
    if (node == nullptr || node->series == kNone) return;
    parts_->meet(*node, into);
    if (into.outcome == Outcome::unlimited) return;
  }
  into.outcome = into.requests_per_unit == 0 ? Outcome::zero : Outcome::limited;
  Parts::write_key(domain, entries, into);
}

}  // namespace weir::limits
