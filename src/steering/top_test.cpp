#include "steering/top.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/chance_test.hpp"
#include "steering/unit_sample.hpp"

namespace weir::inline v0_1::steering {
namespace {

std::uint64_t of_top_drawn(core::Chance& chance, std::uint64_t least, std::uint64_t most) {
  return least + static_cast<std::uint64_t>(chance.up_to(static_cast<std::int64_t>(most - least)));
}

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kStart = std::chrono::hours{7};

class Loops {
  static auto naming(std::uint64_t key, const std::string& limit) {
    return [key, limit](SpaceSaving::Entry& entry) {
      entry.limit = limit;
      entry.key = std::to_string(key);
    };
  }

 public:
  explicit Loops(std::size_t count, TopOptions options = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      loops_.push_back(std::make_unique<TopKeys>(options, kStart));
      all_.push_back(loops_.back().get());
      samples_.emplace_back(options.sample, chance_() | 1);
    }
  }
  void deny(std::size_t loop, std::uint64_t key, const std::string& limit = "user") {
    loops_[loop]->deny(hash_of(key, limit), now, naming(key, limit));
  }
  void charge(std::size_t loop, std::uint64_t key, std::uint64_t units, const std::string& limit = "user") {
    if (samples_[loop].misses(units)) return;
    loops_[loop]->charge(hash_of(key, limit), samples_[loop].take(units), now, naming(key, limit));
  }
  TopKeys::Answer ask(TopKeys::By by = TopKeys::By::denied, std::size_t most = 1024,
                      const std::string& limit = "") {
    return TopKeys::ask(all_, by, limit, most, now);
  }

  nanoseconds now = kStart;

 private:
  static std::uint64_t hash_of(std::uint64_t key, const std::string& limit) {
    return (key + limit.size() * 1'000'003) * 0x9e3779b97f4a7c15;
  }
  core::Chance chance_;
  std::vector<std::unique_ptr<TopKeys>> loops_;
  std::vector<const TopKeys*> all_;
  std::vector<UnitSample> samples_;
};

TEST(TopKeys, of_eight_loops_is_within_the_error_that_it_states) {
  core::Chance chance;
  for (const std::uint64_t keys : {40U, 3000U, 100'000U}) {
    constexpr std::size_t kLoops = 8;
    Loops loops(kLoops, {.entries = 64});
    std::unordered_map<std::string, std::uint64_t> exact;
    constexpr std::uint64_t kTotal = 80'000;
    for (std::uint64_t i = 0; i < kTotal; ++i) {
      // A skew by squares, each loop with favourites of its own, and over two generations.
      const std::uint64_t square = of_top_drawn(chance, 0, keys) * of_top_drawn(chance, 0, keys) / keys;
      const std::size_t loop = of_top_drawn(chance, 0, kLoops - 1);
      const std::uint64_t key = of_top_drawn(chance, 0, 4) == 0 ? square : square / 2 * 2 + loop % 2;
      if (i == kTotal / 2) loops.now += seconds{61};
      loops.deny(loop, key);
      ++exact[std::to_string(key)];
    }
    const TopKeys::Answer answer = loops.ask();
    EXPECT_EQ(answer.total, kTotal);
    EXPECT_EQ(answer.time, seconds{61});
    std::uint64_t largest = 0;
    std::uint64_t stated = 0;
    for (const TopKeys::Row& row : answer.rows) {
      const std::uint64_t truth = exact.at(row.key);
      EXPECT_LE(truth, row.count) << row.key;
      EXPECT_GE(truth + row.error, row.count) << row.key;
      largest = std::max(largest, row.count - truth);
      stated = std::max(stated, row.error);
    }
    EXPECT_LE(stated, kTotal / 64);
    if (keys == 40) {
      EXPECT_EQ(stated, 0U);
    }
    std::printf("%6lu keys, 8 loops: off by at most %lu, stated %lu, bound %lu\n",
                static_cast<unsigned long>(keys), static_cast<unsigned long>(largest),
                static_cast<unsigned long>(stated), static_cast<unsigned long>(kTotal / 64));
  }
}

TEST(TopKeys, is_of_the_last_60_to_120_seconds) {
  Loops loops(2);
  loops.deny(0, 1);
  struct Row {
    seconds at;
    seconds time;
    std::uint64_t total;  // before one more
  };
  // One denial at each of these, in two loops alternately.
  constexpr Row kRows[] = {{seconds{10}, seconds{10}, 1},  {seconds{59}, seconds{59}, 2},
                           {seconds{60}, seconds{60}, 3},  {seconds{119}, seconds{119}, 4},
                           {seconds{120}, seconds{60}, 2}, {seconds{179}, seconds{119}, 3},
                           {seconds{300}, seconds{60}, 0}, {seconds{3600}, seconds{60}, 0}};
  std::size_t loop = 0;
  for (const Row& row : kRows) {
    loops.now = kStart + row.at;
    const TopKeys::Answer answer = loops.ask();
    EXPECT_EQ(answer.total, row.total) << row.at.count();
    EXPECT_EQ(answer.time, row.time) << row.at.count();
    loops.deny(loop ^= 1, 2);
  }
}

TEST(TopKeys, has_the_most_first_and_of_one_limit_where_it_is_asked) {
  Loops loops(1);
  for (int i = 0; i < 3; ++i) loops.deny(0, 7);
  for (int i = 0; i < 5; ++i) loops.deny(0, 8, "tenant");
  loops.deny(0, 9);
  loops.deny(0, 5);
  const auto texts = [](const TopKeys::Answer& answer) {
    std::string all;
    for (const TopKeys::Row& row : answer.rows)
      all += row.limit + ":" + row.key + "=" + std::to_string(row.count) + " ";
    return all;
  };
  EXPECT_EQ(texts(loops.ask()), "tenant:8=5 user:7=3 user:5=1 user:9=1 ");
  EXPECT_EQ(texts(loops.ask(TopKeys::By::denied, 2)), "tenant:8=5 user:7=3 ");
  EXPECT_EQ(texts(loops.ask(TopKeys::By::denied, 2, "user")), "user:7=3 user:5=1 ");
  EXPECT_EQ(texts(loops.ask(TopKeys::By::cost)), "");
  EXPECT_EQ(loops.ask(TopKeys::By::denied, 1, "user").total, 10U);
  EXPECT_EQ(loops.ask(TopKeys::By::denied, 1, "user").keys, 4U);
}

// Six deviations by the variance that unit_sample.hpp states, and what the summary adds.
TEST(TopKeys, of_cost_is_a_sample_of_the_units) {
  core::Chance chance;
  Loops loops(4, {.entries = 128, .sample = 16});
  std::unordered_map<std::string, std::uint64_t> exact;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const std::uint64_t key = of_top_drawn(chance, 0, 20) * of_top_drawn(chance, 0, 20);
    const std::uint64_t units = key == 100 ? of_top_drawn(chance, 1, 4000) : of_top_drawn(chance, 1, 3);
    loops.charge(i % 4, key, units);
    exact[std::to_string(key)] += units;
    total += units;
  }
  const TopKeys::Answer answer = loops.ask(TopKeys::By::cost, 20);
  EXPECT_NEAR(static_cast<double>(answer.total), static_cast<double>(total), 4 * 16);
  EXPECT_EQ(answer.rows[0].key, "100");
  for (const TopKeys::Row& row : answer.rows) {
    const auto truth = static_cast<double>(exact.at(row.key));
    const double sampling = 6 * std::sqrt(truth * 15) + 16;
    EXPECT_LE(truth, static_cast<double>(row.count) + sampling) << row.key;
    EXPECT_GE(truth + static_cast<double>(row.error) + sampling, static_cast<double>(row.count)) << row.key;
  }
}

TEST(TopKeys, is_read_by_its_words) {
  EXPECT_EQ(read_by("denied"), TopKeys::By::denied);
  EXPECT_EQ(read_by("COST"), TopKeys::By::cost);
  for (const char* word : {"", "deny", "costs", "denied "}) EXPECT_FALSE(read_by(word)) << word;
}

}  // namespace
}  // namespace weir::steering
