#include "steering/space_saving.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::steering {
namespace {

std::uint64_t key_drawn(core::Chance& chance, std::uint64_t least, std::uint64_t most) {
  return least + static_cast<std::uint64_t>(chance.up_to(static_cast<std::int64_t>(most - least)));
}

void add(SpaceSaving& to, std::uint64_t key, std::uint64_t weight = 1) {
  to.add(key * 0x9e3779b97f4a7c15, weight,
         [key](SpaceSaving::Entry& entry) { entry.key = std::to_string(key); });
}

// A stream of keys: the i-th of them.
using Keys = std::function<std::uint64_t(std::uint64_t i)>;

Keys zipf(core::Chance& chance, std::size_t keys, double exponent) {
  std::vector<double> until;
  double sum = 0;
  for (std::size_t i = 1; i <= keys; ++i)
    until.push_back(sum += 1 / std::pow(static_cast<double>(i), exponent));
  return [until, sum, &chance](std::uint64_t) {
    const double at = sum * static_cast<double>(key_drawn(chance, 0, 1U << 30)) / (1U << 30);
    return static_cast<std::uint64_t>(std::lower_bound(until.begin(), until.end(), at) - until.begin());
  };
}

struct Stream {
  const char* name;
  Keys keys;
};

std::vector<Stream> streams(core::Chance& chance) {
  return {{"Zipf 1.2", zipf(chance, 100'000, 1.2)},
          {"Zipf 0.8", zipf(chance, 100'000, 0.8)},
          {"uniform", [&chance](std::uint64_t) { return key_drawn(chance, 0, 50'000); }},
          {"rotating", [](std::uint64_t i) { return i % 1500; }},  // the worst order for the least
          {"one and all others once", [](std::uint64_t i) { return i % 3 == 0 ? 0 : i; }},
          {"few", [](std::uint64_t i) { return i % 7; }}};
}

TEST(SpaceSaving, counts_each_key_within_its_error) {
  core::Chance chance;
  for (const bool weighted : {false, true}) {
    for (const auto& [name, keys] : streams(chance)) {
      constexpr std::size_t kMost = 256;
      SpaceSaving summary(kMost);
      std::unordered_map<std::string, std::uint64_t> exact;
      std::uint64_t total = 0;
      for (std::uint64_t i = 0; i < 60'000; ++i) {
        const std::uint64_t key = keys(i);
        const std::uint64_t weight = !weighted                       ? 1
                                     : key_drawn(chance, 0, 50) == 0 ? key_drawn(chance, 1, 5000)
                                                                     : key_drawn(chance, 1, 3);
        add(summary, key, weight);
        exact[std::to_string(key)] += weight;
        total += weight;
      }
      EXPECT_EQ(summary.total(), total);
      EXPECT_LE(summary.least() * kMost, total) << name;
      std::uint64_t largest = 0;
      std::uint64_t sum = 0;
      for (const SpaceSaving::Entry& each : summary.entries()) {
        const std::uint64_t truth = exact.at(each.key);
        EXPECT_LE(truth, each.count) << name << ' ' << each.key;
        EXPECT_GE(truth + each.error, each.count) << name << ' ' << each.key;
        EXPECT_LE(each.error, summary.least());
        largest = std::max(largest, each.count - truth);
        sum += each.count;
        exact.erase(each.key);
      }
      EXPECT_EQ(sum, total) << name;
      for (const auto& [key, truth] : exact) EXPECT_LE(truth, summary.least()) << name << ' ' << key;
      std::printf("%-24s %s total %8lu: off by at most %6lu, bound %6lu\n", name,
                  weighted ? "by weight" : "by one   ", static_cast<unsigned long>(total),
                  static_cast<unsigned long>(largest), static_cast<unsigned long>(total / kMost));
    }
  }
}

TEST(SpaceSaving, is_exact_while_there_is_room) {
  SpaceSaving summary(10);
  for (std::uint64_t i = 0; i < 1000; ++i) add(summary, i % 10, i % 10 + 1);
  EXPECT_EQ(summary.least(), 100U);
  for (const SpaceSaving::Entry& each : summary.entries()) {
    EXPECT_EQ(each.error, 0U);
    EXPECT_EQ(each.count, 100 * (std::stoul(each.key) + 1));
  }
}

TEST(SpaceSaving, cleared_is_as_new) {
  SpaceSaving summary(4);
  EXPECT_TRUE(summary.entries().empty());
  for (int turn = 0; turn < 3; ++turn) {
    for (std::uint64_t i = 0; i < 100; ++i) add(summary, i);
    EXPECT_EQ(summary.entries().size(), 4U);
    EXPECT_EQ(summary.least(), 25U);
    summary.clear();
    EXPECT_TRUE(summary.entries().empty());
    EXPECT_EQ(summary.total(), 0U);
    EXPECT_EQ(summary.least(), 0U);
  }
}

TEST(SpaceSaving, of_one_entry_has_the_last_key) {
  SpaceSaving summary(1);
  for (std::uint64_t i = 0; i < 9; ++i) add(summary, i);
  ASSERT_EQ(summary.entries().size(), 1U);
  EXPECT_EQ(summary.entries()[0].key, "8");
  EXPECT_EQ(summary.entries()[0].count, 9U);
  EXPECT_EQ(summary.entries()[0].error, 8U);
}

}  // namespace
}  // namespace weir::steering
