#include "store/snapshot.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "store/clock.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;

constexpr Quota kQuota = Quota::per_hour(10);

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
  EXPECT_EQ(file->restore_into(table, 5s), 1000U);
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
  EXPECT_EQ(error(), damaged("its length is not that of whole records"));
  write(good + std::string(24, '\0'));
  EXPECT_NE(error(), "");
  std::string flipped = good;
  flipped[64 + 8] = static_cast<char>(flipped[64 + 8] ^ 1);
  write(flipped);
  EXPECT_EQ(error(), damaged("its checksum does not match"));
  std::string newer = good;
  newer[8] = 9;
  write(newer);
  EXPECT_EQ(error(), "snapshot '" + path_ + "': is of version 9; this program reads 1");
  std::filesystem::remove(path_);
  EXPECT_EQ(error(), "snapshot '" + path_ + "': cannot open: No such file or directory");
  std::filesystem::create_directory(path_);
  EXPECT_EQ(error(), "snapshot '" + path_ + "': is not a file");
}

TEST_F(Snapshot, one_that_does_not_fit_is_refused) {
  Table table(4_MiB, WhenFull::deny);
  for (int i = 0; i < 150'000; ++i) table.check(table.locate(std::to_string(i)), kQuota, {}, steady_now());
  ASSERT_TRUE(save_snapshot(table, path_));
  auto file = SnapshotFile::open(path_);
  ASSERT_TRUE(file);
  Table small(1_MiB, WhenFull::deny, file->seed());
  const auto restored = file->restore_into(small, 1s);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error(),
            "snapshot '" + path_ + "': holds 150000 keys, which do not fit into this much memory");
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
  EXPECT_FALSE(std::filesystem::exists(path_ + ".tmp"));
}

TEST_F(Snapshot, a_directory_that_is_not_there_is_said) {
  Table table(1_MiB, WhenFull::deny);
  const std::string path = directory_ + "/none/weir.snapshot";
  EXPECT_EQ(save_snapshot(table, path).error(),
            "snapshot '" + path + "': cannot create '" + path + ".tmp': No such file or directory");
}

}  // namespace
}  // namespace weir::store
