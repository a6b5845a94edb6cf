#include "service/loop_counting.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/random.hpp"
#include "core/siphash.hpp"
#include "limits/match.hpp"
#include "service/decision_counts.hpp"
#include "steering/shown_key.hpp"
#include "store/reservations.hpp"

namespace weir::inline v0_1::service {
namespace {

bool denies_alone(const store::Check& check) { return !check.shadow && !check.decision.allowed(); }

bool is_of_slots(const store::Check& check) { return core::counts_slots(check.limit->rule.algorithm); }

// A grant takes one slot, whatever it costs.
std::uint64_t units_of(const store::Check& check) {
  return is_of_slots(check) && check.cost.units > 1 ? 1 : check.cost.units;
}

std::int64_t signed_units(std::uint64_t units) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(units, limits::kMostUnits));
}

}  // namespace

// The windows of one limit among the checks of a question.
struct LoopCounting::LimitGroup {
  limits::Index limit = limits::kNone;
  const store::Check* first = nullptr;  // that is charged its cost
  bool denies = false;
};

// Those that are a guarantee's own state say nothing of their limit, and neither does a shadow.
template <class Each>
void LoopCounting::for_each_limit(const limits::Matched& matched, std::span<const store::Check> checks,
                                  const Each& each) {
  const std::size_t count = std::min(matched.count, checks.size());
  for (std::size_t i = 0; i < count;) {
    LimitGroup group{.limit = matched.limit_of[i]};
    for (; i < count && matched.limit_of[i] == group.limit; ++i) {
      if (checks[i].shadow) continue;
      if (group.first == nullptr || is_of_slots(*group.first)) group.first = &checks[i];
      group.denies = group.denies || denies_alone(checks[i]);
    }
    if (group.first != nullptr) each(group);
  }
}

LoopCounting::LoopCounting(Service& service, bool has_hashes)
    : service_(service), all_(service.counting), has_hashes_(has_hashes) {
  if (all_.options().top.entries > 0) top_.emplace(all_.options().top, all_.start());
  all_.join(top_ ? &*top_ : nullptr, usage_);
}

LoopCounting::~LoopCounting() { all_.leave(top_ ? &*top_ : nullptr, usage_); }

void LoopCounting::forget() {
  (void)usage_.take(all_.utc());
  if (top_) top_.emplace(all_.options().top, all_.start());  // where it was: others have its address
}

steering::UnitSample LoopCounting::sample() const {
  return top_ ? steering::UnitSample(all_.options().top.sample, core::random_key().k0 | 1)
              : steering::UnitSample();
}

// As if each limit's units were looked for, one limit after the other.
bool LoopCounting::passes_over(const Question& question, steering::UnitSample& sample) {
  std::uint64_t units = 0;
  bool denies = false;
  for_each_limit(question.more->matched, question.checks, [&](const LimitGroup& group) {
    units += std::min(units_of(*group.first), limits::kMostUnits / store::kMostChecks);  // no sum wraps
    denies = denies || group.denies;
  });
  return !denies && sample.misses(units);
}

void LoopCounting::count(const Question& question, const limits::Set* set, bool allowed,
                         steering::UnitSample& sample, std::chrono::nanoseconds now) {
  if (question.by_file) {
    count_file(question, *set, allowed, sample, now);
  } else if (top_) {
    count_inline(*top_, question, allowed, sample, now);
  }
}

void LoopCounting::count_inline(steering::TopKeys& top, const Question& question, bool allowed,
                                steering::UnitSample& sample, std::chrono::nanoseconds now) {
  for (const store::Check& check : question.checks) {
    const auto name = [&check](steering::SpaceSaving::Entry& entry) {
      if (entry.limit != kInline) entry.limit = kInline;
      steering::shorten_key(check.key, entry.key);
    };
    if (check.decision.allowed() && (!allowed || sample.misses(check.cost.units))) continue;
    const std::uint64_t hash = has_hashes_ ? check.hash : all_.hash_of(0, check.key);
    if (check.decision.allowed()) {
      top.charge(hash, sample.take(check.cost.units), now, name);
    } else {
      top.deny(hash, now, name);
    }
  }
}

void LoopCounting::count_file(const Question& question, const limits::Set& set, bool allowed,
                              steering::UnitSample& sample, std::chrono::nanoseconds now) {
  if (top_ && question.more->matched.outcome == limits::Matched::Outcome::refused)
    count_refused(*top_, question.more->matched, set, now);
  for_each_limit(question.more->matched, question.checks, [&](const LimitGroup& group) {
    if (top_) count_top(*top_, question, set, group, allowed, sample, now);
    const limits::Set::CompiledLimit& limit = set.limits()[group.limit];
    // What was charged whatever there was room for has been booked (count_change).
    if (!allowed || !limit.said->track || question.verb == store::Verb::charge) return;
    const store::Check& check = *group.first;
    use(limit, check.key, place_of(check), signed_units(units_of(check)));
  });
  if (set.tracks()) add_if_due();
  if (service_.operators.wants_events.load(std::memory_order_relaxed)) tell_events(question, set, allowed);
}

void LoopCounting::tell_events(const Question& question, const limits::Set& set, bool allowed) {
  const std::span<const store::Check> checks = question.checks;
  for (std::size_t i = 0; i < std::min(question.more->matched.count, checks.size()); ++i) {
    if (checks[i].shadow) continue;
    if (!checks[i].decision.allowed()) {
      tell_event(question, set, i, steering::OperatorEvent::What::denied);
    } else if (allowed && DecisionCounts::is_near(checks[i].decision)) {
      tell_event(question, set, i, steering::OperatorEvent::What::near);
    }
  }
}

void LoopCounting::tell_event(const Question& question, const limits::Set& set, std::size_t check,
                              steering::OperatorEvent::What what) {
  const limits::Set::CompiledLimit& limit = set.limits()[question.more->matched.limit_of[check]];
  const store::Check& its = question.checks[check];
  const std::chrono::nanoseconds now = all_.utc();
  const core::Rule& rule = its.limit->rule;
  const steering::UsagePeriod period = is_of_slots(its)
                                           ? steering::UsageWindow{std::chrono::minutes{1}}.at(now)
                                           : steering::UsageWindow::of(rule).at(now);
  const std::uint64_t hash =
      all_.hash_of(its.limit->id * 2 + (what == steering::OperatorEvent::What::denied ? 0 : 1), its.key);
  if (!all_.told_of.is_first(hash, now, period.ends)) return;
  auto key = all_.shown(limit.said->name, limits::key_text(*limit.said, its.key, question.more->matched));
  if (!key) return;
  steering::OperatorEvent event{.what = what, .limit = limit.said->name, .key = *std::move(key)};
  if (is_of_slots(its)) {
    event.window = core::name_of(rule.algorithm);
  } else {
    core::append_window(rule, event.window);
  }
  if (its.decision.retry_after) event.until = now + *its.decision.retry_after;
  service_.operators.tell(event);
}

void LoopCounting::count_top(steering::TopKeys& top, const Question& question, const limits::Set& set,
                             const LimitGroup& group, bool allowed, steering::UnitSample& sample,
                             std::chrono::nanoseconds now) {
  if (!group.denies && (!allowed || sample.misses(units_of(*group.first)))) return;
  const limits::Set::CompiledLimit& limit = set.limits()[group.limit];
  const std::string_view key = group.first->key;
  const auto name = [&](steering::SpaceSaving::Entry& entry) {
    if (entry.limit != limit.said->name) entry.limit = limit.said->name;
    steering::shorten_key(limits::key_text(*limit.said, key, question.more->matched), entry.key);
  };
  const std::uint64_t hash = all_.hash_of(limit.shown_as, key);
  if (group.denies) {
    top.deny(hash, now, name);
  } else {
    top.charge(hash, sample.take(units_of(*group.first)), now, name);
  }
}

void LoopCounting::count_refused(steering::TopKeys& top, const limits::Matched& matched,
                                 const limits::Set& set, std::chrono::nanoseconds now) {
  const limits::Set::CompiledLimit& limit = set.limits()[matched.refused_by];
  const auto name = [&](steering::SpaceSaving::Entry& entry) {
    if (entry.limit != limit.said->name) entry.limit = limit.said->name;
    steering::shorten_key(limits::key_text(*limit.said, matched.refused_key(), matched), entry.key);
  };
  const std::uint64_t hash = all_.hash_of(limit.shown_as, matched.refused_key());
  matched.ban != nullptr ? top.ban(hash, now, name) : top.deny(hash, now, name);
}

steering::UsagePlace LoopCounting::place_of(const store::Check& check) const {
  if (!has_hashes_) return {};
  return {check.limit->id, store::Reservations::place_of(check.hash)};
}

void LoopCounting::use(const limits::Set::CompiledLimit& limit, std::string_view key,
                       steering::UsagePlace place, std::int64_t units) {
  if (units == 0) return;
  usage_.add(all_.hash_of(limit.shown_as, key), units, all_.utc(), [&](steering::Booking& booking) {
    booking.limit = limit.said->id;
    booking.key = key;
    booking.place = place;
    for (const limits::Window& window : limit.said->windows)
      if (!window.is_slots()) booking.windows.push_back(steering::UsageWindow::of(window.rule));
  });
}

void LoopCounting::add_if_due() {
  if (usage_.due(all_.utc())) all_.add_usage(usage_);
}

void LoopCounting::count_change(const store::Request& request, const limits::Set& set,
                                const limits::Matched* matched) {
  if (request.verb == store::Verb::charge) {
    if (matched == nullptr) return;
    const Charged& told = request.charge->told;
    for_each_limit(*matched, request.checks, [&](const LimitGroup& group) {
      const limits::Set::CompiledLimit& limit = set.limits()[group.limit];
      if (!limit.said->track) return;
      std::int64_t units = signed_units(told.charged);
      const Outside::Form form = request.charge->outside.form;
      if (form == Outside::Form::pause) return;
      if (form == Outside::Form::refund) units = -units;
      if (form == Outside::Form::cost && told.dropped == 0) units = signed_units(units_of(*group.first));
      use(limit, group.first->key, place_of(*group.first), units);
    });
    return add_if_due();
  }
  std::array<limits::Index, store::kMostChecks> told{};
  std::size_t count = 0;
  for (const store::ChangedCharge& each : request.reservation->changes) {
    if (each.hash != 0) {  // its place says which key it is, if that is tracked
      if (each.units != 0)
        usage_.add(steering::UsagePlace{each.limit, store::Reservations::place_of(each.hash)}, each.units,
                   all_.utc());
      continue;
    }
    // Of the windows of a limit one says it.
    const limits::Index limit = set.tracked(each.limit);
    const auto* const known = std::find(told.begin(), told.begin() + count, limit);
    if (limit == limits::kNone || known != told.begin() + count) continue;
    told[count++] = limit;
    use(set.limits()[limit], each.key, {}, each.units);
  }
  add_if_due();
}

}  // namespace weir::service
