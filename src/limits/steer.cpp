#include "limits/steer.hpp"

#include <algorithm>

#include "limits/file_field.hpp"
#include "limits/guarantees.hpp"
#include "limits/lists.hpp"
#include "limits/match.hpp"
#include "limits/parts.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

std::string first_error(Findings& findings) {
  for (Finding& each : findings.take())
    if (each.severity == Severity::error) return std::move(each.text);
  return {};
}

// As a `when` of the file, but for lists, which an operator does not name: here '@' is a letter.
tl::expected<When, std::string> read_selector(const Set& set,
                                              std::span<const std::pair<std::string, std::string>> said) {
  if (said.size() > kMostAttributes)
    return tl::unexpected(std::to_string(said.size()) + " attributes; at most " +
                          std::to_string(kMostAttributes));
  When when;
  for (const auto& [name, value] : said) {
    if (std::string wrong = wrong_attribute(name); !wrong.empty()) return tl::unexpected(std::move(wrong));
    if (!set.takes_any_attribute() && !set.knows_attribute(name) && set.names().find(name) == kNone)
      return tl::unexpected(set.unknown_attribute(name));
    if (std::any_of(when.begin(), when.end(),
                    [its = std::string_view(name)](const Condition& each) { return each.attribute == its; }))
      return tl::unexpected("attribute " + in_quotes(name) + " is given twice");
    ReadEntry read = read_entry(value, {});
    if (!read.wrong.empty()) return tl::unexpected(name + ": " + std::move(read.wrong));
    when.push_back({name, {std::move(read.entry)}, {}, {}});
  }
  return when;
}

// As `rate` of an override in the file.
tl::expected<std::vector<WindowChange>, std::string> read_rates(const NamedLimit& limit,
                                                                std::span<const std::string> rates) {
  std::vector<Window> windows = limit.windows;
  std::erase_if(windows, [](const Window& each) { return each.is_slots(); });
  if (windows.empty()) return tl::unexpected(std::string("the limit has no rate"));
  YamlNode node;
  node.kind = YamlNode::Kind::list;
  for (const std::string& each : rates)
    node.members.push_back({"", {}, {YamlNode::Kind::text, {}, each, {}}});
  const ReadOptions options;
  File file;
  Findings findings("");
  Context context{options, file, findings};
  std::vector<WindowChange> changes = read_changes(context, {&node, "rate"}, windows);
  if (std::string wrong = first_error(findings); !wrong.empty()) return tl::unexpected(std::move(wrong));
  return changes;
}

struct InForce {
  bool lifted = false;
  core::Rule rule{Quota::per_second(1)};
};

// With the burst of gcra, of which one may be below the other while the rates are equal.
std::string text_of(const InForce& numbers) {
  if (numbers.lifted) return "unlimited";
  std::string text = core::to_text(numbers.rule);
  if (core::has_burst(numbers.rule.algorithm) && text.find(" burst ") == std::string::npos)
    text += " burst " + std::to_string(numbers.rule.quota.burst());
  return text;
}

// For a request that says the words of the selector and nothing else: of a pattern the pattern itself, of a
// network its first address.
class Selected {
 public:
  Selected(const Steered& steered, const SteeredOverride& wanted, Time now)
      : steered_(steered), limit_(steered.set().limits()[wanted.limit]), now_(now) {
    values_.resize(steered.names().size());
    texts_.reserve(wanted.when.size());
    for (const Condition& each : wanted.when) {
      const ListEntry& entry = each.entries.front();
      const Index number = steered.names().find(each.attribute);
      if (number == kNone) continue;  // nothing goes by it yet
      std::string text = entry.text;
      if (entry.kind == ListEntry::Kind::network) text = text.substr(0, text.find('/'));
      values_[number].set(texts_.emplace_back(std::move(text)));
    }
  }

  InForce in_force(Index window) const {
    InForce found{false, limit_.windows[window].limit.rule};
    const auto take = [&found](const Set::Change& change) { found = {change.lifted, change.limit.rule}; };
    for (const Set::Override& each : limit_.overrides) {
      if (now_ >= each.until || !each.when.hold(values_)) continue;
      if (const Set::Change* const change = Set::change_of(each.windows, window)) take(*change);
    }
    const SteeredOverride* last = nullptr;
    steered_.find(static_cast<Index>(&limit_ - steered_.set().limits().data()), values_,
                  [&](const SteeredOverride& each) {
                    if (now_ < each.until && Set::change_of(each.windows, window) != nullptr &&
                        (last == nullptr || each.number > last->number))
                      last = &each;
                  });
    if (last != nullptr) take(*Set::change_of(last->windows, window));
    return found;
  }

 private:
  const Steered& steered_;
  const Set::CompiledLimit& limit_;
  Time now_;
  std::vector<std::string> texts_;
  std::vector<AttributeValue> values_;
};

// Whether the first has less of something than the second.
bool is_below(const InForce& a, const InForce& b) {
  if (a.lifted || b.lifted) return b.lifted && !a.lifted;
  const Quota& mine = a.rule.quota;
  const Quota& other = b.rule.quota;
  return mine.rate().count < other.rate().count || mine.burst() < other.burst();
}

std::optional<std::string> refuses_guarantees(const Set& set, const SteeredOverride& wanted) {
  File file = set.file();
  NamedLimit& limit = file.limits[wanted.limit];
  Override change;
  change.when = wanted.when;
  change.until = wanted.until;
  for (const Set::Change& each : wanted.windows)
    change.windows.push_back({each.window, each.lifted, each.limit.rule, limit.place});
  change.place = limit.place;
  limit.overrides.push_back(std::move(change));
  Findings findings("");
  judge_guarantees(file, findings);
  std::string wrong = first_error(findings);
  if (wrong.empty()) return std::nullopt;
  return limit.name + ": " + wrong;
}

}  // namespace

tl::expected<SteeredOverride, WrongSteer> compile_steer(const Set& set, const Set::CompiledLimit& limit,
                                                        const SteerWords& words) {
  SteeredOverride made;
  made.what = words.what;
  made.limit = static_cast<Index>(&limit - set.limits().data());
  auto when = read_selector(set, words.when);
  if (!when) return tl::unexpected(WrongSteer{std::move(when.error()), "when"});
  made.when = *std::move(when);
  if (words.what != Steer::raise && words.what != Steer::lower) return made;
  const auto changes = read_rates(*limit.said, words.rates);
  if (!changes) return tl::unexpected(WrongSteer{changes.error(), "rate"});
  for (const WindowChange& each : *changes) {
    const core::Rule& rule = each.lifted ? limit.said->windows[each.window].rule : each.rule;
    if (auto why = set.unsuitable(rule)) return tl::unexpected(WrongSteer{*std::move(why), "rate"});
    made.windows.push_back({each.window, each.lifted, set.with_rule(limit, each.window, rule)});
  }
  return made;
}

std::optional<std::string> refuses_to_steer(const Steered& steered, const SteeredOverride& wanted, Time now) {
  const Set& set = steered.set();
  const Set::CompiledLimit& limit = set.limits()[wanted.limit];
  const Selected selected(steered, wanted, now);
  const bool raises = wanted.what == Steer::raise;
  for (const Set::Change& each : wanted.windows) {
    const InForce before = selected.in_force(each.window);
    const InForce after{each.lifted, each.limit.rule};
    if (!(raises ? is_below(after, before) : is_below(before, after))) continue;
    std::string text = limit.said->name + ", ";
    core::append_window(limit.said->windows[each.window].rule, text);
    return text + ": " + text_of(after) + (raises ? " is lower than " : " is higher than ") +
           text_of(before) + (raises ? ": use WEIR.LOWER" : ": use WEIR.RAISE");
  }
  if (limit.guarantees && !wanted.windows.empty()) return refuses_guarantees(set, wanted);
  return std::nullopt;
}

}  // namespace weir::limits
