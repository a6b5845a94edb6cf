#include "store/sorted_chunks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <set>

namespace weir::inline v0_1::store::sorted_chunks_test {
namespace {

using Chunks = SortedChunks<std::uint64_t>;

void expect_same(const Chunks& chunks, const std::set<std::uint64_t>& all) {
  ASSERT_EQ(chunks.size(), all.size());
  Chunks::Place at = Chunks::begin();
  for (const std::uint64_t each : all) {
    ASSERT_FALSE(chunks.is_end(at));
    ASSERT_EQ(chunks[at], each);
    at = chunks.next(at);
  }
  ASSERT_TRUE(chunks.is_end(at));
}

// One that grows from 0 to some thousands and shrinks again, in any order and in ascending order.
TEST(SortedChunks, are_a_set) {
  std::mt19937_64 random(5);
  for (const bool ascends : {false, true}) {
    Chunks chunks;
    std::set<std::uint64_t> all;
    std::uint64_t last = 0;
    for (int step = 0; step < 60'000; ++step) {
      const bool grows = random() % 8 < (step < 30'000 ? 5 : 3);
      const std::uint64_t value = ascends && random() % 16 != 0 ? ++last : random() % 20'000;
      if (grows) {
        ASSERT_EQ(chunks.insert(value), all.insert(value).second);
        last = std::max(last, value);
      } else if (!all.empty()) {
        const auto found = all.lower_bound(random() % (last + 1));
        const std::uint64_t gone = found == all.end() ? *all.begin() : *found;
        const Chunks::Place at = chunks.find_from(gone);
        ASSERT_EQ(chunks[at], gone);
        chunks.erase(at);
        all.erase(gone);
      }
      const std::uint64_t from = random() % 20'000;
      const auto found = all.lower_bound(from);
      const Chunks::Place at = chunks.find_from(from);
      ASSERT_EQ(chunks.is_end(at), found == all.end());
      if (found != all.end()) {
        ASSERT_EQ(chunks[at], *found);
      }
      if (step % 1000 == 0) expect_same(chunks, all);
    }
    for (const std::uint64_t each : all) chunks.erase(chunks.find_from(each));
    EXPECT_TRUE(chunks.empty());
    EXPECT_TRUE(chunks.is_end(Chunks::begin()));
  }
}

}  // namespace
}  // namespace weir::store::sorted_chunks_test
