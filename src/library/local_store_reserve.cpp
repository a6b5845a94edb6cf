// What a KeyedLimiter and a LocalStore reserve: the embedded store's reservations, by their ids.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "library/default_limit.hpp"
#include "library/limiter_memory.hpp"
#include "library/reservation_handle.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;

namespace store {
namespace {

class LocalHandle final : public ReservationHandle {
 public:
  explicit LocalHandle(std::shared_ptr<LimiterMemory> local) : local_(std::move(local)) {}
  void set_id(std::string id) { reservation_.id = std::move(id); }

  const Clock* clock() const noexcept override { return local_->clock; }
  bool can_cancel() const noexcept override { return !reservation_.id.empty(); }

  std::optional<nanoseconds> moment(nanoseconds now) override {
    ask(Verb::moment, now);
    if (reservation_.wait.count() < 0) return std::nullopt;
    return reservation_.wait;
  }

  nanoseconds extend(nanoseconds now, nanoseconds hold) override {
    reservation_.hold = hold;
    ask(Verb::extend, now);
    return reservation_.wait;
  }

  std::uint64_t cancel(nanoseconds now) noexcept override {
    ask(Verb::cancel, now);
    return reservation_.given_back;
  }

  std::optional<nanoseconds> settle(nanoseconds now, std::optional<std::uint64_t> actual) override {
    reservation_.actual = actual;
    if (const std::string why = ask(Verb::settle, now); !why.empty())
      throw std::invalid_argument("weir::Reservation::settle: " + why);
    if (reservation_.wait.count() < 0) return std::nullopt;
    return reservation_.wait;
  }

 private:
  std::string ask(Verb verb, nanoseconds now) {
    Request request{.verb = verb, .reservation = &reservation_};
    submit(*local_, request, now);
    return std::move(request.why);
  }

  const std::shared_ptr<LimiterMemory> local_;
  store::ReservationTerms reservation_;
};

void require_gcra(const char* where, const Limit& limit) {
  const Algorithm algorithm = limit.rule.algorithm;
  if (core::can_reserve(algorithm)) return;
  throw std::invalid_argument("weir::" + std::string(where) + "::reserve: " + core::name_of(algorithm) +
                              " cannot be reserved: only gcra can");
}

}  // namespace
}  // namespace store

Reservation LocalStore::reserve(std::span<const KeyedCheck> checks, ReserveOptions options) {
  JointRequest asked;
  ask("reserve", checks, asked);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    store::require_gcra("LocalStore", *asked.checks[i].limit);
    for (std::size_t j = 0; j < i; ++j) {
      if (&checks[i].limiter != &checks[j].limiter || checks[i].key != checks[j].key) continue;
      throw std::invalid_argument("weir::LocalStore::reserve: limits " + std::to_string(j) + " and " +
                                  std::to_string(i) + " are the same limit and key");
    }
  }
  return reserve(local_, asked.request, store::read(local_->clock), options);
}

// Well formed, and of gcra alone.
Reservation LocalStore::reserve(const std::shared_ptr<store::LimiterMemory>& local, store::Request& request,
                                nanoseconds now, ReserveOptions options) {
  options = store::bounded(options, now);
  store::ReservationTerms asked{.max_wait = options.max_wait, .hold = options.hold};
  request.verb = store::Verb::reserve;
  request.reservation = &asked;
  std::unique_ptr<store::LocalHandle> kept;
  if (options.max_wait.count() != 0 || options.hold.count() != 0)
    kept = std::make_unique<store::LocalHandle>(local);
  submit(*local, request, now);
  if (request.fault != Fault::none) throw std::length_error("weir::Reservation: " + request.why);
  if (!request.charged || asked.id.empty()) {
    Reservation at_once(now, [&] { return request.decision(); });
    at_once.by_ = request.by;
    return at_once;
  }
  kept->set_id(std::move(asked.id));
  return {now, asked.wait, request.decision(), request.by, std::move(kept)};
}

Reservation KeyedLimiter::reserve(std::string_view key, ReserveOptions options, Cost cost) {
  if (limit_->is_changed()) return reserve(key, limit_->quota(), options, cost);
  return reserve(now(), key, limit_->first(), options, cost);
}

Reservation KeyedLimiter::reserve(std::string_view key, const Quota& quota, ReserveOptions options,
                                  Cost cost) {
  store::require_gcra("KeyedLimiter", limit_->first());
  return reserve(now(), key, with("KeyedLimiter::reserve", quota), options, cost);
}

Reservation KeyedLimiter::reserve(nanoseconds now, std::string_view key, const store::Limit& limit,
                                  ReserveOptions options, Cost cost) {
  store::require_gcra("KeyedLimiter", limit);
  // As the store would answer it, without a request to it.
  if (options.hold.count() <= 0 || cost.units == 0) {
    Reservation at_once(now, [&] { return decide(now, key, limit, cost); });
    if (at_once.granted() || !at_once.decision().retry_after) return at_once;
    if (options.max_wait.count() <= 0) return at_once;
  }
  store::Check check{.limit = &limit, .key = key, .cost = cost};
  store::Request request{.checks = {&check, 1}};
  return LocalStore::reserve(local_, request, now, options);
}

}  // namespace weir
