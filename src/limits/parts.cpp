#include "limits/parts.hpp"

#include <algorithm>
#include <limits>

#include "core/duration.hpp"
#include "core/printable.hpp"
#include "limits/file_keys.hpp"
#include "limits/lists.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::string_view kUnlimited = "unlimited";

bool read_rule(Context& context, const FileField& field, core::Rule& rule) {
  auto read = core::Rule::parse(field.text());
  if (read) {
    rule = *read;
    return true;
  }
  const bool of_burst = read.error().find("': burst: ") != std::string::npos;
  context.error(of_burst ? FileRule::burst : FileRule::rate, field, std::move(read.error()));
  return false;
}

std::string periods_of(const std::vector<Window>& windows) {
  std::string text;
  for (const Window& window : windows) text += (text.empty() ? "" : ", ") + period_text(window.rule);
  return text;
}

// What an override says of one window, or of all: the period, whose rule is there unless it is lifted.
struct Change {
  bool whole = false;  // it is right
  bool lifted = false;
  bool all = false;
  std::chrono::nanoseconds period{0};
  core::Rule rule{Quota::per_second(1)};
};

Change read_change(Context& context, const FileField& item) {
  Change change;
  const std::string_view text = item.text();
  if (text == kUnlimited) {
    change.whole = change.lifted = change.all = true;
  } else if (text.starts_with(kUnlimited) && text.substr(kUnlimited.size()).starts_with('/')) {
    const auto period = core::parse_period(text.substr(kUnlimited.size() + 1));
    change.lifted = true;
    change.whole = period && period->count() > 0;
    if (change.whole) change.period = *period;
    if (!change.whole)
      context.error(FileRule::rate, item,
                    in_quotes(text) + " names no period; write unlimited/day, or unlimited for all windows");
  } else {
    change.whole = read_rule(context, item, change.rule);
    change.period = change.rule.quota.rate().period;
  }
  return change;
}

// In thousandths.
Read<std::uint32_t> read_growing(std::string_view text) {
  constexpr std::int64_t kMost = 1000;
  const core::ScaledNumber read = core::parse_scaled(text, std::chrono::milliseconds{1});
  const std::int64_t millionths = read.value.count();
  if (read.fault == core::NumberFault::none && millionths >= 1'000'000 && millionths <= kMost * 1'000'000 &&
      millionths % 1000 == 0)
    return static_cast<std::uint32_t>(millionths / 1000);
  return tl::unexpected(in_quotes(text) + " is not a number from 1 to 1000 with at most three decimals");
}

void read_rest(Context& context, const FileField& field, std::chrono::nanoseconds& time) {
  if (read_text(context, field, time, read_time_span) && time > Pause::kLongest)
    context.error(FileRule::penalty, field, above(field, Pause::kLongest));
}

}  // namespace

std::string period_text(const core::Rule& rule) {
  if (rule.calendar != nullptr) return core::period_name(rule);
  const std::string text = core::to_text(core::Rule{rule.quota});
  const std::string rate = text.substr(text.find('/') + 1);
  return rate.substr(0, rate.find(' '));
}

bool read_windows(Context& context, const FileField& rate, std::vector<Window>& windows) {
  const std::vector<FileField> items = texts_of(context, rate);
  bool right = rate.node->kind == YamlNode::Kind::text || items.size() == rate.node->members.size();
  if (rate.node->kind == YamlNode::Kind::list && rate.node->members.empty())
    context.error(FileRule::rate, rate, "the list is empty; write a rate such as 10/s burst 20");
  for (const FileField& item : items) {
    core::Rule rule{Quota::per_second(1)};
    if (item.text() == kUnlimited) {
      context.error(FileRule::rate, item,
                    "'unlimited' is for overrides; a limit without a rate has deny or allow");
      right = false;
      continue;
    }
    if (!read_rule(context, item, rule)) {
      right = false;
      continue;
    }
    const auto period = rule.quota.rate().period;
    const auto same = std::find_if(windows.begin(), windows.end(),
                                   [period](const Window& each) { return each.period() == period; });
    if (same != windows.end()) {
      context.error(FileRule::rate, item,
                    in_quotes(item.text()) + " has the period of " + in_quotes(core::to_text(same->rule)) +
                        "; the windows of a limit differ in their periods");
      right = false;
      continue;
    }
    windows.push_back({rule, item.place()});
  }
  if (windows.size() > kMostWindows)
    context.error(
        FileRule::bounds, rate,
        std::to_string(windows.size()) + " windows; a limit has at most " + std::to_string(kMostWindows));
  return right && !windows.empty();
}

std::vector<WindowChange> read_changes(Context& context, const FileField& rate,
                                       const std::vector<Window>& windows) {
  std::vector<WindowChange> changes;
  for (const FileField& item : texts_of(context, rate)) {
    const Change change = read_change(context, item);
    if (!change.whole) continue;
    bool found = false;
    for (Index i = 0; i < windows.size(); ++i) {
      if (!change.all && windows[i].period() != change.period) continue;
      found = true;
      const Algorithm algorithm = windows[i].rule.algorithm;
      if (!change.lifted && change.rule.algorithm != algorithm) {
        context.error(FileRule::override_window, item,
                      in_quotes(item.text()) + " counts by " + core::name_of(change.rule.algorithm) +
                          "; the limit's window counts by " + core::name_of(algorithm));
      } else if (std::any_of(changes.begin(), changes.end(),
                             [i](const WindowChange& each) { return each.window == i; })) {
        context.error(FileRule::rate, item,
                      in_quotes(item.text()) + " is a second rate for one window of the limit");
        break;
      } else {
        changes.push_back({i, change.lifted, change.rule, item.place()});
      }
    }
    if (!found && !windows.empty())
      context.error(FileRule::override_window, item,
                    in_quotes(item.text()) +
                        " is for a window that the limit does not have; its periods: " + periods_of(windows));
  }
  if (rate.node->kind == YamlNode::Kind::list && rate.node->members.empty())
    context.error(FileRule::rate, rate, "the list is empty; write a rate, or unlimited");
  return changes;
}

Leave read_leave(Context& context, const FileField& leave) {
  Leave read;
  if (!is_map(context, leave)) return read;
  if (context.classes_wrong) return read;
  const std::vector<std::string>& classes = context.classes.all();
  if (classes.empty()) {
    context.error_at_key(FileRule::classes, leave, "the file has no classes");
    return read;
  }
  std::vector<FileField> given(classes.size());
  for (const Member& member : leave.node->members) {
    const Index index = context.classes.find(member.key);
    const FileField field{&member.value, leave.path + "." + core::printable(member.key.substr(0, 64)),
                          member.place, leave.rule};
    if (index == kNone) {
      context.error_at_key(FileRule::classes, field,
                           "no class is called " + in_quotes(member.key) + meant(member.key, classes));
    } else if (index == 0) {
      context.error_at_key(FileRule::classes, field, "the most important class leaves nothing free");
    } else {
      given[index] = field;
    }
  }
  read.place = leave.key;
  read.shares.resize(classes.size());
  for (std::size_t i = 1; i < classes.size(); ++i) {
    read.shares[i] = read.shares[i - 1];
    Share share;
    if (!given[i] || !read_text(context, given[i], share, read_share)) continue;
    if (share.millionths == Share::kWhole) {
      context.error(FileRule::classes, given[i],
                    "'100%' would let the class pass nothing; below 100% is allowed");
    } else if (share < read.shares[i - 1]) {
      context.error(FileRule::classes, given[i],
                    in_quotes(given[i].text()) + " is less than the " + to_text(read.shares[i - 1]) + " of " +
                        classes[i - 1] + ", which is more important");
    } else {
      read.shares[i] = share;
    }
  }
  return read;
}

Reserve read_reserve(Context& context, const FileField& reserve) {
  Reserve read;
  if (!read_text(context, reserve, read.share, read_share)) return read;
  if (read.share.millionths == Share::kWhole)
    context.error(FileRule::classes, reserve,
                  "'100%' would leave nothing to requests outside a guarantee; below 100% is allowed");
  read.place = reserve.place();
  return read;
}

Guarantee read_guarantee(Context& context, const FileField& guarantee) {
  Guarantee read;
  if (!is_text(context, guarantee) || !read_rule(context, guarantee, read.rule)) return read;
  if (!core::has_burst(read.rule.algorithm)) {
    context.error(FileRule::of_gcra, guarantee,
                  "a guarantee counts by gcra, not by " + core::name_of(read.rule.algorithm));
    return {};
  }
  read.place = guarantee.place();
  return read;
}

CostRule read_cost(Context& context, const FileField& cost) {
  CostRule read;
  const auto integer = [](std::string_view text) { return read_integer(text, 0, kMostUnits); };
  if (cost.node->kind == YamlNode::Kind::map) {
    const Map map(context, cost, keys::kCost);
    const FileField from = map["from"];
    if (!from) {
      context.error_at_key(FileRule::form, cost,
                           "missing from; a cost is a number, [{ when, cost }] or { from: ATTRIBUTE }");
    } else if (is_text(context, from)) {
      judge_attribute(context, from, from.place(), from.text());
      read.from = from.text();
      read.place = cost.key;
    }
    return read;
  }
  if (cost.node->kind != YamlNode::Kind::list) {
    CostCase only{{}, 1, cost.place()};
    if (!read_text(context, cost, only.cost, integer)) return read;
    read.cases.push_back(only);
    read.place = cost.place();
    return read;
  }
  if (cost.node->members.empty())
    context.error(FileRule::form, cost, "the list is empty; write a number, or [{ when, cost }]");
  const FileField* rest = nullptr;
  const std::vector<FileField> items = items_of(cost);
  for (const FileField& item : items) {
    if (!is_map(context, item)) continue;
    const Map map(context, item, keys::kCostCase);
    CostCase one{{}, 1, item.place()};
    if (rest != nullptr)
      context.error(
          FileRule::reached, item,
          "cannot be reached: the cost on line " + std::to_string(rest->place().line) + " has no when");
    if (const FileField when = map["when"]) {
      one.when = read_when(context, when);
    } else if (rest == nullptr) {
      rest = &item;
    }
    if (const FileField units = map["cost"]) {
      read_text(context, units, one.cost, integer);
      one.place = units.place();
    } else {
      context.error(FileRule::form, item, "missing cost");
    }
    read.cases.push_back(std::move(one));
  }
  read.place = cost.key;
  return read;
}

void read_end(Context& context, const FileField& field, std::string_view text, Time& end) {
  auto read = read_time(text);
  if (!read) {
    context.error(FileRule::form, field, std::move(read.error()));
    return;
  }
  end = *read;
  if (end <= context.options.now)
    context.findings.add(context.options.past, FileRule::past, field.place(), field.path,
                         std::string(text) + " is in the past: it is now " + to_text(context.options.now));
}

std::string above(const FileField& field, std::chrono::nanoseconds most) {
  return "'" + field.text() + "' is above the maximum (" + core::to_text(most) + ")";
}

Penalty read_penalty(Context& context, const FileField& field) {
  Penalty penalty{.place = field.place()};
  core::PenaltyTerms& rest = penalty.rest;
  if (field.node->kind != YamlNode::Kind::map) {
    read_rest(context, field, rest.time);
    return penalty;
  }
  const Map map(context, field, keys::kPenalty);
  penalty.place = field.key;
  const FileField time = map["for"];
  if (!time) {
    context.error_at_key(FileRule::form, field, "missing for: how long a key rests the first time");
    return penalty;
  }
  read_rest(context, time, rest.time);
  if (const FileField growing = map["growing"]) {
    read_text(context, growing, rest.growing, read_growing);
    rest.most = Pause::kLongest;
    if (rest.grows() && rest.time.count() == 0)
      context.error(FileRule::penalty, time, "'" + time.text() + "' does not grow");
  }
  if (const FileField most = map["most"]) {
    read_rest(context, most, rest.most);
    if (!map["growing"]) {
      context.error(FileRule::penalty, most, "nothing grows: write growing: 2");
    } else if (rest.most < rest.time) {
      context.error(FileRule::penalty, most,
                    "'" + most.text() + "' is shorter than for ('" + time.text() + "')");
    }
  }
  if (const FileField then = map["then"]; then && is_text(context, then)) {
    rest.afresh = then.text() == "afresh";
    if (!rest.afresh) context.error(FileRule::form, then, in_quotes(then.text()) + " is none of: afresh");
  }
  return penalty;
}

}  // namespace weir::limits
