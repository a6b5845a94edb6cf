#include "weir/reservation.hpp"

#include <algorithm>

#include "library/reservation_handle.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;

Reservation::Reservation() noexcept = default;

Reservation::Reservation(nanoseconds now, nanoseconds wait, const Decision& decision, std::size_t by,
                         std::unique_ptr<store::ReservationHandle> kept) noexcept
    : decision_(decision),
      at_(now + wait),
      wait_(wait),
      by_(by),
      kept_(std::move(kept)),
      granted_(decision.allowed()),
      has_come_(wait.count() == 0) {}

Reservation::Reservation(Reservation&& from) noexcept
    : decision_(from.decision_),
      at_(from.at_),
      wait_(from.wait_),
      by_(from.by_),
      kept_(std::move(from.kept_)),
      granted_(std::exchange(from.granted_, false)),
      is_settled_(from.is_settled_),
      has_come_(from.has_come_) {}

Reservation& Reservation::operator=(Reservation&& from) noexcept {
  if (this == &from) return *this;
  cancel();
  decision_ = from.decision_;
  at_ = from.at_;
  wait_ = from.wait_;
  by_ = from.by_;
  kept_ = std::move(from.kept_);
  granted_ = std::exchange(from.granted_, false);
  is_settled_ = from.is_settled_;
  has_come_ = from.has_come_;
  return *this;
}

Reservation::~Reservation() {
  if (kept_) [[unlikely]]
    cancel();
}

nanoseconds Reservation::left() const noexcept {
  return kept_ ? std::max(at_ - kept_->now(), nanoseconds{0}) : nanoseconds{0};
}

bool Reservation::set(Alarm& alarm) const noexcept {
  return kept_ && kept_->clock() != nullptr && kept_->clock()->ring_at(at_, alarm);
}

namespace {

// Where it has come, when it came is not told.
nanoseconds moment_after(nanoseconds now, nanoseconds wait, nanoseconds known) {
  return wait.count() > 0 ? now + wait : std::min(known, now);
}

nanoseconds at_least_none(nanoseconds hold) { return std::max(hold, nanoseconds{0}); }

}  // namespace

// Of one that keeps nothing.
std::optional<nanoseconds> Reservation::known_moment() const {
  return granted_ && !is_settled_ ? std::optional(at_) : std::nullopt;
}

std::optional<nanoseconds> Reservation::moment() {
  if (!kept_) return known_moment();
  const nanoseconds now = kept_->now();
  const std::optional<nanoseconds> wait = kept_->moment(now);
  if (!wait && kept_->can_cancel() && !has_come_) granted_ = false;
  if (!wait) return std::nullopt;
  has_come_ = wait->count() == 0;
  at_ = moment_after(now, *wait, at_);
  return at_;
}

detail::Ready<std::optional<nanoseconds>> Reservation::ready_moment() const {
  using Told = detail::RawResult<std::optional<nanoseconds>>;
  if (!kept_) return store::ReservationHandle::answers(known_moment());
  return [ready = kept_->ready_moment(kept_->now()), at = at_,
          clock = kept_->clock()](Callback<Told> answer) mutable {
    ready([answer = std::move(answer), at, clock](Told told) mutable {
      if (told.value) told.value = moment_after(store::read(clock), *told.value, at);
      answer(std::move(told));
    });
  };
}

nanoseconds Reservation::extend(nanoseconds hold) {
  return kept_ ? kept_->extend(kept_->now(), at_least_none(hold)) : nanoseconds{0};
}

detail::Ready<nanoseconds> Reservation::ready_extend(nanoseconds hold) const {
  if (!kept_) return store::ReservationHandle::answers(nanoseconds{0});
  return kept_->ready_extend(kept_->now(), at_least_none(hold));
}

bool Reservation::can_cancel() const noexcept { return kept_ && kept_->can_cancel() && kept_->now() < at_; }

std::uint64_t Reservation::cancel() noexcept {
  if (!kept_) return 0;
  const nanoseconds now = kept_->now();
  if (at_ <= now || !kept_->can_cancel()) return 0;
  const std::uint64_t given_back = kept_->cancel(now);
  kept_.reset();
  granted_ = false;
  return given_back;
}

void Reservation::begin_cancel(Reservation mine, Callback<detail::RawResult<std::uint64_t>> answer) {
  if (!mine.can_cancel()) return answer({});
  const auto kept = std::exchange(mine.kept_, nullptr);
  kept->begin_cancel(kept->now(), std::move(answer));
}

std::optional<nanoseconds> Reservation::settle(std::optional<std::uint64_t> actual) {
  if (!kept_) return std::nullopt;
  const auto settled = kept_->settle(kept_->now(), actual);
  if (settled) kept_.reset();
  is_settled_ = is_settled_ || settled;
  return settled;
}

void Reservation::begin_settle(Reservation mine, std::optional<std::uint64_t> actual,
                               Callback<detail::RawResult<std::optional<nanoseconds>>> answer) {
  if (!mine.kept_) return answer({});
  const auto kept = std::exchange(mine.kept_, nullptr);
  kept->begin_settle(kept->now(), actual, std::move(answer));
}

}  // namespace weir
