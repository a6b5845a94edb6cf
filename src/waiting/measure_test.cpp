// How much of a quota is used by those who wait when they cost less than they were held to (the figures are
// those of a rule that keeps the promise; cost / estimate x (1 + B x T / a call's length) is the most).
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::waiting::measure_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

// Sixty callers in line all the time, under 100/s burst 300, for a minute.
class Measure {
 public:
  Measure(std::uint64_t number, double length, std::int64_t least, std::int64_t most)
      : length_(length), least_(least), most_(most), chance_(number) {
    house_.queues.hear(embedded_.reservations());
  }

  double share() {
    for (int i = 0; i < 60; ++i) come();
    while (now_ < kBegin + 60s) {
      nanoseconds next = kBegin + 60s;
      if (const auto deadline = store_.next_deadline()) next = std::min(next, std::max(*deadline, now_));
      if (!calls_.empty()) next = std::min(next, calls_.begin()->first);
      now_ = next;
      while (!calls_.empty() && calls_.begin()->first <= now_) {
        const auto [id, cost] = calls_.begin()->second;
        calls_.erase(calls_.begin());
        store::ReservationTerms settlement{.id = id, .actual = cost};
        Request settle{.verb = Verb::settle, .reservation = &settlement};
        Request* const one = &settle;
        store_.submit({&one, 1}, {now_, now_});
      }
      store_.advance(now_);
      while (fresh_ > 0) --fresh_, come();
    }
    return static_cast<double>(used_) / 6000;
  }

 private:
  static constexpr nanoseconds kBegin = 1000s;
  struct Caller : Request {
    Measure* its = nullptr;
    store::Check check;
    store::ReservationTerms terms;
    std::uint64_t cost = 0;
  };

  void come() {
    auto made = std::make_unique<Caller>();
    Caller& caller = *made;
    callers_.push_back(std::move(made));
    caller.its = this;
    caller.cost = static_cast<std::uint64_t>(5 + chance_.up_to(10));
    const std::uint64_t times = static_cast<std::uint64_t>(least_ + chance_.up_to(most_ - least_));
    caller.check = {.limit = &limit_, .key = "k", .cost = Cost{caller.cost * times}};
    caller.terms = {.max_wait = 24h, .hold = 24h};
    caller.checks = {&caller.check, 1};
    caller.verb = Verb::acquire;
    caller.reservation = &caller.terms;
    caller.on_answer = [](Request& request) {
      auto& self = static_cast<Caller&>(request);
      self.its->act(self);
    };
    Request* const one = &caller;
    store_.submit({&one, 1}, {now_, now_});
    if (caller.state == Request::State::answered) act(caller);
  }
  void act(Caller& caller) {
    EXPECT_TRUE(caller.allowed());
    used_ += caller.cost;
    ++fresh_;
    const double whole = length_ * (300.0 - static_cast<double>(caller.check.cost.units)) * 10e6;
    const auto half = static_cast<std::int64_t>(whole / 2);
    calls_.emplace(now_ + nanoseconds{half + chance_.up_to(half)}, std::pair(caller.terms.id, caller.cost));
  }

  const store::Limit limit_{.rule = core::Rule::parse("100/s burst 300").value()};
  double length_;
  std::int64_t least_, most_;
  core::Chance chance_;
  nanoseconds now_ = kBegin;
  store::EmbeddedStore embedded_{std::size_t{8} << 20};
  House house_{1'000'000};
  AcquiringStore store_{embedded_, house_, [this] { return now_; }, [] {}, [] {}};
  std::vector<std::unique_ptr<Caller>> callers_;
  std::multimap<nanoseconds, std::pair<std::string, std::uint64_t>> calls_;
  int fresh_ = 0;
  std::uint64_t used_ = 0;
};

// The first minute's burst is in it.
TEST(Measure, those_who_wait_use_what_others_give_back) {
  struct Row {
    std::int64_t least, most;  // the estimate, in costs
    double length;             // of a call, at most, in (burst - estimate) x T
    double share;
  };
  for (const Row& row : {Row{2, 2, 0.3, 1.02},
                         {2, 2, 1, 0.99},
                         {2, 2, 2, 0.83},
                         {5, 5, 0.3, 0.99},
                         {5, 5, 1, 0.47},
                         {5, 5, 2, 0.33},
                         {2, 5, 0.3, 1.00},
                         {2, 5, 1, 0.67},
                         {2, 5, 2, 0.48}}) {
    constexpr int kTimes = 10;
    double sum = 0;
    for (std::uint64_t i = 0; i < kTimes; ++i) sum += Measure(i, row.length, row.least, row.most).share();
    EXPECT_GE(sum / kTimes, row.share) << row.least << " to " << row.most << " x, " << row.length;
  }
}

}  // namespace
}  // namespace weir::waiting::measure_test
