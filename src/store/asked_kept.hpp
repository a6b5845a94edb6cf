// What a weir::Reservation keeps of a store that is asked and waited for (asker.hpp): its id there.
//
// One thread at a time for each, which waits for the answers; by a thread that the store answers by, it can
// be cancelled. The store and the clock must outlive it. Not for: what was asked for (weir::Limits,
// weir::SharedLimiter).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "store/asker.hpp"
#include "store/kept.hpp"

namespace weir::inline v0_1::store {

// Throws a `Thrown`, made of a Fault and why, when nobody could settle.
template <class Thrown>
class AskedKept final : public Kept {
 public:
  // `patience` is that of its requests.
  AskedKept(std::shared_ptr<Asker> store, const Clock* clock, std::chrono::nanoseconds patience)
      : store_(std::move(store)), clock_(clock), patience_(patience) {}
  void set_id(std::string id) { reservation_.id = std::move(id); }

  const Clock* clock() const noexcept override { return clock_; }

  // 0, too, when the store does not answer, and when its answer is not waited for.
  std::uint64_t cancel(std::chrono::nanoseconds) noexcept override {
    if (store_->cancel_unawaited(reservation_, patience_)) return 0;
    static_cast<void>(ask(Verb::cancel));
    return reservation_.given_back;
  }

  std::optional<std::chrono::nanoseconds> settle(std::chrono::nanoseconds,
                                                 std::optional<std::uint64_t> actual) override {
    reservation_.actual = actual;
    const Awaited asked = ask(Verb::settle);
    if (asked.fault == Fault::unsuitable)
      throw std::invalid_argument("weir::Reservation::settle: " + asked.why);
    if (asked.fault != Fault::none) throw Thrown(asked.fault, asked.why);
    if (reservation_.wait.count() < 0) return std::nullopt;
    return reservation_.wait;
  }

 private:
  Awaited ask(Verb verb) {
    Awaited one;
    one.verb = verb;
    one.reservation = &reservation_;
    one.patience = patience_;
    store_->ask({&one, 1});
    return one;
  }

  const std::shared_ptr<Asker> store_;
  const Clock* const clock_;
  const std::chrono::nanoseconds patience_;
  store::Reservation reservation_;
};

}  // namespace weir::store
