#include "weir/reservation.hpp"

#include <algorithm>

#include "store/kept.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;

Reservation::Reservation() noexcept = default;

Reservation::Reservation(nanoseconds now, nanoseconds wait, const Decision& decision, std::size_t by,
                         std::unique_ptr<store::Kept> kept, bool by_our_clock) noexcept
    : decision_(decision),
      at_(now + wait),
      wait_(wait),
      by_(by),
      kept_(std::move(kept)),
      granted_(decision.allowed()),
      by_our_clock_(by_our_clock) {}

Reservation::Reservation(Reservation&& from) noexcept
    : decision_(from.decision_),
      at_(from.at_),
      wait_(from.wait_),
      by_(from.by_),
      kept_(std::move(from.kept_)),
      granted_(std::exchange(from.granted_, false)),
      by_our_clock_(from.by_our_clock_) {}

Reservation& Reservation::operator=(Reservation&& from) noexcept {
  if (this == &from) return *this;
  destroy();
  decision_ = from.decision_;
  at_ = from.at_;
  wait_ = from.wait_;
  by_ = from.by_;
  kept_ = std::move(from.kept_);
  granted_ = std::exchange(from.granted_, false);
  by_our_clock_ = from.by_our_clock_;
  return *this;
}

Reservation::~Reservation() {
  if (kept_) [[unlikely]]
    destroy();
}

void Reservation::destroy() noexcept {
  if (kept_ && by_our_clock_) cancel();
  kept_.reset();
}

nanoseconds Reservation::left() const noexcept {
  return kept_ ? std::max(at_ - kept_->now(), nanoseconds{0}) : nanoseconds{0};
}

bool Reservation::set(Alarm& alarm) const noexcept {
  return kept_ && kept_->clock() != nullptr && kept_->clock()->ring_at(at_, alarm);
}

std::uint64_t Reservation::cancel() noexcept { return kept_ ? cancel_at(kept_->now()) : 0; }

std::uint64_t Reservation::cancel_at(nanoseconds now) noexcept {
  if (!kept_ || at_ <= now) return 0;
  now = std::max(now, nanoseconds{0});
  const std::uint64_t given_back = kept_->cancel(now);
  kept_.reset();
  granted_ = false;
  return given_back;
}

std::optional<nanoseconds> Reservation::settle(std::optional<std::uint64_t> actual) {
  return kept_ ? settle_at(kept_->now(), actual) : std::nullopt;
}

std::optional<nanoseconds> Reservation::settle_at(nanoseconds now, std::optional<std::uint64_t> actual) {
  if (!kept_) return std::nullopt;
  const auto settled = kept_->settle(std::max(now, nanoseconds{0}), actual);
  kept_.reset();
  return settled;
}

}  // namespace weir
