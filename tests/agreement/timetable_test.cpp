// The timetable against the promise itself, by brute force over all spans; and with it the test: rules of
// giving back that are known to be wrong must fail it.
#include "agreement/timetable.hpp"

#include <gtest/gtest.h>

#include <map>

#include "agreement/spans.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::timetable_test {
namespace {

using oracle::Timetable;
using Kind = Timetable::Kind;
using Told = Timetable::Told;

TEST(Timetable, hands_out_moments_one_after_the_other) {
  Timetable timetable({.burst = 2, .interval = 10});
  EXPECT_EQ(timetable.reserve(0, 2, 0, 0), (Told{Kind::granted, 0, 0}));
  EXPECT_EQ(timetable.reserve(0, 1, 100, 0), (Told{Kind::granted, 10, 1}));
  EXPECT_EQ(timetable.reserve(0, 2, 100, 0), (Told{Kind::granted, 30, 2}));
  EXPECT_EQ(timetable.reserve(0, 1, 30, 0), (Told{Kind::denied, 10, 0}));
  EXPECT_EQ(timetable.check(25, 1), (Told{Kind::denied, 15, 0}));  // it does not pass those who wait
  EXPECT_EQ(timetable.reserve(0, 3, 1'000, 0), (Told{Kind::never, -1, 0}));
  EXPECT_EQ(timetable.look(25), (Timetable::Look{Kind::denied, 15, 0, 25}));
}

TEST(Timetable, what_is_cancelled_last_is_as_if_it_had_never_been_and_another_leaves_a_hole) {
  Timetable timetable({.burst = 1, .interval = 10});
  EXPECT_EQ(timetable.check(0, 1), (Told{Kind::granted, 0, 0}));
  EXPECT_EQ(timetable.reserve(0, 1, 100, 0), (Told{Kind::granted, 10, 1}));
  EXPECT_EQ(timetable.reserve(0, 1, 100, 0), (Told{Kind::granted, 20, 2}));
  EXPECT_EQ(timetable.cancel(1, 2), 1);
  EXPECT_EQ(timetable.cancel(1, 2), 0);
  EXPECT_EQ(timetable.reserve(1, 1, 100, 0), (Told{Kind::granted, 19, 3}));
  EXPECT_EQ(timetable.cancel(2, 1), 1);
  EXPECT_EQ(timetable.check(2, 1), (Told{Kind::denied, 28, 0}));  // a check takes no hole
  EXPECT_EQ(timetable.reserve(2, 1, 7, 0), (Told{Kind::denied, 21, 0}));
  EXPECT_EQ(timetable.reserve(2, 1, 8, 0), (Told{Kind::granted, 8, 4}));
  EXPECT_EQ(timetable.cancel(3, 4), 1);
  EXPECT_EQ(timetable.reserve(10, 1, 100, 0), (Told{Kind::granted, 20, 5}));  // nobody took it: it is lost
  EXPECT_EQ(timetable.cancel(20, 3), 0);                                      // its moment has come
}

TEST(Timetable, what_was_charged_too_much_goes_back_as_far_as_it_has_not_drained) {
  Timetable timetable({.burst = 10, .interval = 1});
  EXPECT_EQ(timetable.reserve(0, 2, 0, 100), (Told{Kind::granted, 0, 1}));
  EXPECT_EQ(timetable.reserve(0, 4, 0, 100), (Told{Kind::granted, 0, 2}));
  EXPECT_EQ(timetable.settle(1, 1, 0), 0);
  EXPECT_EQ(timetable.look(1).reset_after, 4);  // one unit of two had drained
  EXPECT_EQ(timetable.settle(3, 2, 0), 0);
  EXPECT_EQ(timetable.look(3).reset_after, 0);
  EXPECT_EQ(timetable.settle(3, 2, 0), -1);
  EXPECT_EQ(timetable.reserve(3, 1, 0, 5), (Told{Kind::granted, 0, 3}));
  EXPECT_EQ(timetable.settle(3, 3, 14), 5);  // thirteen more are a debt
  EXPECT_EQ(timetable.reserve(3, 1, 0, 5), (Told{Kind::denied, 5, 0}));
}

// ------------------------------------------------------------------------------------------ the promise

// The greatest cost of any span beyond what its length drains, in ticks: by trying all of them.
std::int64_t most_by_trying(const std::vector<Admitted>& acts) {
  std::int64_t most = 0;
  for (const Admitted& first : acts) {
    for (const Admitted& last : acts) {
      if (last.at < first.at) continue;
      std::int64_t sum = first.at - last.at;
      for (const Admitted& each : acts) sum += each.at >= first.at && each.at <= last.at ? each.cost : 0;
      most = std::max(most, sum);
    }
  }
  return most;
}

TEST(Timetable, the_walk_over_the_spans_finds_what_trying_all_finds) {
  core::Chance chance;
  for (int run = 0; run < 2'000; ++run) {
    std::vector<Admitted> acts;
    std::int64_t at = 0;
    for (std::int64_t left = chance.up_to(12); left >= 0; --left)
      acts.push_back({at += chance.up_to(4), chance.up_to(5)});
    ASSERT_EQ(most_in_any_span(acts, 1), most_by_trying(acts));
  }
}

// A rule of what a cancelled reservation gives back, and what it promises in the end.
struct Outcome {
  std::int64_t units = 0;  // that acted
  int over = 0;            // traces in which a span held more than the promise
};

// What the rules have in common: the moments, and who acts.
class OneTat {
 public:
  explicit OneTat(Timetable::Limit limit) : limit_(limit) {}
  int reserve(std::int64_t now, std::int64_t cost, std::int64_t max_wait) {
    const std::int64_t next = std::max(tat_, now) + cost * limit_.interval;
    const std::int64_t moment = std::max(now, next - limit_.burst * limit_.interval);
    if (cost > limit_.burst || moment - now > max_wait) return 0;
    tat_ = next;
    last_moment_ = moment;
    acts_[++last_id_] = {moment, cost * limit_.interval};
    return last_id_;
  }
  std::vector<Admitted> acts() const {
    std::vector<Admitted> acts;
    for (const auto& [id, act] : acts_) acts.push_back(act);
    std::sort(acts.begin(), acts.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    return acts;
  }

 protected:
  // Of one whose moment has not come; of another, nothing.
  Admitted leave(std::int64_t now, int id) {
    const auto found = acts_.find(id);
    if (found == acts_.end() || found->second.at <= now) return {0, 0};
    const Admitted left = found->second;
    acts_.erase(found);
    return left;
  }
  Timetable::Limit limit_;
  std::int64_t tat_ = 0;
  std::int64_t last_moment_ = 0;

 private:
  std::map<int, Admitted> acts_;
  int last_id_ = 0;
};

struct NothingBack : OneTat {
  using OneTat::OneTat;
  void cancel(std::int64_t now, int id) { leave(now, id); }
};

// All that has not drained, at once.
struct AllThatHasNotDrained : OneTat {
  using OneTat::OneTat;
  void cancel(std::int64_t now, int id) {
    tat_ -= std::min(leave(now, id).cost, std::max<std::int64_t>(0, tat_ - now));
  }
};

// Its units less those that were handed out after it, as the moment that was handed out last tells them; and
// where that is its own, it goes back.
struct LessThoseAfterIt : OneTat {
  using OneTat::OneTat;
  void cancel(std::int64_t now, int id) {
    const Admitted left = leave(now, id);
    const std::int64_t back = left.cost - (last_moment_ - left.at);
    if (left.cost == 0 || back <= 0) return;
    tat_ -= std::min(back, std::max<std::int64_t>(0, tat_ - now));
    if (left.at == last_moment_ && left.at - left.cost >= now) last_moment_ = left.at - left.cost;
  }
};

struct Holes {
  explicit Holes(Timetable::Limit limit) : timetable(limit) {}
  int reserve(std::int64_t now, std::int64_t cost, std::int64_t max_wait) {
    const Told told = timetable.reserve(now, cost, max_wait, 1);
    return told.kind == Kind::granted ? told.id : 0;
  }
  void cancel(std::int64_t now, int id) { timetable.cancel(now, id); }
  std::vector<Admitted> acts() const { return timetable.acts(); }
  Timetable timetable;
};

template <class Rule>
Outcome play(int traces) {
  core::Chance chance;  // the same traces for each rule
  Outcome outcome;
  for (int trace = 0; trace < traces; ++trace) {
    const Timetable::Limit limit{1 + chance.up_to(5), 1 + chance.up_to(3)};
    const std::int64_t max_wait = chance.up_to(4 * limit.burst * limit.interval);
    Rule rule(limit);
    std::vector<int> ids;
    std::int64_t now = 0;
    for (int step = 0; step < 40; ++step) {
      const std::int64_t what = chance.up_to(9), which = chance.up_to(1 << 30);
      if (what < 3) {
        now += which % (limit.interval + 2);
      } else if (what < 6 && !ids.empty()) {
        rule.cancel(now, ids[static_cast<std::size_t>(which) % ids.size()]);
      } else {
        ids.push_back(rule.reserve(now, 1 + which % limit.burst, max_wait));
      }
    }
    const std::vector<Admitted> acts = rule.acts();
    for (const Admitted& each : acts) outcome.units += each.cost / limit.interval;
    outcome.over += most_in_any_span(acts, 1) > limit.burst * limit.interval ? 1 : 0;
  }
  return outcome;
}

TEST(WaitingPromise, cancelled_reservations_leave_holes_and_no_span_holds_more) {
  const Outcome nothing = play<NothingBack>(4'000), holes = play<Holes>(4'000);
  EXPECT_EQ(nothing.over, 0);
  EXPECT_EQ(holes.over, 0);
  EXPECT_GT(holes.units, nothing.units);
  std::printf("%lld units with holes, %lld without\n", static_cast<long long>(holes.units),
              static_cast<long long>(nothing.units));
}

// The canaries.
TEST(WaitingPromise, giving_back_all_that_has_not_drained_is_found_out) {
  EXPECT_GT(play<AllThatHasNotDrained>(4'000).over, 20);
}
TEST(WaitingPromise, giving_back_all_but_what_was_handed_out_after_it_is_found_out) {
  EXPECT_GT(play<LessThoseAfterIt>(60'000).over, 3);
}

}  // namespace
}  // namespace weir::timetable_test
