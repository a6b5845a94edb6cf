#include "sim/replay.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "core/chance_test.hpp"
#include "logs/zone.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;
constexpr std::int64_t kMs = 1'000'000;

TEST(Reorder, sorts_within_its_window_and_clamps_beyond) {
  struct {
    std::int64_t window_s;
    std::vector<int> came;                   // seconds
    std::vector<std::pair<int, int>> given;  // {second, which}
    std::uint64_t reordered, clamped;
  } const rows[] = {
      {60, {100, 101, 102}, {{100, 0}, {101, 1}, {102, 2}}, 0, 0},
      {60, {100, 40, 100}, {{40, 1}, {100, 0}, {100, 2}}, 1, 0},   // late by exactly the window
      {60, {100, 39, 100}, {{100, 0}, {100, 1}, {100, 2}}, 0, 1},  // one second more
      {60, {100, 200, 140, 139}, {{100, 0}, {140, 2}, {200, 1}, {200, 3}}, 1, 1},
      {0, {100, 99, 101, 100}, {{100, 0}, {100, 1}, {101, 2}, {101, 3}}, 0, 2},
      {-1, {100, 5, 1, 5}, {{1, 2}, {5, 1}, {5, 3}, {100, 0}}, 3, 0},  // all
  };
  for (const auto& row : rows) {
    logs::Reorder reorder(row.window_s < 0 ? logs::LogReaderOptions::kSortAll : row.window_s * kSecond);
    logs::LogStats stats;
    std::vector<std::pair<int, int>> given;
    const auto each = [&given](const logs::Event& event) {
      given.emplace_back(static_cast<int>(event.ns / kSecond), static_cast<int>(event.client));
    };
    for (std::size_t i = 0; i < row.came.size(); ++i) {
      reorder.take({row.came[i] * kSecond, 1, static_cast<std::uint32_t>(i)}, stats, each);
    }
    reorder.finish(each);
    EXPECT_EQ(given, row.given);
    EXPECT_EQ(stats.reordered, row.reordered);
    EXPECT_EQ(stats.clamped, row.clamped);
  }
}

TEST(Reorder, below_a_second_too) {
  logs::Reorder reorder(kSecond);
  logs::LogStats stats;
  std::vector<std::int64_t> given;
  const auto each = [&given](const logs::Event& event) { given.push_back(event.ns / kMs); };
  for (const int ms : {500, 300, 400, 1600, 600, 599, 2700}) reorder.take({ms * kMs, 1, 0}, stats, each);
  reorder.finish(each);
  EXPECT_EQ(given, (std::vector<std::int64_t>{300, 400, 500, 600, 1600, 1600, 2700}));
  EXPECT_EQ(stats.reordered, 3);
  EXPECT_EQ(stats.clamped, 1);  // 599 is 1.001 s before 1600
}

TEST(Peaks, are_the_greatest_sums_of_any_half_open_span) {
  core::Chance random;
  for (int trial = 0; trial < 200; ++trial) {
    Peaks peaks(2);
    struct One {
      std::int64_t ns;
      std::uint64_t units;
      std::uint32_t admitted;
    };
    std::vector<One> all;
    std::int64_t now = 0;
    std::uint64_t second[2] = {};
    std::uint64_t minute[2] = {};
    for (int i = 0; i < 150; ++i) {
      now +=
          static_cast<std::int64_t>(random() % 4 == 0 ? random() % (20 * kSecond) : random() % 3 * 500 * kMs);
      all.push_back({now, random() % 5, static_cast<std::uint32_t>(random() % 4)});
      peaks.add(now, all.back().units, all.back().admitted);
      for (std::size_t limit = 0; limit < 2; ++limit) {
        std::uint64_t in_second = 0;
        std::uint64_t in_minute = 0;
        for (const One& one : all) {
          if ((one.admitted >> limit & 1) == 0) continue;
          if (one.ns > now - kSecond) in_second += one.units;
          if (one.ns > now - 60 * kSecond) in_minute += one.units;
        }
        second[limit] = std::max(second[limit], in_second);
        minute[limit] = std::max(minute[limit], in_minute);
      }
    }
    for (std::size_t limit = 0; limit < 2; ++limit) {
      EXPECT_EQ(peaks.second(limit), second[limit]);
      EXPECT_EQ(peaks.minute(limit), minute[limit]);
    }
  }
}

TEST(Series, merges_bins_and_loses_nothing) {
  for (const std::int64_t span_s :
       std::initializer_list<std::int64_t>{1, 7, 100, 5000, 86400, 40000000, 4100000000}) {
    Series series(2, 64);
    std::uint64_t sum = 0;
    const std::int64_t start = 1'234'567'890 % (4'102'444'800 - span_s);
    for (int i = 0; i <= 1000; ++i) {
      const std::int64_t at = start + span_s * i / 1000;
      series.add(at * kSecond, 0);
      if (i % 3 == 0) series.add(at * kSecond, 1, 2);
      ++sum;
    }
    std::uint64_t found = 0;
    for (const std::uint64_t count : series.counts(0)) found += count;
    EXPECT_EQ(found, sum) << span_s;
    EXPECT_EQ(series.counts(0).size(), series.counts(1).size());
    EXPECT_LE(series.counts(0).size(), 64U + 1) << span_s;
    EXPECT_LE(series.from_s(), start);
    EXPECT_GT(series.from_s() + series.bin_s(), start);
    EXPECT_GT(series.from_s() + series.bin_s() * static_cast<std::int64_t>(series.counts(0).size()),
              start + span_s);
  }
}

// One client, one limit: which of its requests are denied, and for how long it is locked out.
struct LockOut {
  const char* limit;
  std::vector<std::pair<int, int>> requests;  // {ms, cost}
  std::string answers;                        // one letter each: allowed or denied
  std::int64_t longest_ms;
  std::int64_t and_ns = 0;
};

TEST(Replay, locked_out_from_the_first_denied_to_when_it_would_pass) {
  const LockOut rows[] = {
      {"1/s", {{0, 1}, {0, 1}, {500, 1}, {1000, 1}}, "adda", 1000},
      {"1/s", {{0, 1}, {100, 1}, {5000, 1}}, "ada", 900},  // locked out for 0.9 s, however late ada came back
      {"1/s", {{0, 1}, {100, 1}, {1000, 1}, {1100, 1}, {1999, 1}}, "adadd", 900},
      {"2/s", {{0, 3}, {10'000, 3}}, "dd", 10'000},   // above the limit: there is no moment
      {"2/s", {{0, 2}, {0, 0}, {0, 1}}, "aad", 500},  // a look is allowed
      {"2/s algorithm=fixed_window", {{0, 1}, {900, 1}, {900, 1}, {1000, 1}}, "aada", 100},
      {"2/s algorithm=sliding_window_log", {{0, 1}, {900, 1}, {950, 1}, {1000, 1}, {1001, 1}}, "aadad", 899},
      {"2/s algorithm=sliding_window_counter", {{0, 2}, {500, 1}, {1500, 1}}, "ada", 500, 1},
  };
  for (const LockOut& row : rows) {
    Replay replay({core::Rule::parse(row.limit).value()}, 1);
    logs::ClientIndex clients;
    clients.number("x", 0);
    std::string answers;
    for (const auto& [ms, cost] : row.requests) {
      answers += replay.take({ms * kMs, static_cast<std::uint64_t>(cost), 0}) == 0 ? 'a' : 'd';
    }
    EXPECT_EQ(answers, row.answers) << row.limit;
    EXPECT_EQ(replay.report(clients, 1).limits[0].longest_locked_out_ns, row.longest_ms * kMs + row.and_ns)
        << row.limit;
  }
}

TEST(Replay, limits_side_by_side_do_not_touch) {
  Replay replay({core::Rule::parse("1/s").value(), core::Rule::parse("3/s").value()}, 5);
  logs::ClientIndex clients;
  for (const char* name : {"a", "b"}) clients.number(name, logs::ClientIndex::hash(name));
  std::vector<std::uint32_t> refused;
  for (const std::uint32_t client : {0U, 0U, 1U, 0U, 0U}) refused.push_back(replay.take({0, 1, client}));
  EXPECT_EQ(refused, (std::vector<std::uint32_t>{0, 1, 0, 1, 3}));
  const ReplayReport report = replay.report(clients, 1);
  EXPECT_EQ(report.limits[0].denied, 3);
  EXPECT_EQ(report.limits[1].denied, 1);
  EXPECT_EQ(report.limits[0].clients_denied, 1);
  ASSERT_EQ(report.limits[0].worst.size(), 1);
  EXPECT_EQ(report.limits[0].worst[0].client, "a");
  EXPECT_EQ(report.limits[0].worst[0].requests, 4);
  EXPECT_EQ(report.clients_by_size, (std::vector<std::uint64_t>{1, 0, 1}));
  EXPECT_EQ(report.limits[0].denied_clients_by_size, (std::vector<std::uint64_t>{0, 0, 1}));
}

TEST(Clients, keep_their_numbers_and_names_as_they_grow) {
  logs::ClientIndex clients;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    const std::string name = "client " + std::to_string(i) + std::string(i % 1000 == 0 ? 20'000 : 0, 'x');
    ASSERT_EQ(clients.number(name, logs::ClientIndex::hash(name)), i);
  }
  for (std::uint32_t i = 0; i < 50'000; i += 7) {
    const std::string name(clients.name(i));
    ASSERT_EQ(clients.number(name, logs::ClientIndex::hash(name)), i);
  }
  EXPECT_EQ(clients.count(), 50'000);
}

}  // namespace
}  // namespace weir::sim
