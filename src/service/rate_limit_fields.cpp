#include "service/rate_limit_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <span>

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
  const store::Check* check = nullptr;
  nanoseconds kept{0};    // that the rule keeps from this request
  nanoseconds length{0};  // of the window that runs
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

const Quota& quota_of(const ShownLimit& shown) { return shown.check->limit->rule.quota; }
bool is_slots(const ShownLimit& shown) { return core::counts_slots(shown.check->limit->rule.algorithm); }
bool is_gcra(const ShownLimit& shown) { return shown.check->limit->rule.algorithm == Algorithm::gcra; }

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

std::uint64_t window_of(const ShownLimit& shown) {
  const Quota& quota = quota_of(shown);
  if (is_slots(shown)) return in_seconds(shown.check->decision.reset_after);
  return is_gcra(shown) ? seconds_for(quota, units_of(quota.burst())) : in_seconds(shown.length);
}

// How long it takes until one unit is there, of a window that has none.
nanoseconds wait_for_one(const ShownLimit& shown) {
  const Decision& decision = shown.check->decision;
  const Quota& quota = quota_of(shown);
  // A request of one unit passes when what is owed has fallen to this.
  const nanoseconds room = quota.tolerance() - shown.kept;
  const nanoseconds wait = decision.reset_after - std::min(room, decision.reset_after);
  if (!decision.retry_after) return std::max(wait, nanoseconds{1});
  const bool told = shown.check->cost.units == 1 || wait.count() == 0;
  return told ? *decision.retry_after : std::min(wait, *decision.retry_after);
}

std::uint64_t time_of(const ShownLimit& shown) {
  const Decision& decision = shown.check->decision;
  if (!is_gcra(shown)) return in_seconds(decision.reset_after);
  if (decision.remaining > 0) return seconds_for(quota_of(shown), units_of(decision.remaining));
  return in_seconds(wait_for_one(shown));
}

void append_ratelimit_11(const ShownLimits& list, std::string& fields) {
  const auto append_list = [&](std::string_view name, const auto& append_parameters) {
    fields += name;
    for (const ShownLimit& each : list.shown()) {
      fields += &each == list.all.data() ? " " : ", ";
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
    append_parameter(";q=", units_of(quota_of(each).burst()));
    if (is_slots(each)) {
      fields += ";qu=\"concurrent-requests\"";
    } else {
      append_parameter(";w=", window_of(each));
    }
  });
  append_list("RateLimit:", [&](const ShownLimit& each) {
    append_parameter(";r=", units_of(each.check->decision.remaining));
    append_parameter(";t=", time_of(each));
  });
}

void append_number(std::string_view name, std::uint64_t value, std::string& fields) {
  fields += name;
  append_integer(value, fields);
  fields += "\r\n";
}

void append_draft_06(const ShownLimit& by, std::string& fields) {
  fields += "RateLimit-Policy: ";
  append_integer(units_of(quota_of(by).burst()), fields);
  append_number(";w=", window_of(by), fields);
  append_number("RateLimit-Limit: ", units_of(quota_of(by).burst()), fields);
  append_number("RateLimit-Remaining: ", units_of(by.check->decision.remaining), fields);
  append_number("RateLimit-Reset: ", in_seconds(by.check->decision.reset_after), fields);
}

void append_x_rate_limit(const ShownLimit& by, Forms::XRateLimit form, limits::Time now,
                         std::string& fields) {
  const Decision& decision = by.check->decision;
  const std::uint64_t burst = units_of(quota_of(by).burst());
  fields += "X-RateLimit-Limit: ";
  append_integer(burst, fields);
  if (form == Forms::XRateLimit::draft_03) {
    fields += ", ";
    append_integer(burst, fields);
    fields += ";w=";
    append_integer(window_of(by), fields);
    fields += ";name=";
    append_name_string(by, fields);
  }
  fields += "\r\n";
  append_number("X-RateLimit-Remaining: ", units_of(decision.remaining), fields);
  std::uint64_t reset = in_seconds(decision.reset_after);
  if (form == Forms::XRateLimit::epoch) {
    // Rounded up once, of the moment: each part rounded by itself would be up to a second late.
    const auto parts = static_cast<std::uint64_t>(std::max<std::int64_t>(now.time_since_epoch().count(), 0)) +
                       static_cast<std::uint64_t>(decision.reset_after.count());
    reset = parts / kSecond + (parts % kSecond != 0 ? 1 : 0);
  }
  append_number("X-RateLimit-Reset: ", reset, fields);
}

void append_fields(const ShownLimits& list, const Forms& forms, limits::Time now, std::string& fields) {
  if (forms.rate_limit == Forms::RateLimit::ratelimit_11 && list.count > 0) append_ratelimit_11(list, fields);
  if (list.by == nullptr) return;
  if (forms.rate_limit == Forms::RateLimit::draft_06) append_draft_06(*list.by, fields);
  if (forms.x_rate_limit != Forms::XRateLimit::none)
    append_x_rate_limit(*list.by, forms.x_rate_limit, now, fields);
}

// Only a denial that a wait can end says when; and never earlier than `t` of the limit that denied, which is
// later where a large cost is denied for the little that it lacks.
void append_retry_after(const store::Request* answered, const Forms& forms, const ShownLimits& list,
                        std::string& fields) {
  if (!forms.retry_after || answered == nullptr || answered->checks.empty() || answered->allowed()) return;
  const auto& retry_after = answered->decision().retry_after;
  if (!retry_after) return;
  const bool tells = forms.rate_limit == Forms::RateLimit::ratelimit_11 && list.by != nullptr;
  append_number(
      "Retry-After: ", std::max({in_seconds(*retry_after), tells ? time_of(*list.by) : 0, std::uint64_t{1}}),
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
  shown.check = &answered.checks[check];
  shown.kept = kept_from(answered, *shown.check);
  shown.length = length_of(shown.check->limit->rule, now);
  list.all[list.count] = shown;
  if (check == answered.by) list.by = &list.all[list.count];
  ++list.count;
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
                                Row{"draft-03", RateLimit::none, XRateLimit::draft_03},
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
  const bool counted = matched.outcome == limits::Matched::Outcome::meets && answered != nullptr &&
                       answered->fault == Fault::none;
  for (std::size_t i = 0; counted && i < matched.count; ++i) {
    if (is_shown(set, matched, i)) add(*answered, i, shown_of(set, matched, i), now, list);
  }
  append_fields(list, forms, now, fields);
  append_retry_after(counted ? answered : nullptr, forms, list, fields);
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
  append_fields(list, forms, now, fields);
  append_retry_after(decided ? &answered : nullptr, forms, list, fields);
}

}  // namespace weir::service
