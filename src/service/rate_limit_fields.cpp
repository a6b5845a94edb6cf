#include "service/rate_limit_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <span>
#include <vector>

#include "core/duration.hpp"
#include "core/rule.hpp"
#include "service/structured_field.hpp"

namespace weir::inline v0_1::service {
namespace {

using std::chrono::nanoseconds;
using Wide = unsigned __int128;

constexpr std::int64_t kSecond = 1'000'000'000;

// One window that clients are told of.
struct ShownLimit {
  std::string_view name{};
  const core::Rule* window = nullptr;  // whose window is a part of the name, unless null
  std::size_t number = 1;              // a part of the name, unless 1
  bool beside_rates = false;           // slots of a limit that has rates too: a part of the name
  ShownNumbers numbers{};
};

// By which its numbers are found.
struct ShownCheck {
  const store::Check& check;
  nanoseconds kept;    // that the rule keeps from this request
  nanoseconds length;  // of the window that runs
};

struct ShownLimits {
  std::array<ShownLimit, store::kMostChecks> all;
  std::size_t count = 0;
  const ShownLimit* by = nullptr;  // the one that decides; null: it is not shown

  std::span<const ShownLimit> shown() const { return {all.data(), count}; }
};

void append_name(const ShownLimit& shown, std::string& out) {
  out += shown.name;
  if (shown.window != nullptr) {
    out += '-';
    core::append_window(*shown.window, out);
  }
  if (shown.beside_rates) out += "-in_flight";
  if (shown.number > 1) {
    out += '-';
    append_integer(shown.number, out);
  }
}

// A structured field's string, of a name that needs no more than its quotes unless it is strange.
void append_name_string(const ShownLimit& shown, std::string& out) {
  const std::size_t begin = out.size();
  append_name(shown, out);
  const std::string_view name = std::string_view(out).substr(begin);
  if (is_plain(name)) {
    out.insert(begin, 1, '"');
    out += '"';
    return;
  }
  const std::string strange(name);
  out.resize(begin);
  append_string(strange, out);
}

const Quota& quota_of(const ShownCheck& shown) { return shown.check.limit->rule.quota; }
bool is_slots(const ShownCheck& shown) { return core::counts_slots(shown.check.limit->rule.algorithm); }
bool has_burst(const ShownCheck& shown) { return core::has_burst(shown.check.limit->rule.algorithm); }

std::uint64_t in_seconds(nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(core::ceil_to_seconds(time), 0));
}

// The time in which that many units come back, in seconds, rounded up: of the rate as it was written.
std::uint64_t seconds_for(const Quota& quota, std::uint64_t units) {
  const Wide period = static_cast<Wide>(quota.rate().period.count());
  const Wide count = static_cast<Wide>(quota.rate().count) * kSecond;
  const Wide seconds = (period * units + count - 1) / count;
  return static_cast<std::uint64_t>(std::min<Wide>(seconds, kMostInteger));
}

std::uint64_t units_of(std::int64_t units) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(units, 0));
}

std::uint64_t window_of(const ShownCheck& shown) {
  const Quota& quota = quota_of(shown);
  if (is_slots(shown)) return in_seconds(shown.check.decision.reset_after);
  return has_burst(shown) ? seconds_for(quota, units_of(quota.burst())) : in_seconds(shown.length);
}

// How long it takes until one unit is there, of a window that has none.
nanoseconds wait_for_one(const ShownCheck& shown) {
  const Decision& decision = shown.check.decision;
  const Quota& quota = quota_of(shown);
  // A request of one unit passes when what is owed has fallen to this.
  const nanoseconds room = quota.tolerance() - shown.kept;
  const nanoseconds wait = decision.reset_after - std::min(room, decision.reset_after);
  if (!decision.retry_after) return std::max(wait, nanoseconds{1});
  const bool told = shown.check.cost.units == 1 || wait.count() == 0;
  return told ? *decision.retry_after : std::min(wait, *decision.retry_after);
}

std::uint64_t time_of(const ShownCheck& shown) {
  const Decision& decision = shown.check.decision;
  if (!has_burst(shown)) return in_seconds(decision.reset_after);
  if (decision.remaining > 0) return seconds_for(quota_of(shown), units_of(decision.remaining));
  return in_seconds(wait_for_one(shown));
}

// When a client may come again: of a denial as Retry-After says it, since draft-06 has one moment for both.
nanoseconds reset_of(const Decision& decision) {
  return decision.allowed() ? decision.reset_after : decision.retry_after.value_or(decision.reset_after);
}

ShownNumbers numbers_of(const ShownCheck& shown) {
  return {.quota = units_of(quota_of(shown).burst()),
          .window = window_of(shown),
          .remaining = units_of(shown.check.decision.remaining),
          .time = time_of(shown),
          .reset = reset_of(shown.check.decision),
          .concurrent = is_slots(shown)};
}

void append_ratelimit_11(std::span<const ShownLimit> list, std::string& fields) {
  const auto append_list = [&](std::string_view name, const auto& append_parameters) {
    fields += name;
    for (const ShownLimit& each : list) {
      fields += &each == list.data() ? " " : ", ";
      append_name_string(each, fields);
      append_parameters(each);
    }
    fields += "\r\n";
  };
  const auto append_parameter = [&](std::string_view name, std::uint64_t value) {
    fields += name;
    append_integer(value, fields);
  };
  append_list("RateLimit-Policy:", [&](const ShownLimit& each) {
    append_parameter(";q=", each.numbers.quota);
    if (each.numbers.concurrent) {
      fields += ";qu=\"concurrent-requests\"";
    } else {
      append_parameter(";w=", each.numbers.window);
    }
  });
  append_list("RateLimit:", [&](const ShownLimit& each) {
    append_parameter(";r=", each.numbers.remaining);
    append_parameter(";t=", each.numbers.time);
  });
}

void append_number(std::string_view name, std::uint64_t value, std::string& fields) {
  fields += name;
  append_integer(value, fields);
  fields += "\r\n";
}

void append_draft_06(const ShownLimit& by, std::string& fields) {
  fields += "RateLimit-Policy: ";
  append_integer(by.numbers.quota, fields);
  append_number(";w=", by.numbers.window, fields);
  append_number("RateLimit-Limit: ", by.numbers.quota, fields);
  append_number("RateLimit-Remaining: ", by.numbers.remaining, fields);
  append_number("RateLimit-Reset: ", in_seconds(by.numbers.reset), fields);
}

void append_x_rate_limit(const ShownNumbers& numbers, Forms::XRateLimit form, limits::Time now,
                         std::string& fields) {
  append_number("X-RateLimit-Limit: ", numbers.quota, fields);
  append_number("X-RateLimit-Remaining: ", numbers.remaining, fields);
  std::uint64_t reset = in_seconds(numbers.reset);
  if (form == Forms::XRateLimit::epoch) {
    // Rounded up once, of the moment: each part rounded by itself would be up to a second late.
    const auto parts = static_cast<std::uint64_t>(std::max<std::int64_t>(now.time_since_epoch().count(), 0)) +
                       static_cast<std::uint64_t>(numbers.reset.count());
    reset = parts / kSecond + (parts % kSecond != 0 ? 1 : 0);
  }
  append_number("X-RateLimit-Reset: ", reset, fields);
}

void append_fields(std::span<const ShownLimit> shown, const ShownLimit* by, const Forms& forms,
                   limits::Time now, std::string& fields) {
  if (forms.rate_limit == Forms::RateLimit::ratelimit_11 && !shown.empty())
    append_ratelimit_11(shown, fields);
  if (by == nullptr) return;
  if (forms.rate_limit == Forms::RateLimit::draft_06) append_draft_06(*by, fields);
  if (forms.x_rate_limit != Forms::XRateLimit::none)
    append_x_rate_limit(by->numbers, forms.x_rate_limit, now, fields);
}

// Only a denial that a wait can end says when; and never earlier than `t` of the limit that denied, which is
// later where a large cost is denied for the little that it lacks.
void append_retry_after(const store::Request* answered, const Forms& forms, const ShownLimits& list,
                        std::string& fields) {
  if (!forms.retry_after || answered == nullptr || answered->checks.empty() || answered->allowed()) return;
  const auto& retry_after = answered->decision().retry_after;
  if (!retry_after) return;
  const bool tells = forms.rate_limit == Forms::RateLimit::ratelimit_11 && list.by != nullptr;
  append_number("Retry-After: ",
                std::max({in_seconds(*retry_after), tells ? list.by->numbers.time : 0, std::uint64_t{1}}),
                fields);
}

// What the rule keeps from a request: nothing inside a guarantee.
nanoseconds kept_from(const store::Request& answered, const store::Check& check) {
  const bool inside =
      check.inside < answered.checks.size() && answered.checks[check.inside].decision.allowed();
  return inside ? nanoseconds{0} : check.limit->rule.kept;
}

ShownLimit shown_of(const limits::Set& set, const limits::Matched& matched, std::size_t check) {
  const limits::NamedLimit& said = *set.limits()[matched.limit_of[check]].said;
  ShownLimit shown;
  shown.name = said.name;
  const core::Rule& rule = matched.checks[check].limit->rule;
  const std::size_t rates = said.windows.size() - (said.slots.place.line > 0 ? 1 : 0);
  if (core::counts_slots(rule.algorithm)) {
    shown.beside_rates = rates > 0;
  } else if (rates > 1) {
    shown.window = &rule;
  }
  return shown;
}

nanoseconds length_of(const core::Rule& rule, limits::Time now) {
  if (rule.calendar == nullptr) return rule.quota.rate().period;
  const core::CalendarWindow window = rule.calendar->at(now.time_since_epoch());
  return window.end - window.begin;
}

void add(const store::Request& answered, std::size_t check, ShownLimit shown, limits::Time now,
         ShownLimits& list) {
  // Of a remembered denial nothing else is known.
  if (answered.source == Source::remembered && check != answered.by) return;
  const store::Check& its = answered.checks[check];
  shown.numbers = numbers_of({its, kept_from(answered, its), length_of(its.limit->rule, now)});
  list.all[list.count] = shown;
  if (check == answered.by) list.by = &list.all[list.count];
  ++list.count;
}

bool is_counted(const limits::Matched& matched, const store::Request* answered) {
  return matched.outcome == limits::Matched::Outcome::meets && answered != nullptr &&
         answered->fault == Fault::none;
}

void add_all(const limits::Set& set, const limits::Matched& matched, const store::Request& answered,
             limits::Time now, ShownLimits& list) {
  for (std::size_t i = 0; i < matched.count; ++i) {
    if (is_shown(set, matched, i)) add(answered, i, shown_of(set, matched, i), now, list);
  }
}

}  // namespace

bool Forms::choose(std::string_view form) {
  struct Row {
    std::string_view form;
    RateLimit rate_limit;
    XRateLimit x_rate_limit;
  };
  constexpr std::array kRows = {Row{"ratelimit-11", RateLimit::ratelimit_11, XRateLimit::none},
                                Row{"draft-06", RateLimit::draft_06, XRateLimit::none},
                                Row{"x-ratelimit", RateLimit::none, XRateLimit::seconds},
                                Row{"x-ratelimit-epoch", RateLimit::none, XRateLimit::epoch},
                                Row{"off", RateLimit::none, XRateLimit::none}};
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [form](const Row& each) { return each.form == form; });
  if (row == kRows.end()) return false;
  rate_limit = row->rate_limit;
  x_rate_limit = row->x_rate_limit;
  return true;
}

Forms forms_of(const limits::Answers& answers) {
  if (answers.headers.empty()) return {};
  Forms forms{Forms::RateLimit::none, Forms::XRateLimit::none, false};
  for (const std::string& each : answers.headers) {
    Forms one;
    if (!one.choose(each)) {
      forms.retry_after = forms.retry_after || each == "retry-after";
      continue;
    }
    if (one.rate_limit != Forms::RateLimit::none) forms.rate_limit = one.rate_limit;
    if (one.x_rate_limit != Forms::XRateLimit::none) forms.x_rate_limit = one.x_rate_limit;
  }
  return forms;
}

bool is_shown(const limits::Set& set, const limits::Matched& matched, std::size_t check) {
  return !matched.checks[check].shadow && set.limits()[matched.limit_of[check]].said->show;
}

void append_shown_name(const limits::Set& set, const limits::Matched& matched, std::size_t check,
                       std::string& out) {
  append_name(shown_of(set, matched, check), out);
}

void append_rate_limit_fields(const limits::Set& set, const limits::Matched& matched,
                              const store::Request* answered, const Forms& forms, limits::Time now,
                              std::string& fields) {
  ShownLimits list;
  const bool counted = is_counted(matched, answered);
  if (counted) add_all(set, matched, *answered, now, list);
  append_fields(list.shown(), list.by, forms, now, fields);
  append_retry_after(counted ? answered : nullptr, forms, list, fields);
  if (matched.ban != nullptr && forms.retry_after)
    append_number("Retry-After: ", std::max(in_seconds(matched.banned_for), std::uint64_t{1}), fields);
}

void append_rate_limit_fields(const store::Request& answered, const Forms& forms, limits::Time now,
                              std::string& fields) {
  ShownLimits list;
  const bool decided = answered.fault == Fault::none;
  for (std::size_t i = 0; decided && i < answered.checks.size(); ++i) {
    ShownLimit shown;
    shown.name = "limit";
    shown.number = i + 1;
    add(answered, i, shown, now, list);
  }
  append_fields(list.shown(), list.by, forms, now, fields);
  append_retry_after(decided ? &answered : nullptr, forms, list, fields);
}

const Forms& FormsInForce::of(const limits::Set* set) {
  if (set != nullptr && set->serial() != of_) {
    of_ = set->serial();
    forms_ = forms_of(set->file().answers);
    forms_.choose(chosen_);
  }
  return forms_;
}

ShownNumbers numbers_of(const store::Check& check, limits::Time now) {
  const core::Rule& rule = check.limit->rule;
  return numbers_of({check, rule.kept, length_of(rule, now)});
}

void GatheredFields::add(const limits::Set& set, const limits::Matched& matched,
                         const store::Request* answered, limits::Time now) {
  if (!is_counted(matched, answered)) return;
  ShownLimits list;
  add_all(set, matched, *answered, now, list);
  for (const ShownLimit& each : list.shown()) {
    std::string name;
    append_name(each, name);
    add(name, each.numbers, &each == list.by && !answered->allowed());
  }
}

void GatheredFields::add(std::string_view name, const ShownNumbers& numbers, bool denies) {
  const auto same =
      std::find_if(all_.begin(), all_.end(), [name](const Each& each) { return each.name == name; });
  const auto is_worse = [](const Each& a, const Each& b) {
    return a.denies != b.denies ? a.denies : a.numbers.remaining < b.numbers.remaining;
  };
  const Each one{std::string(name), numbers, denies};
  if (same == all_.end()) {
    all_.push_back(one);
  } else if (is_worse(one, *same)) {
    *same = one;
  }
}

void GatheredFields::append_to(const Forms& forms, limits::Time now, std::string& fields) const {
  std::vector<ShownLimit> shown;
  shown.reserve(all_.size());
  const ShownLimit* by = nullptr;
  const Each* tightest = nullptr;
  for (const Each& each : all_) {
    shown.push_back({.name = each.name, .numbers = each.numbers});
    const bool tighter = tightest == nullptr || each.denies ||
                         (!tightest->denies && each.numbers.remaining < tightest->numbers.remaining);
    if (!tighter) continue;
    tightest = &each;
    by = &shown.back();
  }
  append_fields(shown, by, forms, now, fields);
}

}  // namespace weir::service
