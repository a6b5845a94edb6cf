#include "store/key_ledger.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/gcra.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;
using Time = Ledger::Time;

Time interval_of(const core::Rule& rule) { return rule.quota.emission_interval().count(); }
Time full_of(const core::Rule& rule) { return rule.quota.burst() * interval_of(rule); }
// In whole units what is kept is rounded up to them.
Ledger::Room room_of(const core::Rule& rule, bool in_whole_units) {
  if (!in_whole_units) return {full_of(rule), full_of(rule) - rule.kept.count()};
  return {full_of(rule),
          static_cast<Time>(core::gcra::most_units(rule.quota, rule.kept)) * interval_of(rule)};
}

// Rounded up.
std::uint64_t units_of(Time time, Time interval) {
  return time <= 0 ? 0 : static_cast<std::uint64_t>((time - 1) / interval + 1);
}

}  // namespace

bool KeyLedger::is_of(const core::Rule& rule) const { return interval_of(rule) == ledger_.interval(); }

// Those whose time is over can change no more.
void KeyLedger::read(nanoseconds now, std::optional<Time> full) {
  latest_ = std::max(latest_, now.count());
  while (!open_.empty() && open_.front().until <= now.count()) {
    ledger_.close(open_.front().place);
    open_.erase(open_.begin());
  }
  if (ledger_.forgets() && ledger_.pause_end() <= now.count()) asked_for_ = 0;
  ledger_.fold(now.count(), full);
}
void KeyLedger::read(const core::Rule& rule, nanoseconds now) {
  read(now, is_of(rule) ? std::optional(full_of(rule)) : std::nullopt);
}

bool KeyLedger::is_idle(nanoseconds now) {
  read(no_earlier(now), std::nullopt);
  return open_.empty() && ledger_.is_empty() && asked_for_ <= now.count();
}
bool KeyLedger::is_idle(const core::Rule& rule, nanoseconds now) {
  read(rule, no_earlier(now));
  return is_idle(now);
}

const Ledger& KeyLedger::counted_by(const core::Rule& rule, nanoseconds now,
                                    std::optional<Ledger>& other) const {
  if (is_of(rule)) return ledger_;
  return other.emplace(ledger_.recounted(now.count(), interval_of(rule), full_of(rule)));
}

void KeyLedger::count_by(const core::Rule& rule, nanoseconds now) {
  now = no_earlier(now);
  read(rule, now);
  if (!is_of(rule)) ledger_ = ledger_.recounted(now.count(), interval_of(rule), full_of(rule));
}

core::Step KeyLedger::decide(const core::Rule& rule, nanoseconds asked, Cost cost) const {
  const nanoseconds now = no_earlier(asked);
  if (ledger_.is_empty()) {
    core::Step step = core::decide(rule, state(), now, cost);
    const auto late = static_cast<std::uint64_t>((now - asked).count());
    if (step.verdict == Verdict::denied) step.retry_after += late;
    if (step.reset_after != 0) step.reset_after += late;
    return step;
  }
  std::optional<Ledger> other;
  const Ledger& ledger = counted_by(rule, now, other);
  const Ledger::Room room = room_of(rule, other.has_value());
  const Time at = now.count();
  core::Step step{.verdict = Verdict::allowed,
                  .limit = rule.quota.burst(),
                  .remaining = ledger.most(at, room),
                  .retry_after = 0,
                  .reset_after = 0,
                  .next = {},
                  .changes = false};
  if (cost.units > static_cast<std::uint64_t>(room.mine / ledger.interval())) {
    step.verdict = Verdict::never;
  } else if (cost.units > step.remaining) {
    step.verdict = Verdict::denied;
    const Time first = other ? first_under(rule, at, cost.units) : ledger.earliest(at, cost.units, room);
    step.retry_after = static_cast<std::uint64_t>(first - asked.count());
  } else if (cost.units != 0) {
    step.changes = true;
    step.remaining -= cost.units;
  }
  // Of what is charged nothing it drains as it was counted.
  const std::uint64_t owing =
      step.changes ? static_cast<std::uint64_t>(ledger.owed_with(at, cost.units, room.full)) : owed(rule);
  step.reset_after = core::ahead_of(std::max(owing, static_cast<std::uint64_t>(at)), asked);
  return step;
}

// When it passes under another T: until then what is owed drains as it was counted, and each who asks counts
// it by the new one. Once all that act later are over it is one number.
Ledger::Time KeyLedger::first_under(const core::Rule& rule, Time at, std::uint64_t units) const {
  constexpr int kTries = 8;
  const Ledger::Room room = room_of(rule, true);
  const Time left = room.mine / interval_of(rule) - static_cast<Time>(units);
  for (int tries = 0; tries < kTries; ++tries) {
    const Time first = ledger_.recounted(at, interval_of(rule), room.full).earliest(at, units, room);
    if (first == at) return at;
    const bool is_forgotten = ledger_.forgets() && at < ledger_.pause_end();  // what drains until then
    const Time drained = ledger_.owed_by_grants(at) - left * ledger_.interval();
    at = drained > at && !is_forgotten ? drained : first;
  }
  return std::max(at + room.full, ledger_.owed_by_grants(core::GrantMap::kForever));
}

void KeyLedger::charge(const core::Rule& rule, nanoseconds now, Cost cost) {
  now = no_earlier(now);
  count_by(rule, now);
  ledger_.put_over(now.count(), cost.units, full_of(rule));
}

core::Moment KeyLedger::moment(const core::Rule& rule, nanoseconds asked, Cost cost,
                               nanoseconds max_wait) const {
  const nanoseconds now = no_earlier(asked);
  if (!core::may_wait(rule)) max_wait = nanoseconds{0};
  std::optional<Ledger> other;
  const Ledger& ledger = counted_by(rule, now, other);
  const Ledger::Room room = room_of(rule, other.has_value());
  if (cost.units > static_cast<std::uint64_t>(room.mine / ledger.interval())) return {false, nanoseconds{-1}};
  const nanoseconds wait{ledger.earliest(now.count(), cost.units, room) - asked.count()};
  if (wait <= max_wait) return {true, wait};
  return {false, wait - max_wait};
}

KeyLedger::Counted::Counted(const KeyLedger& its, const core::Rule& rule, nanoseconds now, const Line& line)
    : now_(its.no_earlier(now)),
      ledger_(its.counted_by(rule, now_, other_)),
      room_(room_of(rule, other_.has_value())) {
  if (line.end.count() != 0) room_.line = ledger_.end_of_line(line.from.count(), line.end.count());
}

nanoseconds KeyLedger::Counted::first(nanoseconds at, Cost cost, const Ledger::Room& room) const {
  if (cost.units > static_cast<std::uint64_t>(room.mine / ledger_.interval())) return nanoseconds::max();
  return nanoseconds{ledger_.earliest(std::max(at, now_).count(), cost.units, room)};
}

std::uint64_t KeyLedger::until(const core::Rule& rule) const {
  const Time open = open_.empty() ? 0 : open_.back().until;
  return std::max(owed(rule), static_cast<std::uint64_t>(std::max(open, asked_for_)));
}

void KeyLedger::raise(const core::Rule& rule, std::uint64_t tat, nanoseconds now) {
  now = no_earlier(now);
  count_by(rule, now);
  ledger_.raise(now.count(), static_cast<Time>(tat), full_of(rule));
}

KeyLedger::Own KeyLedger::reserve(const core::Rule& rule, nanoseconds now, nanoseconds at,
                                  std::uint64_t units, nanoseconds until) {
  now = no_earlier(now);
  count_by(rule, now);
  const Own own{ledger_.put(std::max(at, now).count(), units), units, std::max(until, at)};
  open_.insert({own.until.count(), own.place});
  return own;
}

bool KeyLedger::is_open(const Own& own) const {
  const auto at = open_.find_from({own.until.count(), own.place});
  return !open_.is_end(at) && open_[at].place == own.place;
}

// By another T a pause asks for as much as by the rule's.
std::uint64_t KeyLedger::owed(const core::Rule& rule) const {
  const Time full = full_of(rule) - interval_of(rule) + ledger_.interval();
  return static_cast<std::uint64_t>(std::max(ledger_.owed(full), Time{0}));
}

// False: its time is over.
bool KeyLedger::forget(const Own& own) {
  const auto at = open_.find_from({own.until.count(), own.place});
  if (open_.is_end(at) || open_[at].place != own.place) return false;
  open_.erase(at);
  return true;
}

void KeyLedger::cancel(const Own& own) {
  if (forget(own)) ledger_.remove(own.place);
}

void KeyLedger::extend(Own& own, nanoseconds until) {
  if (!forget(own)) return;
  own.until = until;
  open_.insert({until.count(), own.place});
}

// More than it was charged is owed in its place too, but no more than may be owed now.
std::uint64_t KeyLedger::settle(const core::Rule& rule, const Own& own, std::uint64_t actual, nanoseconds now,
                                nanoseconds overdraft) {
  now = std::max(no_earlier(now), nanoseconds{own.place.at});  // it has acted
  const bool is_open = forget(own);
  read(rule, now);
  if (!is_open) return 0;
  const Time full = rule.quota.burst() * ledger_.interval();
  const Time most = now.count() + static_cast<Time>(core::most_owed(rule, overdraft));
  const std::uint64_t more = actual - std::min(actual, own.units);
  const std::uint64_t may_be_more = std::min(more, static_cast<std::uint64_t>(most / ledger_.interval()));
  const std::uint64_t less = own.units - std::min(actual, own.units);
  if (!ledger_.change(own.place, own.units - less + may_be_more)) {
    // Under another T it gives nothing back, and what it cost more is owed from now on.
    return more - charge_up_to(now.count(), more, most, full);
  }
  const std::uint64_t dropped =
      std::min(may_be_more, units_of(ledger_.owed_at(now.count(), full) - most, ledger_.interval()));
  if (dropped != 0) ledger_.change(own.place, own.units + may_be_more - dropped);
  ledger_.close(own.place);
  return more - may_be_more + dropped;
}

// As many of the units as may be owed; returns how many.
std::uint64_t KeyLedger::charge_up_to(Time now, std::uint64_t units, Time most, Time full) {
  const Time room = most - std::max(ledger_.owed_at(now, full), now);
  const std::uint64_t charged =
      room <= 0 ? 0 : std::min(units, static_cast<std::uint64_t>(room / ledger_.interval()));
  if (charged != 0) ledger_.put_over(now, charged, full);
  return charged;
}

core::Overdrawn KeyLedger::charge(const core::Rule& rule, nanoseconds now, const Outside& outside) {
  using enum Outside::Form;
  now = no_earlier(now);
  read(now, std::nullopt);
  std::optional<Ledger> before;
  if (!is_of(rule) || ledger_.pause_end() != 0) before = ledger_;
  read(rule, now);
  if (outside.form == remaining) {
    const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
    asked_for_ = now.count() + static_cast<Time>(burst - std::min(outside.units, burst)) * interval_of(rule);
  }
  if (outside.form != pause && ledger_.is_empty() && open_.empty()) {
    core::Overdrawn told = charge_front(rule, now, outside);
    if (before && !told.changes) ledger_ = *std::move(before);
    told.changes = told.changes || outside.form == remaining;  // that is kept
    return told;
  }
  count_by(rule, now);
  const Time full = full_of(rule), interval = interval_of(rule), at = now.count();
  core::Overdrawn told;
  if (outside.form == cost) {
    const Time most = at + static_cast<Time>(core::most_owed(rule, outside.overdraft));
    told.charged = charge_up_to(at, outside.units, most, full);
    told.dropped = outside.units - told.charged;
  } else if (outside.form == remaining) {
    told.charged = units_of(asked_for_ - std::max(ledger_.owed_at(at, full), at), interval);
    if (told.charged != 0) ledger_.put_over(at, told.charged, full);
  } else if (outside.form == refund) {
    const Time front = ledger_.front();
    ledger_.refund(outside.units, std::max(at, asked_for_));
    told.charged = units_of(front - at, interval) - units_of(ledger_.front() - at, interval);
    if (told.charged == 0) ledger_.set_front(front);
  } else if (outside.length.count() > 0) {
    pause_until(rule, at, outside, told);
  }
  if (before && outside.form != pause && told.charged == 0) ledger_ = *std::move(before);
  told.changes = told.charged != 0 || outside.form == pause || outside.form == remaining;
  tell(rule, now, told);
  if (outside.form == pause && outside.afresh) told.overdraft = 0;  // at its end
  return told;
}

// Of a key that owes one number.
core::Overdrawn KeyLedger::charge_front(const core::Rule& rule, nanoseconds now, const Outside& outside) {
  const auto least = static_cast<std::uint64_t>(asked_for_);
  const bool refunds = outside.form == Outside::Form::refund;
  core::Overdrawn told = refunds ? core::refund(rule, state(), now, outside.units, least)
                                 : core::overdraw(rule, state(), now, outside);
  // A part of a unit is not given back.
  if (refunds && told.charged == 0) told = core::refund(rule, state(), now, 0, least);
  if (told.changes) {
    ledger_ = ledger_.recounted(now.count(), static_cast<Time>(told.next.word), full_of(rule));
    ledger_.set_front(static_cast<Time>(told.next.until));
  }
  return told;
}

// What it charges is counted at its end; nothing where a pause that is moved has one before it that was told
// a moment after it.
void KeyLedger::pause_until(const core::Rule& rule, Time now, const Outside& pause, core::Overdrawn& told) {
  const Time full = full_of(rule), interval = interval_of(rule);
  const Time end = std::max(now + pause.length.count(), ledger_.pause_end());
  const std::uint64_t before = units_of(ledger_.owed_at(end, full) - end, interval);
  ledger_.pause(now + pause.length.count(), pause.afresh, now, full);
  if (now >= paused_until_) paused_from_ = now;
  paused_until_ = end;
  if (!ledger_.forgets()) asked_for_ = end + full - interval;
  const std::uint64_t after = units_of(ledger_.owed_at(end, full) - end, interval);
  told.charged = after - std::min(after, before);
}

void KeyLedger::tell(const core::Rule& rule, nanoseconds now, core::Overdrawn& told) const {
  const core::Step one = decide(rule, now, Cost{1});
  const Time full = full_of(rule);
  std::optional<Ledger> other;
  const Ledger& counted = counted_by(rule, now, other);
  told.overdraft = units_of(counted.owed_at(now.count(), full) - now.count() - full, interval_of(rule));
  told.remaining = one.verdict == Verdict::allowed ? one.remaining + 1 : one.remaining;
  told.wait = nanoseconds{static_cast<std::int64_t>(one.verdict == Verdict::denied ? one.retry_after : 0)};
  told.reset_after = nanoseconds{static_cast<std::int64_t>(core::ahead_of(owed(rule), now))};
}

}  // namespace weir::store
