#include "store/snapshot.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/clock.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::snapshot_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr Quota kQuota = Quota::per_hour(10);
constexpr Quota kOnce = Quota::per_day(1);

class Snapshot : public testing::Test {
 protected:
  Snapshot() { std::filesystem::create_directory(directory_); }
  ~Snapshot() override { std::filesystem::remove_all(directory_); }

  void save(int keys) {
    Table table(1_MiB, WhenFull::deny);
    for (int i = 0; i < keys; ++i)
      table.check(table.locate("key " + std::to_string(i)), kQuota, Cost{10}, steady_now());
    const auto saved = save_snapshot(table, path_);
    ASSERT_TRUE(saved) << saved.error();
    EXPECT_EQ(*saved, static_cast<std::uint64_t>(keys));
  }
  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string error() const {
    const auto opened = SnapshotFile::open(path_);
    return opened ? "" : opened.error();
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.insert(entry.path().filename().string());
    return names;
  }
  std::string damaged(const std::string& how) const { return "snapshot '" + path_ + "': damaged: " + how; }

  const std::string directory_ = testing::TempDir() + "weir_snapshot_" + std::to_string(getpid());
  const std::string path_ = directory_ + "/weir.snapshot";
};

TEST_F(Snapshot, restores_every_debt_less_the_time_that_passed) {
  save(1000);
  auto file = SnapshotFile::open(path_);
  ASSERT_TRUE(file) << file.error();
  // Another clock: this one starts at 5 s.
  Table table(2_MiB, WhenFull::deny, file->seed());
  const auto restored = file->restore_into(table, 5s);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->keys, 1000U);
  EXPECT_EQ(restored->dropped, 0U);
  for (int i = 0; i < 1000; ++i) {
    const Decision decision = table.check(table.locate("key " + std::to_string(i)), kQuota, {}, 5s);
    EXPECT_EQ(decision.verdict, Verdict::denied);
    EXPECT_LE(*decision.retry_after, 6min);
    EXPECT_GT(*decision.retry_after, 5min);
  }
}

TEST_F(Snapshot, is_not_readable_by_others) {
  save(1);
  struct stat about{};
  stat(path_.c_str(), &about);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(Snapshot, an_empty_table_is_a_snapshot_too) {
  save(0);
  EXPECT_EQ(error(), "");
}

TEST_F(Snapshot, holds_the_reservations_of_its_table) {
  const Limit limit{.rule = core::Rule::parse("1/h burst 1").value()};
  EmbeddedStore store(1_MiB);
  const auto reserve = [&](EmbeddedStore& in, nanoseconds now) {
    Check check{.limit = &limit, .key = "k"};
    ReservationTerms reservation{.max_wait = 24h};
    Request request{.checks = {&check, 1}, .verb = Verb::reserve, .reservation = &reservation};
    Request* const one = &request;
    in.submit({&one, 1}, {now, now});
    return reservation;
  };
  const nanoseconds now = steady_now();
  reserve(store, now);
  const std::string id = reserve(store, now).id;
  reserve(store, now);
  ASSERT_TRUE(save_snapshot(store.table(), path_, {}, &store.reservations()));
  const std::string good = read();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    write(bad);
    EXPECT_NE(error(), "") << at;
  }
  write(good);

  auto file = SnapshotFile::open(path_);
  ASSERT_TRUE(file) << file.error();
  EmbeddedStore other(2_MiB, WhenFull::deny, file->seed());
  ASSERT_TRUE(file->restore_into(other.table(), 5s, &other.reservations()));
  EXPECT_EQ(other.reservations().counts().open, 2U);
  ReservationTerms reservation{.id = id};
  Request request{.verb = Verb::cancel, .reservation = &reservation};
  Request* const one = &request;
  other.submit({&one, 1}, {5s, 5s});
  EXPECT_EQ(reservation.given_back, 1U);
  // It takes the place of the one that was cancelled.
  EXPECT_LE(reserve(other, 5s).wait, 1h);
  EXPECT_GT(reserve(other, 5s).wait, 2h);
}

TEST_F(Snapshot, every_flipped_byte_is_found) {
  save(20);
  const std::string good = read();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    write(bad);
    EXPECT_NE(error(), "") << at;
  }
}

TEST_F(Snapshot, every_cut_is_found) {
  save(20);
  const std::string good = read();
  for (std::size_t size = 0; size < good.size(); ++size) {
    write(good.substr(0, size));
    EXPECT_NE(error(), "") << size;
  }
}

TEST_F(Snapshot, what_is_wrong_and_what_it_says) {
  save(20);
  const std::string good = read();
  write("");
  EXPECT_EQ(error(), damaged("it is too short to be a snapshot"));
  write(std::string(1000, 'x'));
  EXPECT_EQ(error(), damaged("it does not begin as a snapshot does"));
  write(good + "x");
  EXPECT_EQ(error(), damaged("it has lost or gained bytes"));
  write(good + std::string(24, '\0'));
  EXPECT_NE(error(), "");
  std::string flipped = good;
  flipped[64 + 8] = static_cast<char>(flipped[64 + 8] ^ 1);
  write(flipped);
  EXPECT_EQ(error(), damaged("its checksum does not match"));
  std::string newer = good;
  newer[8] = 9;
  write(newer);
  EXPECT_EQ(error(), "snapshot '" + path_ + "': is of version 9; this program reads 8");
  std::filesystem::remove(path_);
  EXPECT_EQ(error(), "snapshot '" + path_ + "': cannot open: No such file or directory");
  std::filesystem::create_directory(path_);
  EXPECT_EQ(error(), "snapshot '" + path_ + "': cannot open: Is a directory");
}

// Keys that owe between an hour and nine days, until `most` are in use or the table takes no more: of a
// hundred new ones not one. The slots that are left then are few.
std::vector<std::string> flood(Table& table, std::uint64_t most, nanoseconds now, core::Chance& chance) {
  std::vector<std::string> kept;
  int refused = 0;
  for (int i = 0; refused < 100 && kept.size() < most; ++i) {
    std::string key = "flood " + std::to_string(i);
    const Quota quota = Quota::per_hour(1).with_burst(300);
    const Cost cost{1 + static_cast<std::uint64_t>(chance.up_to(200))};
    // Past the pause that follows a search for room that failed.
    const nanoseconds at = now + i * 1us;
    const bool in = table.check(table.locate(key), quota, cost, at).allowed();
    refused = in ? 0 : refused + 1;
    if (in) kept.push_back(std::move(key));
  }
  return kept;
}

// How much each key owes in a table, in the order of the keys.
std::vector<nanoseconds> debts(Table& table, const std::vector<std::string>& keys, nanoseconds now) {
  std::vector<nanoseconds> found;
  for (const std::string& key : keys)
    found.push_back(
        table.check(table.locate(key), Quota::per_hour(1).with_burst(300), Cost{0}, now).reset_after);
  return found;
}

// With WEIR_LONG=1 a large one too.
std::vector<std::size_t> and_a_large_one(std::vector<std::size_t> sizes) {
  if (core::Chance::is_long()) sizes.push_back(16_MiB);
  return sizes;
}

TEST_F(Snapshot, of_a_table_that_is_full_fits_into_one_as_large) {
  core::Chance chance;
  for (const std::size_t size : and_a_large_one({1_MiB, 2_MiB, 3_MiB, 7_MiB})) {
    Table table(size, WhenFull::deny);
    const nanoseconds now = steady_now();
    const std::vector<std::string> keys = flood(table, ~0U, now, chance);
    EXPECT_GT(keys.size(), table.capacity() * 96 / 100) << size;
    const auto saved = save_snapshot(table, path_);
    ASSERT_TRUE(saved);
    ASSERT_EQ(*saved, keys.size());
    auto file = SnapshotFile::open(path_);
    ASSERT_TRUE(file);
    Table other(size, WhenFull::deny, file->seed());
    const auto restored = file->restore_into(other, steady_now());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->dropped, 0U) << size;
    EXPECT_EQ(restored->keys, keys.size()) << size;
    for (const nanoseconds owed : debts(other, keys, steady_now())) ASSERT_GT(owed, 0s);
  }
}

TEST_F(Snapshot, of_a_process_that_goes_on_fits_whole_by_any_number_of_threads) {
  core::Chance chance;
  for (const std::size_t size : and_a_large_one({1_MiB, 3_MiB})) {
    Table table(size, WhenFull::deny);
    const std::vector<std::string> keys = flood(table, ~0U, steady_now(), chance);
    ASSERT_TRUE(save_snapshot(table, path_));
    for (const unsigned threads : {1U, 3U}) {
      for (const std::size_t room : {size, size * 2}) {
        auto file = SnapshotFile::open(path_);
        ASSERT_TRUE(file);
        Table other(room, WhenFull::deny, file->seed());
        Reservations reservations(other);
        const auto restored = file->take_over_into(other, steady_now(), reservations, threads);
        ASSERT_TRUE(restored);
        EXPECT_EQ(restored->dropped, 0U) << size << ' ' << threads << ' ' << room;
        EXPECT_EQ(restored->keys, keys.size()) << size << ' ' << threads << ' ' << room;
        for (const nanoseconds owed : debts(other, keys, steady_now())) ASSERT_GT(owed, 0s);
      }
    }
  }
}

// The order of its records must not matter, nor how far the first table had grown.
TEST_F(Snapshot, entries_in_any_order_fit_into_a_table_as_large) {
  core::Chance chance;
  for (const std::uint64_t most : {1'000ULL, 45'000ULL, 100'000ULL, ~0ULL}) {
    Table table(8_MiB, WhenFull::deny, {1, 2});
    flood(table, most, 1s, chance);
    std::vector<Table::Entry> entries;
    for (std::uint32_t leaf = 0; leaf < table.leaves();) leaf = table.copy_segment(leaf, 1h, entries);
    for (int order = 0; order < 5; ++order) {
      std::shuffle(entries.begin(), entries.end(), chance);
      Table other(8_MiB, WhenFull::deny, {1, 2});
      for (const Table::Entry& entry : entries) ASSERT_TRUE(other.restore_in_place(entry, 1h));
      EXPECT_EQ(other.live(1h), entries.size());
      EXPECT_LE(other.allocated_bytes(), table.allocated_bytes());
    }
  }
}

TEST_F(Snapshot, into_less_memory_keeps_those_furthest_in_debt_and_counts_the_others) {
  core::Chance chance;
  Table table(4_MiB, WhenFull::deny);
  const std::vector<std::string> keys = flood(table, ~0U, steady_now(), chance);
  ASSERT_TRUE(save_snapshot(table, path_));
  for (const std::size_t size : {1_MiB, 3_MiB}) {
    auto file = SnapshotFile::open(path_);
    ASSERT_TRUE(file);
    Table small(size, WhenFull::deny, file->seed());
    const nanoseconds now = steady_now();
    const auto restored = file->restore_into(small, now);
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->keys + restored->dropped, keys.size());
    EXPECT_EQ(restored->keys, small.live(now));
    EXPECT_GT(restored->keys, small.capacity() * 9 / 10) << size;
    const std::vector<nanoseconds> before = debts(table, keys, now);
    const std::vector<nanoseconds> after = debts(small, keys, now);
    std::vector<nanoseconds> sorted = before;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const nanoseconds surely = sorted[small.capacity() * 9 / 10 - 1];
    const nanoseconds hardly = sorted[std::min<std::size_t>(small.capacity(), sorted.size()) - 1];
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (before[i] > surely) {
        ASSERT_GT(after[i], 0s) << i;
      }
      if (before[i] < hardly) {
        ASSERT_EQ(after[i], 0s) << i;
      }
    }
  }
}

TEST_F(Snapshot, into_more_memory_keeps_all) {
  core::Chance chance;
  Table table(4_MiB, WhenFull::deny);
  const std::vector<std::string> keys = flood(table, ~0U, steady_now(), chance);
  ASSERT_TRUE(save_snapshot(table, path_));
  for (const std::size_t size : {5_MiB, 8_MiB, 64_MiB}) {
    auto file = SnapshotFile::open(path_);
    ASSERT_TRUE(file);
    Table large(size, WhenFull::deny, file->seed());
    const auto restored = file->restore_into(large, steady_now());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->keys, keys.size());
    EXPECT_EQ(restored->dropped, 0U);
    EXPECT_LE(large.allocated_bytes(), 8_MiB);  // no more than such a number of keys takes anyhow
  }
}

TEST_F(Snapshot, holds_the_windows_of_every_algorithm_with_the_greatest_counts) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 32) - 1;
  const Quota quota = *Quota::make({kMost, 1h}, kMost);
  Table table(1_MiB, WhenFull::deny);
  const std::array algorithms = {Algorithm::gcra, Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                 Algorithm::sliding_window_counter};
  const auto ask = [&](Table& where, Algorithm algorithm, Cost cost, nanoseconds now) {
    const core::Rule rule{quota, algorithm};
    return where.check(where.locate("key", rule), Limit{rule}, cost, now, now);
  };
  nanoseconds now = steady_now();
  for (const Algorithm algorithm : algorithms) EXPECT_TRUE(ask(table, algorithm, Cost{kMost}, now).allowed());
  // The counter's window before this one is full, and counts in the high half of its word.
  const nanoseconds next = (now / 1h + 1) * 1h + 30min;
  EXPECT_TRUE(ask(table, Algorithm::sliding_window_counter, Cost{1}, next).allowed());
  const auto saved = save_snapshot(table, path_);
  ASSERT_TRUE(saved);
  EXPECT_EQ(*saved, 4U);
  ASSERT_EQ(error(), "");
  auto file = SnapshotFile::open(path_);
  Table other(1_MiB, WhenFull::deny, file->seed());
  const auto restored = file->restore_into(other, steady_now());
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->keys, 4U);
  now = steady_now();
  for (const Algorithm algorithm : algorithms) {
    if (algorithm != Algorithm::sliding_window_counter) {
      EXPECT_EQ(ask(other, algorithm, Cost{kMost}, now).verdict, Verdict::denied);
    }
  }
  EXPECT_EQ(ask(other, Algorithm::sliding_window_counter, Cost{kMost}, next).verdict, Verdict::denied);
}

TEST_F(Snapshot, a_debt_is_never_forgiven_while_it_is_saved_and_restored) {
  class Slow final : public SystemClocks {
   public:
    nanoseconds steady() const override { return SystemClocks::steady() + pause(); }
    nanoseconds booted() const override { return SystemClocks::booted() + pause(); }

   private:
    nanoseconds pause() const { return passed_ += 10min; }

    mutable nanoseconds passed_{0};
  };
  Table table(1_MiB, WhenFull::deny);
  const Slow clocks;
  const nanoseconds charged = clocks.steady();
  EXPECT_TRUE(table.check(table.locate("key"), kOnce, {}, charged).allowed());
  ASSERT_TRUE(save_snapshot(table, path_, clocks));
  auto file = SnapshotFile::open(path_, clocks);
  ASSERT_TRUE(file);
  Table other(1_MiB, WhenFull::deny, file->seed());
  const nanoseconds now = clocks.steady();
  ASSERT_TRUE(file->restore_into(other, now));
  const Decision decision = other.check(other.locate("key"), kOnce, {}, now);
  ASSERT_EQ(decision.verdict, Verdict::denied);
  EXPECT_GE(now + *decision.retry_after, charged + 24h);
}

// A save that fails leaves the snapshot as it was.
TEST_F(Snapshot, a_full_disk_leaves_the_old_one_whole) {
  save(20);
  const std::string good = read();
  Table table(1_MiB, WhenFull::deny);
  for (int i = 0; i < 20'000; ++i) table.check(table.locate(std::to_string(i)), kQuota, {}, steady_now());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto saved = save_snapshot(table, path_);
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error(), "snapshot '" + path_ + "': cannot write: File too large");
  EXPECT_EQ(read(), good);
  EXPECT_EQ(files(), (std::set<std::string>{"weir.snapshot"}));
}

TEST_F(Snapshot, what_a_killed_program_left_is_removed_and_nothing_else) {
  save(1);
  for (const char* left : {".tmp.a1B2c3", ".tmp.XXXXXX"}) std::ofstream(path_ + left) << "half";
  const std::set<std::string> others = {"weir.snapshot", "weir.snapshot.tmp", "weir.snapshot.tmp.mine",
                                        "weir.snapshot.damaged", "other.tmp.a1B2c3"};
  for (const std::string& other : others) std::ofstream(directory_ + "/" + other, std::ios::app);
  remove_leftovers(path_);
  EXPECT_EQ(files(), others);
  EXPECT_EQ(error(), "");
}

TEST_F(Snapshot, a_directory_that_is_not_there_is_said) {
  Table table(1_MiB, WhenFull::deny);
  const std::string path = directory_ + "/none/weir.snapshot";
  EXPECT_EQ(save_snapshot(table, path).error(),
            "snapshot '" + path + "': cannot create a file beside it: No such file or directory");
}

}  // namespace
}  // namespace weir::store::snapshot_test
