#include "waiting/queues.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "core/moment.hpp"
#include "store/check_rules.hpp"
#include "store/reservations.hpp"

namespace weir::inline v0_1::waiting {

using std::chrono::nanoseconds;

namespace {

// How many pauses are kept for those who were asked about before: more of them than cross one answer.
constexpr std::size_t kPauses = 64;

nanoseconds after(nanoseconds base, unsigned __int128 units, nanoseconds interval) {
  const auto far = static_cast<unsigned __int128>(Queues::kFar.count());
  const unsigned __int128 time =
      std::min(far, std::min(far, units) * static_cast<unsigned __int128>(interval.count()));
  return std::min(base, Queues::kFar) + nanoseconds{static_cast<std::int64_t>(time)};
}

void append_number(std::string& name, std::uint64_t number) {
  std::array<char, sizeof(number)> bytes{};
  std::memcpy(bytes.data(), &number, sizeof(number));
  name.append(bytes.data(), bytes.size());
}

// Which state it is, by which guarantee, which may have room when the others have none, and at the end which
// class asks.
std::string name_of(std::span<const store::Check> checks, std::size_t which) {
  const store::Check& check = checks[which];
  std::string name;
  append_number(name, check.limit->id);
  append_number(name, check.key.size());
  name.append(check.key);
  const bool is_inside = check.inside != store::Check::kNoGuarantee;
  append_number(name, is_inside ? checks[check.inside].key.size() + 1 : 0);
  if (is_inside) {
    append_number(name, checks[check.inside].limit->id);
    name.append(checks[check.inside].key);
  }
  append_number(name, static_cast<std::uint64_t>(check.limit->rule.kept.count()));
  return name;
}

}  // namespace

struct Queues::Queue {
  const Place& first() const { return **waiting.begin(); }

  std::string name{};
  struct ByNumber {
    bool operator()(const Place* a, const Place* b) const { return a->number < b->number; }
  };
  std::set<Place*, ByNumber> waiting{};
  unsigned __int128 units = 0;  // of all of them
  unsigned __int128 sure = 0;   // of those without a hold
  nanoseconds sooner_by{0};     // at most, by what is held
  std::uint64_t key = 0;        // Reservations::place_of()
  std::uint64_t limit = 0;      // of slots, Limit::id
  bool is_slots = false;
  nanoseconds base{0};      // when there was or will be room for nothing yet
  nanoseconds opens{0};     // of the last who was its first and had a plan
  nanoseconds interval{0};  // for one unit; 0: nobody knows, of slots
  nanoseconds kept{0};      // by its class, as core::Rule has it
  int together = 2;  // may ask at once: one more with each that acts, one less with each that does not fit
};

Queues::Queues() = default;
Queues::~Queues() = default;

bool Queues::was_not_ahead(std::span<const store::Check> checks) {
  return std::any_of(checks.begin(), checks.end(), [checks](const store::Check& each) {
    const bool is_inside =
        each.inside != store::Check::kNoGuarantee && checks[each.inside].decision.allowed();
    return !each.shadow && !core::may_wait(each.limit->rule) && !is_inside;
  });
}

Queues::Lines Queues::lines_of(std::span<const store::Check> checks) {
  Lines lines;
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (!checks[i].shadow) lines.emplace_back(name_of(checks, i), checks[i].cost.units);
  return lines;
}

Queues::Found Queues::find_earlier(const Place& place, Of lines) const {
  for (std::size_t i = 0; !queues_.empty() && i < place.checks.size(); ++i) {
    if (place.checks[i].shadow || (lines == Of::slots && !store::takes_slot(place.checks[i]))) continue;
    const auto found = queues_.find(name_of(place.checks, i));
    if (found == queues_.end() || found->second.get() == place.queue) continue;
    if (found->second->first().number < place.number) return {found->second.get(), i};
  }
  return {nullptr, 0};
}

bool Queues::join(Place& place, Of lines) {
  const detail::Held lock(mutex_);
  const Found found = find_earlier(place, lines);
  if (found.queue == nullptr) return false;
  if (place.queue != nullptr) remove(place, false);
  add(place, *found.queue, found.by);
  return true;
}

bool Queues::has_line_for(const Place& place) const {
  const detail::Held lock(mutex_);
  return find_earlier(place, Of::all).queue != nullptr;
}

void Queues::wait_for(Place& place, std::size_t by, nanoseconds opens, nanoseconds sooner_by) {
  const detail::Held lock(mutex_);
  if (stand(place, by, opens)) place.queue->sooner_by = sooner_by;
}

bool Queues::plan(Place& place, std::size_t by, Plan plan) {
  const detail::Held lock(mutex_);
  forget_plan(place);
  if (!stand(place, by, plan.opens)) return false;
  // Those that were told before that there is room are told again when it acts.
  int together = 0;
  place.asks_beside = false;
  for (Place* const each : place.queue->waiting) {
    each->may_follow = false;
    if (++together > kTogether) break;
  }
  place.queue->sooner_by = plan.sooner_by;
  for (const std::uint64_t each : plan.keys) planned_.emplace(each, &place);
  place.planned = std::move(plan.keys);
  return true;
}

// Whether it is the first there, who says where the line begins.
bool Queues::stand(Place& place, std::size_t by, nanoseconds opens) {
  std::string name = name_of(place.checks, by);
  std::unique_ptr<Queue>& its = queues_[name];
  if (!its) {
    its = std::make_unique<Queue>();
    lines_.fetch_add(1, std::memory_order_relaxed);
  }
  Queue& queue = *its;
  const store::Check& check = place.checks[by];
  if (queue.name.empty()) {
    queue.name = std::move(name);
    queue.key = store::Reservations::place_of(check.hash);
    queue.limit = check.limit->id;
    queue.kept = check.limit->rule.kept;
    queue.is_slots = core::counts_slots(check.limit->rule.algorithm);
    by_key_.emplace(queue.key, &queue);
    if (queue.is_slots) lines_of_slots_.fetch_add(1, std::memory_order_relaxed);
  }
  if (place.queue != &queue) {
    if (place.queue != nullptr) remove(place, false);
    add(place, queue, by);
  }
  if (&queue.first() != &place) return false;
  queue.interval = queue.is_slots ? nanoseconds{0} : check.limit->rule.quota.emission_interval();
  place.opens = queue.opens = opens;
  queue.base = opens - after(nanoseconds{0}, units_up_to(place), queue.interval);
  return true;
}

// Its own, and those of one in its line that has a plan for an earlier moment: it came later, on another
// loop, and was answered first.
std::uint64_t Queues::units_up_to(const Place& place) const {
  std::uint64_t units = place.units;
  const auto [first, last] = planned_.equal_range(place.queue->key);
  for (auto each = first; each != last; ++each) {
    const Place& other = *each->second;
    if (&other != &place && other.queue == place.queue && other.opens <= place.opens) units += other.units;
  }
  return units;
}

void Queues::hear(store::Reservations& reservations) {
  reservations.when_freed([this](std::uint64_t key) { slot_freed(key); });
  reservations.when_owed_changes([this](std::uint64_t key) { owed_changed(key); });
  reservations.when_paused(
      [this](std::uint64_t key, nanoseconds end, bool afresh) { paused(key, end, afresh); });
}

void Queues::slot_freed(std::uint64_t slots) {
  if (lines_of_slots_.load(std::memory_order_relaxed) == 0) return;
  const detail::Held lock(mutex_);
  const auto [first, last] = by_key_.equal_range(slots);
  for (auto each = first; each != last; ++each) {
    if (!each->second->is_slots) continue;
    const Place& place = each->second->first();
    place.owner->on_first(place.number);
  }
}

void Queues::unplan(Place& place) {
  if (place.planned.empty()) return;
  const detail::Held lock(mutex_);
  forget_plan(place);
}

void Queues::forget_plan(Place& place) {
  for (const std::uint64_t key : place.planned) {
    auto [each, last] = planned_.equal_range(key);
    while (each != last && each->second != &place) ++each;
    if (each != last) planned_.erase(each);
  }
  place.planned.clear();
}

void Queues::owed_changed(std::uint64_t key) {
  if (empty()) return;
  const detail::Held lock(mutex_);
  std::erase_if(pauses_, [key](const Paused& each) { return each.key == key; });  // by a reset perhaps
  const auto [first, last] = planned_.equal_range(key);
  for (auto each = first; each != last; ++each) each->second->owner->on_first(each->second->number);
}

// What is given back of before makes nobody earlier than the end. Of a key that is afresh then all of a burst
// may act at once.
void Queues::paused(std::uint64_t key, nanoseconds end, bool afresh) {
  if (empty()) return;
  owed_changed(key);
  const detail::Held lock(mutex_);
  const auto [first, last] = by_key_.equal_range(key);
  for (auto each = first; each != last; ++each) {
    unsigned __int128 units = 0;
    for (Place* const place : each->second->waiting) {
      const std::uint64_t its = std::max<std::uint64_t>(1, place->units);
      const nanoseconds earliest = afresh ? end : after(end, units + its - 1, each->second->interval);
      if (earliest > place->latest)
        tell_late(*place, earliest);
      else if (!place->has_hold)
        units += its;
    }
  }
  for (auto each = needing_.lower_bound({key, nullptr}); each != needing_.end() && each->first == key; ++each)
    if (each->second->latest < end) tell_late(*each->second, end);
  if (pauses_.size() == kPauses) pauses_.pop_front();
  pauses_.push_back({key, end, last_number_.load(std::memory_order_relaxed)});
}

void Queues::tell_late(Place& place, nanoseconds earliest) {
  place.too_late = earliest;
  place.owner->on_first(place.number);
}

nanoseconds Queues::too_late(const Place& place) const {
  const detail::Held lock(mutex_);
  return told_too_late(place);
}

void Queues::needs(Place& place, std::vector<std::uint64_t> rates) {
  const detail::Held lock(mutex_);
  for (const std::uint64_t key : place.rates) needing_.erase({key, &place});
  for (const std::uint64_t key : rates) needing_.emplace(key, &place);
  place.rates = std::move(rates);
}

nanoseconds Queues::after_all(std::span<const store::Check> checks, std::size_t which) const {
  const detail::Held lock(mutex_);
  const Ahead ahead = ahead_of(checks, which);
  return ahead.units == 0 ? nanoseconds{0}
                          : after(ahead.base, ahead.units + checks[which].cost.units, ahead.interval);
}

std::vector<store::Line> Queues::lines_ahead(std::span<const store::Check> checks, nanoseconds now) const {
  std::vector<store::Line> lines(checks.size());
  bool any = false;
  const detail::Held lock(mutex_);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Ahead ahead = ahead_of(checks, i);
    const nanoseconds end = after(ahead.base, ahead.units, ahead.interval);
    if (ahead.units == 0 || end <= now) continue;
    lines[i] = {std::min(ahead.opens, end), end};
    any = true;
  }
  return any ? lines : std::vector<store::Line>{};
}

Queues::Ahead Queues::ahead_of(std::span<const store::Check> checks, std::size_t which) const {
  const store::Check& check = checks[which];
  if (check.shadow || check.cost.units == 0 || core::counts_slots(check.limit->rule.algorithm)) return {};
  std::string state = name_of(checks, which);
  state.resize(state.size() - sizeof(std::uint64_t));  // of every class
  Ahead ahead;
  for (auto each = queues_.lower_bound(state); each != queues_.end() && each->first.starts_with(state);
       ++each) {
    const Queue& queue = *each->second;
    if (queue.kept > check.limit->rule.kept) continue;
    ahead.base = std::max(ahead.base, queue.base + (check.limit->rule.kept - queue.kept));
    ahead.opens = std::max(ahead.opens, queue.opens);
    ahead.interval = queue.interval;
    ahead.units += queue.units;
  }
  return ahead;
}

void Queues::leave(Place& place, bool charged, std::uint64_t room) {
  unplan(place);
  const detail::Held lock(mutex_);
  remove(place, charged, room);
}

bool Queues::stays(Place& place) {
  const detail::Held lock(mutex_);
  place.asks_beside = false;
  place.queue->together = std::max(1, place.queue->together - 1);
  return &queue_of(place).first() == &place;
}

bool Queues::takes_turn(Place& place) {
  const detail::Held lock(mutex_);
  const bool is_told = std::exchange(place.may_follow, false);
  return place.asks_beside = is_told && &queue_of(place).first() != &place;
}

void Queues::add(Place& place, Queue& queue, std::size_t by) {
  place.queue = &queue;
  place.by = by;
  place.units = place.checks[by].cost.units;
  place.asks_for = 0;
  for (const auto& [line, units] : lines_of(place.checks))
    place.asks_for = (place.asks_for * 31 + std::hash<std::string>{}(line)) * 31 + units;
  place.may_follow = place.asks_beside = false;
  queue.waiting.insert(&place);
  queue.units += place.units;
  if (!place.has_hold) queue.sure += place.units;
  // It was asked about before a pause, and is answered only now.
  for (const Paused& pause : pauses_)
    if (pause.key == queue.key && pause.last >= place.number && pause.end > place.latest)
      tell_late(place, pause.end);
}

void Queues::remove(Place& place, bool charged, std::uint64_t room) {
  Queue& queue = *std::exchange(place.queue, nullptr);
  const bool was_first = &queue.first() == &place;
  queue.waiting.erase(&place);
  for (const std::uint64_t key : place.rates) needing_.erase({key, &place});
  place.rates.clear();
  queue.units -= place.units;
  if (!place.has_hold) queue.sure -= place.units;
  if (charged) {
    queue.together = std::min(kTogether, queue.together + 1);
    queue.base = after(queue.base, place.units, queue.interval);
    if (place.has_hold) queue.sooner_by = after(queue.sooner_by, place.units, queue.interval);
  }
  if (queue.waiting.empty()) {
    auto [each, last] = by_key_.equal_range(queue.key);
    while (each != last && each->second != &queue) ++each;
    if (each != last) by_key_.erase(each);
    if (queue.is_slots) lines_of_slots_.fetch_sub(1, std::memory_order_relaxed);
    queues_.erase(std::string(queue.name));
    if (lines_.fetch_sub(1, std::memory_order_relaxed) == 1) pauses_.clear();
  } else if (was_first) {
    const Place& first = queue.first();
    first.owner->on_first(first.number);
    tell_beside(queue, room);
  }
}

void Queues::follow(const Place& place, std::uint64_t room) {
  const detail::Held lock(mutex_);
  if (&queue_of(place).first() == &place) tell_beside(queue_of(place), place.units + room);
}

// What asks for something else may fit where the first does not, and would pass it; so may one that asks
// after another that has no answer yet.
void Queues::tell_beside(const Queue& queue, std::uint64_t room) {
  const Place& first = queue.first();
  unsigned __int128 units = 0;
  int together = 0;
  for (Place* const each : queue.waiting) {
    units += each->units;
    const bool fits = room > 0 && units <= room && each->asks_for == first.asks_for;
    if (!fits || each->asks_beside || ++together > queue.together) return;
    if (each == &first || std::exchange(each->may_follow, true)) continue;
    each->owner->on_first(each->number);
  }
}

bool Queues::is_first(const Place& place) const {
  const detail::Held lock(mutex_);
  return &queue_of(place).first() == &place;
}

nanoseconds Queues::first_moment(const Place& place) const {
  const detail::Held lock(mutex_);
  const Queue& queue = queue_of(place);
  return after(queue.base, queue.first().units, queue.interval);
}

nanoseconds Queues::last_moment(const Place& place) const {
  const detail::Held lock(mutex_);
  const Queue& queue = queue_of(place);
  return after(queue.base, queue.units, queue.interval);
}

nanoseconds Queues::last_moment_at_best(const Place& place) const {
  const detail::Held lock(mutex_);
  const Queue& queue = queue_of(place);
  return after(queue.base, queue.sure, queue.interval) - queue.sooner_by;
}

std::unordered_map<std::uint64_t, std::uint64_t> Queues::slot_waiters() const {
  std::unordered_map<std::uint64_t, std::uint64_t> waiters;
  const detail::Held lock(mutex_);
  for (const auto& [key, queue] : by_key_)
    if (queue->is_slots) waiters[queue->limit] += queue->waiting.size();
  return waiters;
}

}  // namespace weir::waiting
