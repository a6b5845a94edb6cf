// A limits file, compiled: what match() decides by. It says of a request which limits it meets, under which
// numbers and keys; a store then counts.
//
// Immutable, any thread; a reload makes another one. It owns the file that it was made of. Not for: reading
// the file (read.hpp), counting (store/store.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limits/attribute_names.hpp"
#include "limits/conditions.hpp"
#include "limits/file.hpp"
#include "limits/finding.hpp"
#include "limits/values.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::limits {

// What the file leaves to the program.
struct SetOptions {
  OnStoreError on_store_error = OnStoreError::local;
  store::Sharing sharing{};
  // How far the clock that windows go by is ahead of the one that requests are decided by.
  std::chrono::nanoseconds wall{0};
  // The clock that calendars go by, which must live as long as anything is decided; null: `wall` ahead too.
  const core::ClockFunction* utc_clock = nullptr;
  // The longest that anybody may wait: no limit may say more.
  std::chrono::nanoseconds max_wait = std::chrono::nanoseconds::max();
  // Of rules whose keys are to be paused, why the store cannot; null: it can.
  std::function<std::optional<std::string>(const core::Rule&)> cannot_pause{};
  // Why the store cannot count by a rule, if it cannot.
  std::function<std::optional<std::string>(const core::Rule&)> unsuitable = [](const core::Rule&) {
    return std::nullopt;
  };
  // The value of an environment variable, for the tokens of gateways. Without it they are not looked up, for
  // nobody asks at a gate.
  std::function<std::optional<std::string>(const std::string& name)> environment{};
  // Others than this machine's own programs and those that show a certificate can ask at the gate: there a
  // gateway must have a token.
  bool gate_exposed = false;
};

class Set {
 public:
  static constexpr std::size_t kMostWindows = 8;

  // How much a unit of a request costs.
  struct Cost {
    Index from = kNone;  // the attribute that says it
    std::vector<std::pair<Conditions, std::uint64_t>> cases;
  };
  struct Window {
    store::Limit limit;
    Index number = 0;  // NamedLimit::windows
  };
  struct Change {
    Index window = 0;
    bool lifted = false;
    store::Limit limit;
  };
  // The change of that window, or null.
  static const Change* change_of(std::span<const Change> all, Index window) {
    for (const Change& each : all)
      if (each.window == window) return &each;
    return nullptr;
  }
  struct Override {
    Conditions when;
    Time until = kNever;
    std::vector<Change> windows;
    std::optional<std::vector<Share>> leave;  // one for each class
    std::optional<Share> reserve;
    std::optional<store::Limit> guarantee;
    std::optional<Cost> cost;
    std::optional<core::PenaltyTerms> penalty;
  };
  struct KeyPart {
    Index attribute;
    core::Prefixes group;
  };
  struct CompiledLimit {
    const NamedLimit* said = nullptr;
    std::uint64_t shown_as = 0;  // of its identity and its `by`: limits with the same show keys alike
    std::vector<KeyPart> by;
    Index tag = kNone;  // which of `by` says where its keys lie in a shared store
    std::vector<Window> windows;
    std::vector<Share> leave;  // one for each class, or none
    Share reserve;
    std::optional<store::Limit> guarantee;
    bool guarantees = false;  // a child of it has a guarantee, or an override that gives it one
    Cost cost;
    Conditions deny;
    Conditions allow;
    std::vector<Override> overrides;
    Candidates candidates;  // among the overrides
    // It has windows, and nothing of a request but the values of `by` makes a difference to it.
    bool plain = false;
  };
  struct Route {
    const limits::Route* said = nullptr;
    Conditions when;
  };
  struct Gateway {
    const limits::Gateway* said = nullptr;
    std::string token;  // that it has to show; empty: none
  };

  // Refused: rules that the store cannot count; and two identities whose short forms are equal, which
  // practically never happens.
  static tl::expected<std::shared_ptr<const Set>, std::vector<Finding>> make(std::shared_ptr<const File> file,
                                                                             const SetOptions& setting);
  // It is viewed from within.
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

  const File& file() const { return *file_; }
  // Each set of this process has another, and a later one a greater.
  std::uint64_t serial() const { return serial_; }
  const AttributeNames& names() const { return names_; }
  const std::vector<CompiledLimit>& limits() const { return limits_; }
  const std::vector<Route>& routes() const { return routes_; }
  // Whether a request may have any attribute, or that one, which nothing here goes by; and a sentence about
  // one that it may not have.
  bool takes_any_attribute() const { return attributes_.empty(); }
  bool knows_attribute(std::string_view name) const;
  std::string unknown_attribute(std::string_view name) const;
  // Null: the file has none of that name; and a sentence that says so.
  const CompiledLimit* find(std::string_view name) const;
  std::string unknown(std::string_view name) const;
  // Null: the file has none of that name.
  const Gateway* gateway(std::string_view name) const;
  const RlsDomain* rls(std::string_view domain) const;
  const Candidates& route_candidates() const { return route_candidates_; }
  // Whether any limit tracks what its keys use; and which one has that state, by store::Limit::id. kNone:
  // none that does.
  bool tracks() const { return !tracked_.empty(); }
  Index tracked(std::uint64_t state) const {
    const auto found = tracked_.find(state);
    return found == tracked_.end() ? kNone : found->second;
  }
  // Whether what time it is makes a difference.
  bool has_dates() const { return has_dates_; }
  // Why the store cannot count by a rule, if it cannot.
  std::optional<std::string> unsuitable(const core::Rule& rule) const { return unsuitable_(rule); }
  // What counts a window of a limit by another rule, which has the window's period and algorithm.
  store::Limit with_rule(const CompiledLimit& limit, Index window, const core::Rule& rule) const;

  // The windows of limits that both have and that are counted afresh here, in sentences: another algorithm,
  // period or `by` is another state.
  std::vector<std::string> begins_empty_after(const Set& before) const;

 private:
  explicit Set(std::shared_ptr<const File> file);
  void compile(const SetOptions& setting);
  void compile(const NamedLimit& said, const SetOptions& setting);
  store::Limit count(const NamedLimit& said, const core::Rule& rule, std::string_view state, Position place,
                     const SetOptions& setting);
  void compile(const limits::Gateway& said, const SetOptions& setting);
  void refuse(std::string path, Position place, std::string text);
  Cost compile(const CostRule& said);

  std::shared_ptr<const File> file_;
  std::vector<ValueSet> lists_;
  AttributeNames names_;
  std::vector<std::string_view> attributes_;  // File::attributes, in order
  std::vector<CompiledLimit> limits_;
  std::vector<Route> routes_;
  std::vector<Gateway> gateways_;
  Candidates route_candidates_;
  bool has_dates_ = false;
  std::function<std::optional<std::string>(const core::Rule&)> unsuitable_;
  std::unordered_map<std::uint64_t, Index> tracked_;
  const std::uint64_t serial_;
  std::vector<Finding> wrong_;
  std::unordered_map<std::string, std::uint64_t> identities_;  // that store::Limit::name views; their ids
};

}  // namespace weir::limits
