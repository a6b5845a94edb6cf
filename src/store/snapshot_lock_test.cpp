#include "store/snapshot_lock.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include <sys/wait.h>

namespace weir::inline v0_1::store::snapshot_lock_test {
namespace {

class SnapshotLocks : public testing::Test {
 protected:
  ~SnapshotLocks() override { std::remove((path_ + ".lock").c_str()); }

  const std::string path_ = testing::TempDir() + "weir_lock_" + std::to_string(getpid());
};

TEST_F(SnapshotLocks, only_one_has_it_and_the_other_is_told) {
  std::optional<SnapshotLock> first;
  auto taken = SnapshotLock::take(path_);
  ASSERT_TRUE(taken) << taken.error();
  first.emplace(std::move(*taken));
  const auto second = SnapshotLock::take(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(),
            "snapshot '" + path_ + "': another process saves to it; each needs a file of its own");
  first.reset();
  EXPECT_TRUE(SnapshotLock::take(path_));
}

TEST_F(SnapshotLocks, ends_with_a_process_that_is_killed) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = SnapshotLock::take(path_);
    const char has = lock ? 'y' : 'n';
    if (write(told[1], &has, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char has = 0;
  ASSERT_EQ(read(told[0], &has, 1), 1);
  EXPECT_EQ(has, 'y');
  EXPECT_FALSE(SnapshotLock::take(path_));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(SnapshotLock::take(path_));
  close(told[0]);
  close(told[1]);
}

TEST_F(SnapshotLocks, is_not_for_others_to_read) {
  ASSERT_TRUE(SnapshotLock::take(path_));
  struct stat about{};
  stat((path_ + ".lock").c_str(), &about);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(SnapshotLocks, a_folder_that_is_not_there_is_said) {
  const std::string path = path_ + ".none/snapshot";
  const auto lock = SnapshotLock::take(path);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error(),
            "snapshot '" + path + "': cannot create '" + path + ".lock': No such file or directory");
}

}  // namespace
}  // namespace weir::store::snapshot_lock_test
