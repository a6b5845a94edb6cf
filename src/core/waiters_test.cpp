#include "weir/waiters.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

struct Named : Waiter {
  explicit Named(int its_name, std::vector<int>& into, std::function<void(Named&)> also = {})
      : Waiter([](Waiter& self) { static_cast<Named&>(self).due(); }),
        name(its_name),
        told(into),
        then(std::move(also)) {}
  void due() {
    told.push_back(name);
    if (const auto what = then) what(*this);  // a copy: it may destroy this one
  }
  int name;
  std::vector<int>& told;
  std::function<void(Named&)> then;
};

TEST(Waiters, tells_each_once_when_its_moment_has_come_the_earliest_first) {
  std::vector<int> told;
  Waiters waiters;
  Named a(1, told), b(2, told), c(3, told);
  EXPECT_EQ(waiters.next_deadline(), std::nullopt);
  waiters.add(a, 30ns);
  waiters.add(b, 10ns);
  waiters.add(c, 20ns);
  EXPECT_EQ(waiters.next_deadline(), 10ns);
  EXPECT_EQ(waiters.advance(9ns), 0U);
  EXPECT_EQ(waiters.advance(20ns), 2U);
  EXPECT_EQ(told, (std::vector{2, 3}));
  EXPECT_FALSE(b.waiting());
  EXPECT_TRUE(a.waiting());
  EXPECT_EQ(waiters.next_deadline(), 30ns);
  EXPECT_EQ(waiters.advance(1s), 1U);
  EXPECT_EQ(waiters.advance(2s), 0U);
  EXPECT_EQ(told, (std::vector{2, 3, 1}));
  EXPECT_TRUE(waiters.empty());
}

TEST(Waiters, tells_those_with_equal_moments_first_come_first_served) {
  std::vector<int> told;
  Waiters waiters;
  std::vector<std::unique_ptr<Named>> all;
  for (int i = 0; i < 1'000; ++i) {
    all.push_back(std::make_unique<Named>(i, told));
    waiters.add(*all.back(), nanoseconds{i / 100});
  }
  waiters.add(*all[0], 5ns);  // moved: the last of its equals now
  EXPECT_EQ(waiters.advance(9ns), 1'000U);
  std::vector<int> expected;
  for (int i = 1; i < 600; ++i) expected.push_back(i);
  expected.push_back(0);
  for (int i = 600; i < 1'000; ++i) expected.push_back(i);
  EXPECT_EQ(told, expected);
}

TEST(Waiters, one_that_is_cancelled_or_destroyed_is_not_told) {
  std::vector<int> told;
  Waiters waiters, others;
  Named a(1, told), b(2, told);
  waiters.add(a, 1ns);
  waiters.add(b, 2ns);
  {
    Named gone(3, told);
    waiters.add(gone, 1ns);
  }
  EXPECT_FALSE(others.cancel(a));  // it waits somewhere else
  EXPECT_TRUE(waiters.cancel(a));
  EXPECT_FALSE(waiters.cancel(a));
  EXPECT_EQ(waiters.size(), 1U);
  EXPECT_EQ(waiters.advance(9ns), 1U);
  EXPECT_FALSE(waiters.cancel(b));  // it has been told
  EXPECT_EQ(told, (std::vector{2}));
}

TEST(Waiters, one_may_wait_again_and_somewhere_else) {
  std::vector<int> told;
  Waiters here, there;
  Named a(1, told);
  here.add(a, 1ns);
  there.add(a, 2ns);
  EXPECT_TRUE(here.empty());
  EXPECT_EQ(there.next_deadline(), 2ns);
  there.advance(2ns);
  here.add(a, 3ns);
  here.advance(3ns);
  EXPECT_EQ(told, (std::vector{1, 1}));
}

TEST(Waiters, those_of_a_queue_that_is_destroyed_are_told_nothing) {
  std::vector<int> told;
  Named a(1, told), b(2, told);
  {
    Waiters waiters;
    waiters.add(a, 1ns);
    waiters.add(b, 1ns);
  }
  EXPECT_FALSE(a.waiting());
  EXPECT_TRUE(told.empty());
}

// ------------------------------------------------------------------------------- from inside, while told

TEST(Waiters, one_that_is_added_from_inside_is_told_by_the_next_advance) {
  std::vector<int> told;
  Waiters waiters;
  Named later(2, told);
  Named a(1, told, [&](Named& self) {
    waiters.add(later, 0ns);
    waiters.add(self, 0ns);
  });
  waiters.add(a, 1ns);
  EXPECT_EQ(waiters.advance(5ns), 1U);
  EXPECT_EQ(waiters.next_deadline(), 0ns);
  a.then = {};
  EXPECT_EQ(waiters.advance(5ns), 2U);
  EXPECT_EQ(told, (std::vector{1, 2, 1}));
}

TEST(Waiters, one_that_is_cancelled_from_inside_is_not_told_though_it_is_due) {
  std::vector<int> told;
  Waiters waiters;
  Named b(2, told), c(3, told), d(4, told);
  Named a(1, told, [&](Named&) {
    EXPECT_TRUE(waiters.cancel(c));
    EXPECT_FALSE(waiters.cancel(a));
    EXPECT_TRUE(waiters.cancel(d));
  });
  waiters.add(a, 1ns);
  waiters.add(b, 2ns);
  waiters.add(c, 3ns);
  waiters.add(d, 100ns);
  EXPECT_EQ(waiters.advance(5ns), 2U);
  EXPECT_EQ(told, (std::vector{1, 2}));
  EXPECT_TRUE(waiters.empty());
}

TEST(Waiters, one_may_be_moved_from_inside_though_it_is_due) {
  std::vector<int> told;
  Waiters waiters;
  Named b(2, told), c(3, told);
  Named a(1, told, [&](Named&) { waiters.add(b, 50ns); });
  waiters.add(a, 1ns);
  waiters.add(b, 2ns);
  waiters.add(c, 3ns);
  waiters.advance(5ns);
  EXPECT_EQ(told, (std::vector{1, 3}));
  EXPECT_EQ(waiters.next_deadline(), 50ns);
}

TEST(Waiters, one_may_destroy_itself_and_others_while_it_is_told) {
  std::vector<int> told;
  Waiters waiters;
  auto other = std::make_unique<Named>(2, told);
  auto last = std::make_unique<Named>(3, told);
  auto* const self_destroyed = new Named(1, told, [&](Named& self) {
    other.reset();
    last.reset();
    delete &self;
  });
  waiters.add(*self_destroyed, 1ns);
  waiters.add(*other, 1ns);
  waiters.add(*last, 100ns);
  EXPECT_EQ(waiters.advance(5ns), 1U);
  EXPECT_EQ(told, (std::vector{1}));
  EXPECT_TRUE(waiters.empty());
}

TEST(Waiters, advance_from_inside_goes_on_with_the_rest) {
  std::vector<int> told;
  Waiters waiters;
  Named b(2, told), c(3, told);
  Named a(1, told, [&](Named&) {
    EXPECT_EQ(waiters.next_deadline(), 2ns);
    EXPECT_EQ(waiters.advance(7ns), 2U);
  });
  waiters.add(a, 1ns);
  waiters.add(b, 2ns);
  waiters.add(c, 7ns);
  EXPECT_EQ(waiters.advance(5ns), 1U);
  EXPECT_EQ(told, (std::vector{1, 2, 3}));
}

TEST(Waiters, what_throws_leaves_the_rest_for_the_next_advance) {
  std::vector<int> told;
  Waiters waiters;
  Named a(1, told, [](Named&) { throw std::runtime_error("a"); });
  Named b(2, told);
  waiters.add(a, 1ns);
  waiters.add(b, 2ns);
  EXPECT_THROW(waiters.advance(5ns), std::runtime_error);
  EXPECT_EQ(waiters.next_deadline(), 2ns);
  EXPECT_EQ(waiters.advance(0ns), 1U);  // its moment has been reached once
  EXPECT_EQ(told, (std::vector{1, 2}));
}

// --------------------------------------------------------------------------------------- a slow model

// A list that is searched from end to end.
struct Listed {
  struct Entry {
    int name;
    nanoseconds deadline;
  };
  void add(int name, nanoseconds deadline) {
    cancel(name);
    entries.push_back({name, deadline});
  }
  bool cancel(int name) {
    return std::erase_if(entries, [&](const Entry& each) { return each.name == name; }) != 0;
  }
  std::optional<nanoseconds> next() const {
    std::optional<nanoseconds> earliest;
    for (const Entry& each : entries)
      if (!earliest || each.deadline < *earliest) earliest = each.deadline;
    return earliest;
  }
  std::vector<int> advance(nanoseconds now) {
    std::vector<int> told;
    for (auto earliest = next(); earliest && *earliest <= now; earliest = next()) {
      const auto first = std::find_if(entries.begin(), entries.end(),
                                      [&](const Entry& each) { return each.deadline == *earliest; });
      told.push_back(first->name);
      entries.erase(first);
    }
    return told;
  }
  std::vector<Entry> entries;  // in the order of coming
};

TEST(Waiters, do_what_a_slow_list_does) {
  core::Chance chance;
  for (int run = 0; run < 50; ++run) {
    std::vector<int> told;
    Waiters waiters;
    Listed listed;
    std::vector<std::unique_ptr<Named>> all;
    for (int i = 0; i < 200; ++i) all.push_back(std::make_unique<Named>(i, told));
    const std::int64_t spread = 1 + chance.up_to(300);
    nanoseconds now{0};
    for (int step = 0; step < 2'000; ++step) {
      const int name = static_cast<int>(chance.up_to(199));
      auto& one = all[static_cast<std::size_t>(name)];
      switch (chance.up_to(9)) {
        case 0:
          now += nanoseconds{chance.up_to(spread / 4)};
          told.clear();
          waiters.advance(now);
          ASSERT_EQ(told, listed.advance(now));
          break;
        case 1:
        case 2:
          ASSERT_EQ(waiters.cancel(*one), listed.cancel(name));
          break;
        case 3:
          one = std::make_unique<Named>(name, told);
          listed.cancel(name);
          break;
        default: {
          const nanoseconds deadline = now + nanoseconds{chance.up_to(spread)};
          waiters.add(*one, deadline);
          listed.add(name, deadline);
        }
      }
      ASSERT_EQ(waiters.next_deadline(), listed.next());
      ASSERT_EQ(waiters.size(), listed.entries.size());
      ASSERT_EQ(one->waiting(), std::any_of(listed.entries.begin(), listed.entries.end(),
                                            [&](const auto& each) { return each.name == name; }));
    }
  }
}

// ------------------------------------------------------------------------------------------ 100,000

// In orders that bring a heap without balance to its knees: a step for each that waits would take minutes
// here, and a recursion that deep the stack.
TEST(Waiters, a_hundred_thousand_wait_in_any_order_in_256_bytes_each) {
  static_assert(sizeof(Waiter) == 64);
  constexpr int kMany = 100'000;
  core::Chance chance;
  const std::function<int(int)> orders[] = {[](int i) { return i; }, [](int i) { return kMany - i; },
                                            [](int) { return 7; },
                                            [&](int) { return static_cast<int>(chance.up_to(kMany)); },
                                            [](int i) { return i % 2 == 0 ? i : kMany - i; }};
  for (const auto& moment_of : orders) {
    int last = 0, in_order = 0;
    struct Counted : Waiter {
      Counted(int& its_last, int& its_in_order)
          : Waiter([](Waiter& self) { static_cast<Counted&>(self).due(); }),
            last_told(its_last),
            count(its_in_order) {}
      void due() {
        const int moment = static_cast<int>(deadline().count());
        if (moment >= std::exchange(last_told, moment)) ++count;
      }
      int &last_told, &count;
    };
    Waiters waiters;
    std::vector<std::unique_ptr<Counted>> all(kMany);
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < kMany; ++i) {
      auto& one = all[static_cast<std::size_t>(i)];
      one = std::make_unique<Counted>(last, in_order);
      waiters.add(*one, nanoseconds{moment_of(i)});
    }
    const std::size_t bytes = mallinfo2().uordblks - before;  // 0 under AddressSanitizer
    EXPECT_LE(bytes, 256U * kMany);
    for (std::size_t i = 0; i < kMany; i += 3) EXPECT_TRUE(waiters.cancel(*all[i]));
    for (std::size_t i = kMany; i-- > 0;)  // from the other end, those at the bottom first
      if (i % 3 == 1) waiters.add(*all[i], all[i]->deadline());
    EXPECT_EQ(waiters.size(), 66'666U);
    for (int now = 0; now <= kMany; now += 10) waiters.advance(nanoseconds{now});
    EXPECT_EQ(in_order, 66'666);
    EXPECT_TRUE(waiters.empty());
  }
}

}  // namespace
}  // namespace weir
