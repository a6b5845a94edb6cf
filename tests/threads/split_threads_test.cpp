// Segments that are split while another split publishes where its leaves are.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "store/segments.hpp"

namespace weir::inline v0_1::store::split_threads_test {
namespace {

using namespace std::chrono_literals;

// A key of that leaf, of 16 MiB and thus 16 leaves: the tag's first four bits.
KeyPlace of_leaf(std::uint64_t leaf) { return Segments::place(leaf << 38 | 0x123, 77); }

struct Paused {
  std::atomic<int> stores{0};
  std::atomic<bool> other_is_done{false};
};
Paused paused;

// Pauses the first split, which gives leaves 8 to 15 away, when the directory knows of 8 only. Another thread
// can then reach the new segment, and needs to split it. It has to wait until the first is done, so this
// pause ends by itself.
void pause_first_split() {
  if (++paused.stores != 1) return;
  for (const auto begun = std::chrono::steady_clock::now();
       !paused.other_is_done && std::chrono::steady_clock::now() - begun < 300ms;) {
    std::this_thread::sleep_for(1ms);
  }
}

TEST(SplitThreads, a_split_of_the_new_segment_loses_no_leaf) {
  Segments segments(16 * Segments::kSegmentBytes);
  Segments::while_publishing = pause_first_split;
  std::thread other([&] {
    while (paused.stores == 0) std::this_thread::yield();
    EXPECT_TRUE(segments.split_at(of_leaf(8).tag));
    paused.other_is_done = true;
  });
  EXPECT_TRUE(segments.split_at(of_leaf(0).tag));
  other.join();
  Segments::while_publishing = nullptr;
  EXPECT_EQ(segments.used(), 3U);
  for (std::uint64_t leaf = 0; leaf < 16; ++leaf) {
    ASSERT_EQ(segments.leaf_of(of_leaf(leaf).tag), leaf);
    // Without a bucket, a check would look for it again and again.
    for (const Segments::Owner& owner : segments.homes(of_leaf(leaf)))
      ASSERT_NE(owner.bucket, nullptr) << leaf;
    EXPECT_EQ(segments.homes(of_leaf(leaf))[0].segment->begin, leaf < 8 ? 0 : leaf < 12 ? 8 : 12);
  }
}

}  // namespace
}  // namespace weir::store::split_threads_test
