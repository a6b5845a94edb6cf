#include "service/decision_metrics.hpp"

#include <functional>
#include <string>
#include <utility>

#include "core/duration.hpp"

namespace weir::inline v0_1::service {
namespace {

// As RateLimit fields call it.
std::string window_text(const core::Rule& rule) {
  std::string text;
  core::append_window(rule, text);
  return text;
}

using Counted = DecisionCounts::Counted;
using Said = DecisionCounts::Said;

constexpr std::string_view kInline = "inline";

struct Row {
  std::string_view limit;
  const Counted& counted;
};

void write_verdicts(Exposition& to, const std::vector<Row>& rows, const std::vector<std::string>& classes,
                    std::size_t usual) {
  to.family(
      Exposition::Kind::counter, "weir_decisions_total",
      "Requests by what a limit said of them; `listed`: its deny list or a ban; `would_deny`: in shadow");
  for (const Row& row : rows) {
    const bool named = row.limit != kInline;
    for (std::size_t said = 0; said < DecisionCounts::kSaid.size(); ++said) {
      const auto& numbers = row.counted.decisions[said];
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        // So that a rate has a beginning, the two that nearly every limit comes to are there from the start.
        const bool expected = said <= static_cast<std::size_t>(Said::denied) && i == (named ? usual : 0);
        if (numbers[i] == 0 && !expected) continue;
        const std::string_view class_name = named && i < classes.size() ? std::string_view(classes[i]) : "";
        to.sample({{"limit", row.limit}, {"verdict", DecisionCounts::kSaid[said]}, {"class", class_name}},
                  numbers[i]);
      }
    }
  }
}

void write_costs(Exposition& to, const std::vector<Row>& rows) {
  to.family(Exposition::Kind::counter, "weir_cost_total",
            "Units that requests asked for, by what the limit said of them");
  for (const Row& row : rows) {
    for (std::size_t said = 0; said < DecisionCounts::kSaid.size(); ++said) {
      if (said == static_cast<std::size_t>(Said::listed)) continue;
      if (row.counted.cost[said] == 0 && said > static_cast<std::size_t>(Said::denied)) continue;
      to.sample({{"limit", row.limit}, {"verdict", DecisionCounts::kSaid[said]}}, row.counted.cost[said]);
    }
  }
}

void write_number(Exposition& to, const std::vector<Row>& rows, std::string_view name, std::string_view help,
                  std::uint64_t Counted::* number) {
  to.family(Exposition::Kind::counter, name, help);
  for (const Row& row : rows) to.sample({{"limit", row.limit}}, row.counted.*number);
}

void write_fallbacks(Exposition& to, const std::vector<Row>& rows, const std::vector<std::string>& causes) {
  to.family(Exposition::Kind::counter, "weir_fallback_total",
            "Requests that the fallback decided, by why the shared store did not");
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < causes.size(); ++i) {
      if (row.counted.fallbacks[i] > 0)
        to.sample({{"limit", row.limit}, {"cause", causes[i]}}, row.counted.fallbacks[i]);
    }
  }
}

}  // namespace

void write_decisions(Exposition& to, const std::vector<ProtocolCounts>& protocols, const limits::Set* set) {
  DecisionCounts::Total total;
  std::vector<core::Histogram::Total> times;
  for (const ProtocolCounts& protocol : protocols) {
    total.took = {};
    for (const DecisionCounts* loop : protocol.loops) loop->add_to(total);
    times.push_back(total.took);
  }
  static const std::vector<std::string> kNoClasses;
  const std::vector<std::string>& classes = set != nullptr ? set->file().classes : kNoClasses;
  const limits::Index usual = set != nullptr ? set->file().default_class : limits::kNone;
  std::vector<Row> rows{{kInline, total.inline_limits}};
  // A limit that nobody has met yet is there too.
  if (set != nullptr) {
    for (const limits::NamedLimit& each : set->file().limits)
      rows.push_back({each.name, total.limits[each.name]});
  }
  write_verdicts(to, rows, classes, usual < classes.size() ? usual : 0);
  write_costs(to, rows);
  write_number(to, rows, "weir_near_limit_total", "Requests that were allowed and left less than a fifth",
               &Counted::near);
  write_number(to, rows, "weir_skipped_total",
               "Requests that did not meet the limit, as an attribute was missing", &Counted::skipped);
  write_fallbacks(to, rows, total.causes);
  to.family(Exposition::Kind::histogram, "weir_decision_seconds",
            "From when the bytes of a request had arrived until its answer was made");
  for (std::size_t i = 0; i < protocols.size(); ++i)
    to.sample({{"protocol", protocols[i].protocol}}, times[i]);
}

void write_limits(Exposition& to, const limits::Set& set) {
  const auto each_window =
      [&](const std::function<void(std::string_view, const std::string&, const Quota&)>& tell) {
        for (const limits::NamedLimit& limit : set.file().limits) {
          for (const limits::Window& window : limit.windows)
            if (!window.is_slots()) tell(limit.name, window_text(window.rule), window.rule.quota);
        }
      };
  to.family(Exposition::Kind::gauge, "weir_limit_rate",
            "Units a second that the limit admits in the long run");
  each_window([&](std::string_view limit, const std::string& window, const Quota& quota) {
    const std::chrono::duration<double> period = quota.rate().period;
    to.sample({{"limit", limit}, {"window", window}},
              static_cast<double>(quota.rate().count) / period.count());
  });
  to.family(Exposition::Kind::gauge, "weir_limit_burst", "Units that the limit admits at once");
  each_window([&](std::string_view limit, const std::string& window, const Quota& quota) {
    to.sample({{"limit", limit}, {"window", window}}, static_cast<std::uint64_t>(quota.burst()));
  });
}

namespace {

void write_slots(Exposition& to, const limits::Set& set,
                 const std::unordered_map<std::uint64_t, std::uint64_t>& numbers) {
  for (const limits::Set::CompiledLimit& limit : set.limits()) {
    if (limit.said->slots.place.line == 0) continue;
    const auto found = numbers.find(limit.windows.back().limit.id);
    to.sample({{"limit", limit.said->name}}, found != numbers.end() ? found->second : std::uint64_t{0});
  }
}

}  // namespace

void write_in_flight(Exposition& to, const limits::Set& set,
                     const std::unordered_map<std::uint64_t, std::uint64_t>& open) {
  to.family(Exposition::Kind::gauge, "weir_in_flight",
            "Open holds that have a slot of the limit, of all keys");
  write_slots(to, set, open);
}

void write_slot_waiters(Exposition& to, const limits::Set& set,
                        const std::unordered_map<std::uint64_t, std::uint64_t>& waiters) {
  to.family(Exposition::Kind::gauge, "weir_slot_waiters",
            "Acquires that stand in line for a slot of the limit in this server, of all keys");
  write_slots(to, set, waiters);
}

}  // namespace weir::service
