// A line as a server has it: before a store of its own, or before a Redis a round trip away that others
// share.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/embedded_world.hpp"
#include "conformance/redis_world.hpp"
#include "conformance/simulated_redis.hpp"
#include "store/reservations.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::lines {

using std::chrono::nanoseconds;

class Server {
 public:
  Server()
      : Server(std::make_unique<store::conformance::EmbeddedWorld>(), [] { return nanoseconds::max(); }) {
    house_->queues.hear(*around_->reservations());
  }
  Server(store::conformance::SimulatedRedis& redis, nanoseconds round_trip)
      : Server(redis, round_trip, std::make_unique<waiting::House>(kMost)) {}

  waiting::AcquiringStore& line() { return line_; }
  nanoseconds now() const { return around_->now(); }
  // Before that nothing falls due.
  nanoseconds next() const { return std::min(line_.next_deadline().value_or(nanoseconds::max()), next_()); }
  void pass(nanoseconds until) {
    around_->advance(until - now());
    line_.advance(now());
    settle();
  }
  void advance(nanoseconds time) {
    const nanoseconds until = now() + time;
    while (next() <= until) pass(std::max(next(), now()));
    pass(until);
  }
  void settle() {
    around_->settle();
    while (std::exchange(turns_, false)) {
      line_.advance(now());
      around_->settle();
    }
  }

 private:
  static constexpr std::size_t kMost = 1'000;

  // A Redis as one of its servers has it.
  class Shared : public store::conformance::Upstream {
   public:
    explicit Shared(store::conformance::SimulatedRedis& redis) : redis_(redis) {}
    std::string answer(std::vector<std::string> command, nanoseconds wall) override {
      return redis_.answer(std::move(command), wall);
    }

   private:
    store::conformance::SimulatedRedis& redis_;
  };

  static redis::SharedStore::Options telling(waiting::Queues& queues) {
    redis::SharedStore::Options options;
    options.owed_changed = [&queues](std::uint64_t hash) {
      queues.owed_changed(store::Reservations::place_of(hash));
      queues.slot_freed(store::Reservations::place_of(hash));
    };
    options.paused = [&queues](std::uint64_t hash, nanoseconds end, bool afresh) {
      queues.paused(store::Reservations::place_of(hash), end, afresh);
    };
    return options;
  }
  Server(store::conformance::SimulatedRedis& redis, nanoseconds round_trip,
         std::unique_ptr<waiting::House>&& house)
      : Server(std::make_unique<store::conformance::RedisWorld>(std::make_unique<Shared>(redis), false,
                                                                store::Sharing{}, telling(house->queues)),
               round_trip, std::move(house)) {}
  Server(std::unique_ptr<store::conformance::RedisWorld> around, nanoseconds round_trip,
         std::unique_ptr<waiting::House>&& house)
      : Server(std::move(around), [its = around.get()] { return its->next_event(); }, std::move(house)) {
    static_cast<store::conformance::RedisWorld&>(*around_).be_away(round_trip);
  }
  Server(std::unique_ptr<store::conformance::World> around, std::function<nanoseconds()> next,
         std::unique_ptr<waiting::House>&& house = std::make_unique<waiting::House>(kMost))
      : house_(std::move(house)), around_(std::move(around)), next_(std::move(next)) {}

  std::unique_ptr<waiting::House> house_;
  std::unique_ptr<store::conformance::World> around_;
  std::function<nanoseconds()> next_;
  bool turns_ = false;
  waiting::AcquiringStore line_{around_->store(),          *house_,
                                [this] { return now(); },  [] {},
                                [this] { turns_ = true; }, around_->reservations() != nullptr};
};

}  // namespace weir::lines
