#include "server/takeover_word.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <system_error>
#include <thread>

namespace weir::inline v0_1::server {
namespace {

// Another process', as far as memory goes: mapped a second time.
std::unique_ptr<TakeoverWord> other_of(const TakeoverWord& word) {
  return std::make_unique<TakeoverWord>(net::OwnedDescriptor(dup(word.descriptor())));
}

TEST(TakeoverWord, the_first_has_said_it) {
  TakeoverWord word;
  const auto other = other_of(word);
  EXPECT_FALSE(word.is_taken());
  EXPECT_TRUE(other->take_over());
  EXPECT_FALSE(word.stay());
  EXPECT_TRUE(word.is_taken());
  EXPECT_TRUE(other->take_over());
}

TEST(TakeoverWord, who_is_late_has_not_taken_over) {
  TakeoverWord word;
  const auto other = other_of(word);
  EXPECT_TRUE(word.stay());
  EXPECT_TRUE(word.stay());
  EXPECT_FALSE(other->take_over());
  EXPECT_FALSE(word.is_taken());
}

TEST(TakeoverWord, of_two_at_once_one_has_said_it) {
  for (int i = 0; i < 200; ++i) {
    TakeoverWord word;
    const auto other = other_of(word);
    bool taken = false;
    std::thread next([&] { taken = other->take_over(); });
    const bool stays = word.stay();
    next.join();
    EXPECT_NE(taken, stays);
  }
}

TEST(TakeoverWord, what_could_become_shorter_is_not_taken_for_one) {
  const int memory = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(memory, 4), 0);
  EXPECT_THROW(TakeoverWord{net::OwnedDescriptor(memory)}, std::system_error);
  EXPECT_THROW(TakeoverWord{net::OwnedDescriptor(dup(STDERR_FILENO))}, std::system_error);
}

}  // namespace
}  // namespace weir::server
