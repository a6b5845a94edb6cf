#include "limits/guarantees.hpp"

#include <gtest/gtest.h>

#include "core/chance_test.hpp"
#include "limits/reading_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

// A parent and what its children are guaranteed; what is told of it, or nothing.
struct GuaranteesRow {
  std::string parent;
  std::string children;
  std::string told;
};

const GuaranteesRow kGuaranteesRows[] = {
    // Exactly all of the rate, by intervals of different lengths.
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: x }, guarantee: 50/s burst 10 }, "
     "{ when: { t: [y, z] }, guarantee: 25/s burst 10 }] }\n",
     ""},
    // The interval of 60/s is 16666667 ns, so it is a little less than 60 a second.
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: x }, guarantee: 60/s burst 10 }, "
     "{ when: { t: y }, guarantee: 40/s burst 10 }] }\n",
     ""},
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: x }, guarantee: 60/s burst 10 }, "
     "{ when: { t: y }, guarantee: 2401/min burst 10 }] }\n",
     "limits.yaml:3:16: limits.all.rate: the guarantees within it add up to 100.017/s, more than '100/s'\n"},
    // The last override that always matches settles what a key has; one that ends does not.
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: [x, y] }, guarantee: 60/s burst 10 "
     "}, "
     "{ when: { t: [x, y] }, guarantee: 50/s burst 25 }] }\n",
     "limits.yaml:4:54: warning: limits.a.overrides[0]: never counts: the override on line 4 matches "
     "whatever "
     "this one does, and the last that matches wins\n"},
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: [x, y] }, guarantee: 60/s burst 10 "
     "}, "
     "{ when: { t: [x, y] }, until: 2027-01-01, guarantee: 50/s burst 25 }] }\n",
     "limits.yaml:3:16: limits.all.rate: the guarantees within it add up to 120/s, more than '100/s'\n"},
    // Several children, one of them by nothing more than the parent: it has one key.
    {"rate: 100/s, reserve: 50%",
     "  a: { within: all, rate: 90/s, guarantee: 50/s burst 25 }\n"
     "  b: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: x }, guarantee: 50/s burst 25 }] }\n",
     ""},
    {"rate: 100/s, reserve: 50%",
     "  a: { within: all, rate: 90/s, guarantee: 50/s burst 25 }\n"
     "  b: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: x }, guarantee: 50/s burst 26 }] }\n",
     "limits.yaml:3:32: limits.all.reserve: 50% of the burst of '100/s' is 50; the bursts of the guarantees "
     "within it "
     "add up to 51\n"},
    // Each tenant has a parent of its own.
    {"by: [tenant], rate: 100/s, reserve: 50%",
     "  a: { by: [tenant, t], within: all, rate: 90/s, overrides: ["
     "{ when: { tenant: p, t: x }, guarantee: 90/s burst 50 }, { when: { tenant: q, t: x }, guarantee: 90/s "
     "burst 50 }] }\n",
     ""},
    {"by: [tenant], rate: 100/s, reserve: 50%",
     "  a: { by: [tenant, t], within: all, rate: 90/s, overrides: ["
     "{ when: { tenant: p, t: x }, guarantee: 90/s burst 50 }, { when: { t: y }, guarantee: 20/s burst 1 }] "
     "}\n",
     "limits.yaml:3:30: limits.all.rate: the guarantees within it add up to 110/s, more than '100/s'\n"
     "limits.yaml:3:46: limits.all.reserve: 50% of the burst of '100/s' is 50; the bursts of the guarantees "
     "within it "
     "add up to 51\n"},
    // Addresses: one /64 is one key, a greater network is nobody knows how many.
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [ip], within: all, rate: 90/s, overrides: [{ when: { ip: [\"2001:db8::1\", "
     "\"2001:db8::/64\"] }, "
     "guarantee: 90/s burst 50 }] }\n",
     ""},
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [ip], within: all, rate: 90/s, overrides: [{ when: { ip: 10.0.0.0/8 }, guarantee: 9/s }] "
     "}\n",
     "limits.yaml:4:94: limits.a.overrides[0].guarantee: nobody can count its keys: '10.0.0.0/8' may be any "
     "number of "
     "values of ip; give it in an override whose when names them as texts\n"},
    // One address is not all of its /64: the others have what an earlier override says.
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [ip], within: all, rate: 90/s, overrides: [{ when: { ip: \"2001:db8::/64\" }, guarantee: "
     "90/s burst 9 }, "
     "{ when: { ip: \"2001:db8::1\" }, guarantee: 1/s }, { when: { ip: 10.0.0.1 }, guarantee: 20/s burst 1 "
     "}] }\n",
     "limits.yaml:3:16: limits.all.rate: the guarantees within it add up to 110/s, more than '100/s'\n"},
    // What raises one key until some time and another after it: what was used before is owed after.
    {"rate: 100/s, reserve: 50%",
     "  a: { by: [t], within: all, rate: 90/s, overrides: [{ when: { t: x }, guarantee: 10/s burst 1 }, "
     "{ when: { t: x }, until: 2027-01-01, guarantee: 60/s burst 1 }, { when: { t: y }, guarantee: 60/s "
     "burst 1 }, "
     "{ when: { t: y }, until: 2027-01-01, guarantee: 10/s burst 1 }] }\n",
     "limits.yaml:3:16: limits.all.rate: the guarantees within it add up to 120/s, more than '100/s'\n"},
    // An override of the parent that has the numbers for it, and one that lifts the window.
    {"rate: 100/s, reserve: 10%, overrides: [{ when: { x: y }, rate: 1000/s, reserve: 5% }, { rate: "
     "unlimited }]",
     "  a: { within: all, rate: 90/s, guarantee: 10/s }\n",
     "limits.yaml:3:59: note: limits.all.overrides[0].when.x: not in by: a key keeps one debt under "
     "whichever numbers "
     "its requests have\n"},
    {"rate: 100/s, reserve: 10%, overrides: [{ when: { x: y }, reserve: 5% }]",
     "  a: { within: all, rate: 90/s, guarantee: 10/s }\n",
     "limits.yaml:3:59: note: limits.all.overrides[0].when.x: not in by: a key keeps one debt under "
     "whichever numbers "
     "its requests have\n"
     "limits.yaml:3:76: limits.all.overrides[0].reserve: 5% of the burst of '100/s' is 5; the bursts of the "
     "guarantees "
     "within it add up to 10\n"},
};

TEST(Guarantees, add_up_to_what_the_parent_has) {
  for (const GuaranteesRow& row : kGuaranteesRows) {
    const std::string file = "version: 1\nlimits:\n  all: { " + row.parent + " }\n" + row.children;
    EXPECT_EQ(shown(read(file, test_options()).findings), row.told) << file;
  }
}

// Against sums of long doubles where those tell, and against whole multiples where they do not.
TEST(RateSum, is_exact) {
  core::Chance chance;
  for (int trial = 0; trial < 20'000; ++trial) {
    RateSum sum;
    const auto parent = static_cast<std::uint64_t>(chance.from_one_to(1'000'000'000));
    const auto parts = static_cast<std::uint64_t>(1 + chance.up_to(39));
    // Parts of the parent's rate, whose sum is exactly the rate.
    for (std::uint64_t i = 0; i < parts; ++i) sum.add(parent * parts, 1);
    EXPECT_TRUE(sum.at_most(parent));
    EXPECT_TRUE(sum.at_most(parent - 1) || parent == 1);
    EXPECT_FALSE(sum.at_most(parent + 1));
    sum.add(std::uint64_t{1} << 62, 1);
    EXPECT_FALSE(sum.at_most(parent));
  }
}

TEST(RateSum, of_many_different_rates_is_never_found_smaller_than_it_is) {
  core::Chance chance;
  for (int trial = 0; trial < 2000; ++trial) {
    RateSum sum;
    long double rates = 0;
    for (int i = 0; i < 50; ++i) {
      const auto interval = static_cast<std::uint64_t>(1'000'000 + chance.up_to(1'000'000'000'000));
      sum.add(interval, 1);
      rates += 1.0L / static_cast<long double>(interval);
    }
    const auto most = static_cast<std::uint64_t>(1.0L / rates);  // an interval that is just short enough
    EXPECT_TRUE(sum.at_most(most - 1 - most / 1'000'000'000));
    EXPECT_FALSE(sum.at_most(most + 1 + most / 1'000'000'000));
  }
}

}  // namespace
}  // namespace weir::limits
