#include "store/fork.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "store/bucket.hpp"
#include "store/spin.hpp"

namespace weir::inline v0_1::store::fork_test {
namespace {

constexpr const char* kWhy =
    "weir: another thread was in a call of this limiter at fork\\(\\), and its lock is held in the child; "
    "expected a limiter that the child has made\n";

TEST(Fork, is_counted_in_the_child) {
  const std::uint32_t before = forks();
  const pid_t child = fork();
  if (child == 0) _exit(forks() == before + 1 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(forks(), before) << "the parent is what it was";
}

// Such tests run in a child of fork(), of which this thread is the only one.
TEST(Fork, a_lock_that_nobody_can_give_back_ends_the_child) {
  Bucket bucket{};
  bucket.lock();
  const auto lock_again = [&]() WEIR_NOT_ANALYSED { bucket.lock(); };
  EXPECT_DEATH(lock_again(), kWhy);
  EXPECT_DEATH(
      {
        Bucket other{};
        lock_all<Bucket>(std::array{&other, &bucket});
      },
      kWhy);
  bucket.unlock();
  EXPECT_EXIT(
      {
        bucket.lock();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
  SpinLock lock;
  lock.lock();
  const auto lock_it_again = [&lock]() WEIR_NOT_ANALYSED { lock.lock(); };
  EXPECT_DEATH(lock_it_again(), kWhy);
  lock.unlock();
}

}  // namespace
}  // namespace weir::store::fork_test
