#include "trial/store_with_logs.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "store/charging.hpp"
#include "store/check_rules.hpp"
#include "store/taking.hpp"

namespace weir::inline v0_1::limits {
namespace {

bool is_log(const store::Check& check) {
  return core::traits(check.limit->rule.algorithm).state == core::Traits::State::log;
}

// Inside its guarantee it keeps nothing free.
store::Limit at_best(store::Limit limit) {
  limit.rule.kept = std::chrono::nanoseconds{0};
  return limit;
}

bool repeats_a_log(std::span<const store::Check> checks) {
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto same = [&](const store::Check& other) {
      return is_log(checks[i]) && other.limit->id == checks[i].limit->id && other.key == checks[i].key;
    };
    if (std::any_of(checks.begin(), checks.begin() + static_cast<std::ptrdiff_t>(i), same)) return true;
  }
  return false;
}

// Why nobody decides such checks, logs being among them; nothing when they are decided here.
std::optional<std::string> why_not(const store::Request& request) {
  if (auto why = store::malformed(request.checks)) return why;
  if (repeats_a_log(request.checks)) return "two checks of a request have the same limit and key";
  switch (request.verb) {
    case store::Verb::look:
      return std::nullopt;
    case store::Verb::check:
    case store::Verb::take:
      return store::needs_hold(request.checks);
    case store::Verb::charge:
      return store::cannot_charge(request.checks, *request.charge);
    default:
      return store::cannot_be_reserved(
          std::find_if(request.checks.begin(), request.checks.end(), is_log)->limit->rule.algorithm);
  }
}

}  // namespace

void StoreWithLogs::submit(std::span<store::Request* const> batch, store::Arrival when) {
  for (store::Request* const each : batch) {
    if (std::any_of(each->checks.begin(), each->checks.end(), is_log)) {
      answer(*each, when);
    } else {
      table_.submit({&each, 1}, when);
    }
  }
}

void StoreWithLogs::give_back(const store::Request& charged, std::chrono::nanoseconds now) {
  table_.give_back(charged, now);
}

core::GrowingLog& StoreWithLogs::log_of(const store::Check& check) {
  return logs_[{check.limit->id, std::string(check.key)}];
}

void StoreWithLogs::answer(store::Request& request, store::Arrival when) {
  request.state = store::Request::State::answered;
  request.charged = false;
  request.by = 0;
  request.source = Source::store;
  request.fault = Fault::none;
  request.charged_at = when.arrived;
  if (request.verb == store::Verb::reset) return reset(request, when);
  if (auto why = why_not(request)) return store::refuse(request, *std::move(why));
  decide(request, when);
}

// First a look at all of them: what passes that is then charged, as nothing comes between.
void StoreWithLogs::decide(store::Request& request, store::Arrival when) {
  bool looks = request.verb == store::Verb::look;
  bool passes = false;
  if (request.verb == store::Verb::take) {
    store::TakeTerms& terms = *request.take;
    looks = terms.looks;
    terms.granted = store::find_units(request.checks, terms, [&] { return look_at_all(request, when); });
    passes = terms.granted != 0;
  } else {
    passes = look_at_all(request, when);
  }
  request.by = store::deciding(request.checks);
  if (request.fault != Fault::none || looks) return;
  // Where the table itself denies, its penalties begin.
  const auto denies = [](const store::Check& each) {
    return !is_log(each) && !each.shadow && !each.decision.allowed();
  };
  if (passes || std::any_of(request.checks.begin(), request.checks.end(), denies))
    ask_table(request, store::Verb::check, when);
  if (passes) charge_logs(request, when);
  request.charged = passes;
  request.by = store::deciding(request.checks);
}

StoreWithLogs::OfTable StoreWithLogs::of_table(const store::Request& request) {
  OfTable of;
  std::array<std::uint8_t, store::kMostChecks> place_of{};
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    store::Check check = request.checks[i];
    if (is_log(check)) continue;
    if (check.inside != store::Check::kNoGuarantee) {
      const store::Check& guarantee = request.checks[check.inside];
      if (is_log(guarantee)) {
        if (guarantee.decision.allowed()) check.limit = &of.at_best.emplace_back(at_best(*check.limit));
        check.inside = store::Check::kNoGuarantee;
      } else {
        check.inside = place_of[check.inside];
      }
    }
    place_of[i] = static_cast<std::uint8_t>(of.checks.size());
    of.places.push_back(i);
    of.checks.push_back(check);
  }
  return of;
}

// Of all checks but those of logs.
void StoreWithLogs::ask_table(store::Request& request, store::Verb verb, store::Arrival when) {
  OfTable of = of_table(request);
  if (of.checks.empty()) return;
  store::Request question;
  question.checks = of.checks;
  question.verb = verb;
  store::Request* const batch[] = {&question};
  table_.submit(batch, when);
  request.fault = question.fault;
  request.why = question.why;
  request.forgotten += question.forgotten;
  for (std::size_t i = 0; i < of.places.size(); ++i) {
    request.checks[of.places[i]].decision = of.checks[i].decision;
    request.checks[of.places[i]].hash = of.checks[i].hash;
  }
}

// Whether nothing would stop it.
bool StoreWithLogs::look_at_all(store::Request& request, store::Arrival when) {
  for (store::Check& each : request.checks) {
    if (is_log(each)) each.decision = log_of(each).look(each.limit->rule.quota, when.now, each.cost);
  }
  ask_table(request, store::Verb::look, when);
  if (request.fault != Fault::none) return false;
  return std::all_of(request.checks.begin(), request.checks.end(),
                     [](const store::Check& each) { return each.shadow || each.decision.allowed(); });
}

void StoreWithLogs::charge_logs(store::Request& request, store::Arrival when) {
  for (store::Check& each : request.checks) {
    if (is_log(each)) each.decision = log_of(each).decide(each.limit->rule.quota, when.now, each.cost);
  }
}

void StoreWithLogs::reset(store::Request& request, store::Arrival when) {
  request.forgotten = 0;
  ask_table(request, store::Verb::reset, when);
  for (const store::Check& each : request.checks) {
    if (!is_log(each)) continue;
    const auto found = logs_.find({each.limit->id, std::string(each.key)});
    if (found == logs_.end()) continue;
    request.forgotten += found->second.reset_after(each.limit->rule.quota, when.now) != 0 ? 1 : 0;
    logs_.erase(found);
  }
}

}  // namespace weir::limits
