#include "store/reservations.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "core/reservation.hpp"
#include "store/form.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

void refuse(Request& request, std::string why) {
  request.fault = Fault::unsuitable;
  request.why = std::move(why);
}

bool looks(std::span<const Check> checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check& each) { return each.cost.units == 0; });
}

}  // namespace

// In ascending order, so that two threads cannot wait for each other.
class Reservations::Locked {
 public:
  template <class Hashes>
  Locked(Reservations& reservations, const Hashes& hashes) : stripes_(reservations.stripes_) {
    for (const auto& each : hashes) wanted_ |= std::uint64_t{1} << (each.hash >> 58);
    each([](Stripe& stripe) { stripe.mutex.lock(); });
  }
  ~Locked() {
    each([](Stripe& stripe) { stripe.mutex.unlock(); });
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  template <class Call>
  void each(const Call& call) {
    for (std::uint64_t left = wanted_; left != 0; left &= left - 1)
      call(stripes_[static_cast<std::size_t>(std::countr_zero(left))]);
  }

 private:
  std::array<Stripe, kStripes>& stripes_;
  std::uint64_t wanted_ = 0;
};

Reservations::Reservations(Table& table, Bounds bounds)
    : table_(table), bounds_(bounds), ids_(Table::random_seed(), Table::random_seed()) {}

Line* Reservations::find_line(std::uint64_t hash, std::uint64_t epoch) {
  auto& lines = stripe_of(hash).lines;
  const auto found = lines.find(hash);
  return found != lines.end() && found->second.epoch() == epoch ? &found->second : nullptr;
}

Line& Reservations::line_for(std::uint64_t hash, nanoseconds until) {
  Stripe& stripe = stripe_of(hash);
  const auto [found, is_new] = stripe.lines.try_emplace(hash, 0);
  if (is_new) {
    found->second = Line(epochs_.fetch_add(1, std::memory_order_relaxed) + 1);
    stripe.due.emplace(until, hash);
  }
  found->second.keep_until(until);
  return found->second;
}

void Reservations::count_by(const Check& check) {
  auto& lines = stripe_of(check.hash).lines;
  const auto found = lines.find(check.hash);
  if (found == lines.end()) return;
  const std::size_t lost = found->second.count_by(Numbers(check.limit->rule.quota));
  holes_.fetch_sub(lost, std::memory_order_relaxed);
  lost_holes_.fetch_add(lost, std::memory_order_relaxed);
}

void Reservations::clear_away(Stripe& stripe, nanoseconds now) {
  while (!stripe.due.empty() && stripe.due.begin()->first <= now) {
    const std::uint64_t hash = stripe.due.begin()->second;
    stripe.due.erase(stripe.due.begin());
    const auto found = stripe.lines.find(hash);
    if (found == stripe.lines.end()) continue;
    if (found->second.until() > now) {
      stripe.due.emplace(found->second.until(), hash);
      continue;
    }
    holes_.fetch_sub(found->second.holes(), std::memory_order_relaxed);
    stripe.lines.erase(found);
  }
}

void Reservations::clear_away(Shelf& shelf, nanoseconds now) {
  while (!shelf.due.empty() && shelf.due.begin()->first <= now) {
    shelf.records.erase(shelf.due.begin()->second);
    shelf.due.erase(shelf.due.begin());
    open_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Reservations::reserve(Request& request, Moment when) {
  Reservation& asked = *request.reservation;
  asked.id.clear();
  asked.wait = nanoseconds{0};
  if ((asked.hold.count() == 0 || looks(request.checks)) && reserve_now(request, when)) return;
  reserve_later(request, when);
}

// As a plain check; false when that was denied and its moment may be soon enough.
bool Reservations::reserve_now(Request& request, Moment when) {
  Check& first = request.checks[0];
  if (request.checks.size() == 1 && first.is_plain()) {
    // Built in its place: an assignment would copy it (core::StepOf).
    new (&first.decision)
        Decision(table_.check(Table::place_of(first.hash), *first.limit, first.cost, when.arrived, when.now));
    request.charged = first.decision.allowed();
  } else {
    request.charged = table_.check_all(request.checks, when.arrived, when.now);
    request.by = deciding(request.checks);
  }
  const Decision& decision = request.decision();
  if (decision.allowed()) return true;
  Reservation& asked = *request.reservation;
  asked.wait = decision.retry_after.value_or(nanoseconds{-1});
  return asked.max_wait.count() == 0 || !decision.retry_after;
}

void Reservations::reserve_later(Request& request, Moment when) {
  // It may need an id, so there has to be room for one before anything is charged.
  if (open_.fetch_add(1, std::memory_order_relaxed) >= bounds_.reservations) {
    for (Shelf& shelf : shelves_) {
      const std::lock_guard lock(shelf.mutex);
      clear_away(shelf, when.now);
    }
    if (open_.load(std::memory_order_relaxed) > bounds_.reservations) {
      open_.fetch_sub(1, std::memory_order_relaxed);
      return refuse(request, std::to_string(bounds_.reservations) +
                                 " reservations can still be cancelled or settled, and no more are granted");
    }
  }
  Reservation& asked = *request.reservation;
  Locked locked(*this, request.checks);
  locked.each([&](Stripe& stripe) { clear_away(stripe, when.now); });
  for (const Check& check : request.checks) count_by(check);
  std::vector<Part> parts;
  if (!holds_fit(request, when.now)) {
    request.charged = false;
  } else if (auto taken = take_hole(request, when.now)) {
    parts.push_back(std::move(*taken));
  } else {
    Reserving reserving{.max_wait = asked.max_wait};
    request.charged = table_.reserve_all(request.checks, when.arrived, when.now, reserving);
    request.by = reserving.by;
    asked.wait = reserving.wait;
    for (std::size_t i = 0; request.charged && i < request.checks.size(); ++i) {
      const Check& check = request.checks[i];
      if (reserving.charges[i].after.until == 0 || check.cost.units == 0) continue;
      parts.push_back({check.hash, 0, check.limit->rule.quota, check.cost.units, reserving.charges[i],
                       reserving.charges[i].after.until, check.limit->holding.settles, check.shadow});
    }
  }
  if (!request.charged || (asked.wait.count() == 0 && asked.hold.count() == 0)) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  keep(request, std::move(parts), when.now);
}

// Of one that is to be held: whether each of its limits has room for another open hold.
bool Reservations::holds_fit(Request& request, nanoseconds now) {
  Reservation& asked = *request.reservation;
  if (asked.hold.count() == 0) return true;
  nanoseconds longest{0};
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Check& check = request.checks[i];
    const Holding& holding = check.limit->holding;
    if (!holding.settles || check.shadow) continue;
    const auto found = stripe_of(check.hash).lines.find(check.hash);
    Line none(0);
    Line& line = found != stripe_of(check.hash).lines.end() ? found->second : none;
    const nanoseconds wait = line.until_hold_fits(check.cost.units, holding.at_most, now);
    if (wait.count() == 0 || longest.count() < 0 || (wait.count() > 0 && wait <= longest)) continue;
    longest = wait;
    request.by = static_cast<std::uint8_t>(i);
  }
  if (longest.count() == 0) return true;
  table_.look_all(request.checks, now);
  Decision& decision = request.checks[request.by].decision;
  decision.verdict = longest.count() < 0 ? Verdict::never : Verdict::denied;
  decision.retry_after = longest.count() < 0 ? std::nullopt : std::optional(longest);
  asked.wait = longest;
  return false;
}

// A moment that somebody gave up, unless the request's own would be earlier.
std::optional<Reservations::Part> Reservations::take_hole(Request& request, nanoseconds now) {
  Check& check = request.checks[0];
  const core::Rule& rule = check.limit->rule;
  if (request.checks.size() != 1 || !check.is_plain() || !core::may_wait(rule)) return std::nullopt;
  auto& lines = stripe_of(check.hash).lines;
  const auto found = lines.find(check.hash);
  if (found == lines.end() || !found->second.has_holes(now)) return std::nullopt;
  Line& line = found->second;
  table_.look_all(request.checks, now);
  if (check.decision.verdict != Verdict::denied || !check.decision.retry_after) return std::nullopt;
  Reservation& asked = *request.reservation;
  const nanoseconds latest = now + std::min(*check.decision.retry_after, asked.max_wait);
  const Hole* const hole = line.find_hole(check.cost.units, now, latest);
  if (hole == nullptr) return std::nullopt;
  const std::size_t before = line.holes();
  const Hole taken = line.take(*hole, check.cost.units);
  holes_.fetch_sub(before - line.holes(), std::memory_order_relaxed);
  check.decision.verdict = Verdict::allowed;
  check.decision.retry_after.reset();
  request.charged = true;
  request.by = 0;
  asked.wait = taken.moment - now;
  return Part{check.hash,
              line.epoch(),
              rule.quota,
              check.cost.units,
              taken.whole.value_or(core::Charge{}),
              taken.end,
              check.limit->holding.settles,
              false};
}

void Reservations::keep(Request& request, std::vector<Part> parts, nanoseconds now) {
  Reservation& asked = *request.reservation;
  const nanoseconds moment = now + asked.wait;
  const nanoseconds until = moment + asked.hold;
  for (Part& part : parts) {
    Line& line = line_for(part.hash, until);
    part.epoch = line.epoch();
    part.number = line.count_part();
    line.count_by(Numbers(part.quota));
    if (moment > now) line.add_moment(moment, now);
    if (asked.hold.count() != 0 && part.settles && !part.shadow)
      part.hold = line.open_hold(until, part.units, part.end, now);
  }
  const ReservationId id = ids_.next();
  Shelf& shelf = shelf_of(id);
  const std::lock_guard lock(shelf.mutex);
  clear_away(shelf, now);
  const auto due = shelf.due.emplace(until, id);
  shelf.records.emplace(id, Record{moment, until, std::move(parts), due});
  asked.id = id.text();
}

std::optional<Reservations::Record> Reservations::take_record(ReservationId id, nanoseconds now,
                                                              bool before_its_moment) {
  Shelf& shelf = shelf_of(id);
  const std::lock_guard lock(shelf.mutex);
  clear_away(shelf, now);
  const auto found = shelf.records.find(id);
  if (found == shelf.records.end() || (before_its_moment && found->second.moment <= now)) return std::nullopt;
  Record record = std::move(found->second);
  shelf.due.erase(record.due);
  shelf.records.erase(found);
  open_.fetch_sub(1, std::memory_order_relaxed);
  return record;
}

void Reservations::cancel(Request& request, nanoseconds now) {
  Reservation& asked = *request.reservation;
  asked.given_back = 0;
  const auto id = ReservationId::read(asked.id);
  const auto record = id ? take_record(*id, now, true) : std::nullopt;
  if (!record) return;
  Locked locked(*this, record->parts);
  for (const Part& part : record->parts) {
    if (take_back(part, record->moment, now) && !part.shadow)
      asked.given_back = std::max(asked.given_back, part.units);
    Line* const line = find_line(part.hash, part.epoch);
    if (line == nullptr) continue;
    line->remove_moment(record->moment);
    if (part.hold != 0) line->close_hold(part.hold);
  }
}

// The last reservation of a key goes back as if it had never been; any other leaves its moment to the next.
bool Reservations::take_back(const Part& part, nanoseconds moment, nanoseconds now) {
  Line* const line = find_line(part.hash, part.epoch);
  if (line == nullptr) return false;
  const Table::Place place = Table::place_of(part.hash);
  if (part.charge.after.until != 0 && table_.take_back(place, part.charge)) {
    core::TwoWords state = part.charge.before;
    // The one before it may have been cancelled earlier, and is now the last.
    while (const auto last = line->take_last(state, now)) {
      holes_.fetch_sub(1, std::memory_order_relaxed);
      const core::Charge charged = last->whole.value_or(core::Charge{});
      if (!table_.take_back(place, charged)) break;
      state = charged.before;
    }
    return true;
  }
  const std::size_t before = line->holes();
  const std::optional<core::Charge> whole =
      part.charge.after.until != 0 ? std::optional(part.charge) : std::nullopt;
  const bool is_room = holes_.load(std::memory_order_relaxed) < bounds_.holes;
  const bool kept =
      is_room && line->add_hole({moment, part.units, Numbers(part.quota), part.end, whole}, now);
  holes_.fetch_add(line->holes() - before, std::memory_order_relaxed);
  if (!kept) lost_holes_.fetch_add(1, std::memory_order_relaxed);
  return kept;
}

void Reservations::settle(Request& request, nanoseconds now) {
  Reservation& asked = *request.reservation;
  asked.wait = nanoseconds{-1};
  const auto id = ReservationId::read(asked.id);
  if (!id) return;
  {
    Shelf& shelf = shelf_of(*id);
    const std::lock_guard lock(shelf.mutex);
    clear_away(shelf, now);
    const auto found = shelf.records.find(*id);
    if (found == shelf.records.end()) return;
    for (const Part& part : found->second.parts) {
      const auto burst = static_cast<std::uint64_t>(part.quota.burst());
      if (!part.settles || asked.actual / kMostBursts + (asked.actual % kMostBursts != 0 ? 1 : 0) <= burst)
        continue;
      return refuse(request, too_much(asked.actual, burst));
    }
  }
  const auto record = take_record(*id, now, false);
  if (!record) return;
  Locked locked(*this, record->parts);
  for (const Part& part : record->parts) {
    Line* const line = find_line(part.hash, part.epoch);
    if (line == nullptr) continue;
    asked.wait = std::max(asked.wait, nanoseconds{0});
    if (!part.settles) continue;
    const Numbers numbers(part.quota);
    core::Settlement settlement{.quota = part.quota, .left = {0, numbers.interval}};
    if (part.hold != 0) settlement.left.until = line->close_hold(part.hold);
    if (asked.actual > part.units) {
      settlement.more = asked.actual - part.units;
    } else if (!line->is_anybody_ahead(now) && !line->has_holes(now)) {
      settlement.less = part.units - asked.actual;
      line->move_up(settlement.left.until, core::back(settlement, now));
    }
    const core::TwoWords state = table_.settle(Table::place_of(part.hash), settlement, now);
    if (!part.shadow)
      asked.wait = std::max(asked.wait, core::until_one_more(core::Rule{part.quota}, state, now));
  }
}

void Reservations::give_back(const Check& charged, nanoseconds charged_at, nanoseconds now) {
  Stripe& stripe = stripe_of(charged.hash);
  const std::lock_guard lock(stripe.mutex);
  if (const auto found = stripe.lines.find(charged.hash); found != stripe.lines.end()) {
    Line& line = found->second;
    if (line.is_anybody_ahead(now) || line.has_holes(now) || line.has_holds(now)) return;
  }
  table_.give_back(Table::place_of(charged.hash), charged.limit->rule.quota, charged.cost, charged_at, now);
}

bool Reservations::reset(std::uint64_t hash, nanoseconds now) {
  Stripe& stripe = stripe_of(hash);
  const std::lock_guard lock(stripe.mutex);
  if (const auto found = stripe.lines.find(hash); found != stripe.lines.end()) {
    holes_.fetch_sub(found->second.holes(), std::memory_order_relaxed);
    stripe.lines.erase(found);
  }
  return table_.reset(Table::place_of(hash), now);
}

Reservations::Counts Reservations::counts() const {
  return {open_.load(std::memory_order_relaxed), holes_.load(std::memory_order_relaxed),
          lost_holes_.load(std::memory_order_relaxed)};
}

}  // namespace weir::store
