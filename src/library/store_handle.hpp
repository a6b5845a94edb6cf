// What a weir::Reservation keeps of a store that is asked (blocking_store.hpp): its id there.
//
// One thread at a time for each, which waits for the answers, unless the store answers by it. The store and
// the clock must outlive it. Not for: what was asked for (weir::Limits, weir::SharedLimiter).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "library/blocking_store.hpp"
#include "library/reservation_handle.hpp"
#include "weir/store_fault.hpp"

namespace weir::inline v0_1::store {

class StoreHandle final : public ReservationHandle {
 public:
  // `patience` is that of its requests.
  StoreHandle(std::shared_ptr<BlockingStore> store, const Clock* clock, std::chrono::nanoseconds patience)
      : store_(std::move(store)), clock_(clock), patience_(patience) {}
  void set_id(std::string id) { reservation_.id = std::move(id); }

  const Clock* clock() const noexcept override { return clock_; }
  bool can_cancel() const noexcept override { return !reservation_.id.empty(); }

  std::optional<std::chrono::nanoseconds> moment(std::chrono::nanoseconds) override {
    if (reservation_.id.empty()) return std::nullopt;
    const Request asked = ask(Verb::moment);
    if (asked.fault != Fault::none) throw StoreFault(asked.fault, asked.why);
    return settled(reservation_);
  }

  std::chrono::nanoseconds extend(std::chrono::nanoseconds, std::chrono::nanoseconds hold) override {
    if (reservation_.id.empty()) return std::chrono::nanoseconds{0};
    reservation_.hold = hold;
    const Request asked = ask(Verb::extend);
    if (asked.fault != Fault::none) throw StoreFault(asked.fault, asked.why);
    return reservation_.wait;
  }

  detail::Ready<std::optional<std::chrono::nanoseconds>> ready_moment(std::chrono::nanoseconds) override {
    if (reservation_.id.empty()) return answers(std::optional<std::chrono::nanoseconds>());
    return ready<Settled>(Verb::moment, reservation_, [](const Request& told) {
      return Settled{settled(*told.reservation), told.fault, told.why};
    });
  }

  detail::Ready<std::chrono::nanoseconds> ready_extend(std::chrono::nanoseconds,
                                                       std::chrono::nanoseconds hold) override {
    using Extended = detail::RawResult<std::chrono::nanoseconds>;
    if (reservation_.id.empty()) return answers(std::chrono::nanoseconds{0});
    reservation_.hold = hold;
    return ready<Extended>(Verb::extend, reservation_, [](const Request& told) {
      return Extended{told.reservation->wait, told.fault, told.why};
    });
  }

  // 0, too, when the store does not answer, and when its answer is not waited for.
  std::uint64_t cancel(std::chrono::nanoseconds now) noexcept override {
    if (store_->answers_by_this_thread()) {
      begin_cancel(now, Callback<Cancelled>([](const Cancelled&) {}));
      return 0;
    }
    static_cast<void>(ask(Verb::cancel));
    return reservation_.given_back;
  }

  std::optional<std::chrono::nanoseconds> settle(std::chrono::nanoseconds,
                                                 std::optional<std::uint64_t> actual) override {
    reservation_.actual = actual;
    const Request asked = ask(Verb::settle);
    if (asked.fault == Fault::unsuitable) throw std::invalid_argument(kSettle + asked.why);
    if (asked.fault != Fault::none) throw StoreFault(asked.fault, asked.why);
    return settled(reservation_);
  }

  void begin_cancel(std::chrono::nanoseconds, Callback<Cancelled> answer) override {
    ready<Cancelled>(Verb::cancel, std::move(reservation_), [](const Request& told) {
      return Cancelled{told.reservation->given_back, told.fault, told.why};
    })(std::move(answer));
  }

  void begin_settle(std::chrono::nanoseconds, std::optional<std::uint64_t> actual,
                    Callback<Settled> answer) override {
    reservation_.actual = actual;
    ready<Settled>(Verb::settle, std::move(reservation_), [](const Request& told) {
      const std::string where = told.fault == Fault::unsuitable ? kSettle : "";
      return Settled{settled(*told.reservation), told.fault, where + told.why};
    })(std::move(answer));
  }

 private:
  static constexpr const char* kSettle = "weir::Reservation::settle: ";

  static std::optional<std::chrono::nanoseconds> settled(const ReservationTerms& answered) {
    return answered.wait.count() < 0 ? std::nullopt : std::optional(answered.wait);
  }

  Request ask(Verb verb) {
    Request one;
    fill(one, verb, reservation_);
    Request* const batch[] = {&one};
    store_->ask(batch);
    return one;
  }

  // Needs this no longer once it has returned.
  template <class Answer, class Read>
  Callback<Callback<Answer>> ready(Verb verb, ReservationTerms terms, Read read) const {
    struct One final : Unawaited {
      One(ReservationTerms its, Read its_read) : mine(std::move(its)), read(its_read) {}
      Request& request() override { return asked; }
      void tell() override { answer(read(asked)); }
      Request asked;
      ReservationTerms mine;
      Callback<Answer> answer;
      Read read;
    };
    auto one = std::make_unique<One>(std::move(terms), read);
    fill(one->asked, verb, one->mine);
    return [store = store_, one = std::move(one)](Callback<Answer> answer) mutable {
      one->answer = std::move(answer);
      store->begin(std::move(one));
    };
  }

  void fill(Request& one, Verb verb, ReservationTerms& reservation) const {
    one.verb = verb;
    one.reservation = &reservation;
    one.patience = patience_;
  }

  const std::shared_ptr<BlockingStore> store_;
  const Clock* const clock_;
  const std::chrono::nanoseconds patience_;
  store::ReservationTerms reservation_;
};

}  // namespace weir::store
