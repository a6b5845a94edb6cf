// Several event loops whose requests of a lower class stand in the same lines: each is answered, and none is
// charged that has gone.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/chance_test.hpp"
#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::waiting::classes_threads_test {
namespace {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

constexpr int kLoops = 3;
constexpr int kRequests = 2'000;  // of each loop

struct Asker : Request {
  Check check;
  store::ReservationTerms which;
  bool told = false;
};

// One loop: it asks, lets some go, and calls advance() when a timer or another loop says so.
class Loop {
 public:
  Loop(store::Store& store, House& house, const store::Limit& limit, std::uint64_t number)
      : store_(
            store, house, store::steady_now, [] {}, [this] { soon_.store(true, std::memory_order_release); }),
        limit_(limit),
        chance_(number) {}

  void run() {
    for (int i = 0; i < kRequests; ++i) {
      ask();
      turn();
    }
    for (const auto& each : all_)
      while (each->state == Request::State::submitted) turn();
  }
  std::uint64_t granted() const {
    std::uint64_t units = 0;
    for (const auto& each : all_)
      if (each->state == Request::State::answered && each->allowed()) units += each->check.cost.units;
    return units;
  }

 private:
  void ask() {
    auto asker = std::make_unique<Asker>();
    asker->check = {
        .limit = &limit_, .key = "k", .cost = Cost{static_cast<std::uint64_t>(1 + chance_.up_to(2))}};
    asker->checks = {&asker->check, 1};
    asker->verb = store::Verb::acquire;
    asker->which.max_wait = std::chrono::microseconds{chance_.up_to(50'000)};
    asker->reservation = &asker->which;
    asker->on_answer = [](Request& request) { static_cast<Asker&>(request).told = true; };
    Request* const one = asker.get();
    const nanoseconds now = store::steady_now();
    store_.submit({&one, 1}, {now, now});
    if (chance_.up_to(3) == 0 && asker->state == Request::State::submitted) {
      store_.cancel(*asker);
      return;
    }
    all_.push_back(std::move(asker));
  }
  void turn() {
    const nanoseconds now = store::steady_now();
    const auto next = store_.next_deadline();
    if (soon_.exchange(false, std::memory_order_acq_rel) || (next && *next <= now)) store_.advance(now);
  }

  std::atomic<bool> soon_{false};
  AcquiringStore store_;
  const store::Limit& limit_;
  core::Chance chance_;
  std::vector<std::unique_ptr<Asker>> all_;
};

TEST(ClassesThreads, loops_share_their_lines) {
  store::Limit limit{.rule = core::Rule::parse("200000/s burst 40").value()};
  limit.rule.kept = limit.rule.quota.emission_interval() * 20;
  store::EmbeddedStore store(std::size_t{1} << 20);
  House house{1'000};
  const nanoseconds began = store::steady_now();
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < kLoops; ++i)
    loops.push_back(std::make_unique<Loop>(store, house, limit, static_cast<std::uint64_t>(i)));
  std::vector<std::thread> threads;
  for (const auto& each : loops) threads.emplace_back([&each] { each->run(); });
  for (std::thread& each : threads) each.join();
  std::uint64_t units = 0;
  for (const auto& each : loops) units += each->granted();
  const nanoseconds took = store::steady_now() - began;
  EXPECT_GT(units, 20U);
  EXPECT_LE(static_cast<std::int64_t>(units), 20 + took / limit.rule.quota.emission_interval());
  EXPECT_EQ(house.waiting(), 0U);
  EXPECT_TRUE(house.queues.empty());
}

}  // namespace
}  // namespace weir::waiting::classes_threads_test
