#include "store/penalty_book.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace weir::inline v0_1::store::penalty_book_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr core::PenaltyTerms kDoubles{.time = 1min, .growing = 2000, .most = 1h};

TEST(PenaltyBook, each_key_has_its_own_count) {
  PenaltyBook book(PenaltyBook::kMemory);
  EXPECT_EQ(book.breach(1, kDoubles, 1h), 1min);
  EXPECT_EQ(book.breach(1, kDoubles, 1h + 2min), 2min);
  EXPECT_EQ(book.breach(2, kDoubles, 1h + 2min), 1min);
  EXPECT_EQ(book.breach(1, kDoubles, 1h + 5min), 4min);
  book.forget(1);
  EXPECT_EQ(book.breach(1, kDoubles, 1h + 10min), 1min);
  EXPECT_EQ(book.breach(2, kDoubles, 1h + 10min), 2min);
  EXPECT_EQ(book.breach(2, kDoubles, 3h + 10min), 1min) << "two hours without a breach";
}

TEST(PenaltyBook, a_penalty_that_does_not_grow_is_not_kept) {
  PenaltyBook book(PenaltyBook::kMemory);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(book.breach(1, {.time = 5min}, 1h), 5min);
  EXPECT_EQ(book.bytes(), 0U);
}

TEST(PenaltyBook, where_it_is_full_a_breach_is_the_first) {
  PenaltyBook book(PenaltyBook::kPlaces * 16);
  std::uint64_t key = 1;
  for (; book.not_kept() == 0; ++key) book.breach(key, kDoubles, 1h);
  EXPECT_EQ(book.bytes(), book.most_bytes());
  EXPECT_EQ(key, 1 + PenaltyBook::kPlaces + 1);
  EXPECT_EQ(book.breach(key - 1, kDoubles, 1h + 1min), 1min) << "it was not kept";
  EXPECT_EQ(book.not_kept(), 2U);
  EXPECT_EQ(book.breach(1, kDoubles, 1h + 1min), 2min) << "one that was counts on";
  EXPECT_EQ(book.breach(key, kDoubles, 2h), 1min) << "the others are over";
  EXPECT_EQ(book.breach(key, kDoubles, 2h + 2min), 2min);
  EXPECT_EQ(book.not_kept(), 2U);
  EXPECT_EQ(book.bytes(), book.most_bytes());
}

TEST(PenaltyBook, two_thirds_full_it_keeps_nearly_every_key) {
  PenaltyBook book(PenaltyBook::kMemory);
  const std::uint64_t keys = PenaltyBook::kMemory / 16 * 2 / 3;
  for (std::uint64_t key = 1; key <= keys; ++key) book.breach(key << 8, kDoubles, 1h);
  EXPECT_LT(book.not_kept(), keys / 100);
}

TEST(PenaltyBook, its_memory_is_a_bound) {
  PenaltyBook book(std::size_t{64} << 10);
  for (std::uint64_t key = 1; key < 20'000; ++key) book.breach(key << 8, kDoubles, 1h);
  EXPECT_EQ(book.most_bytes(), std::size_t{64} << 10);
  EXPECT_LE(book.bytes(), book.most_bytes());
  EXPECT_GT(book.bytes(), book.most_bytes() * 9 / 10);
  EXPECT_EQ(book.bytes() / 16 + book.not_kept(), 19'999U);
  PenaltyBook none(0);
  EXPECT_EQ(none.breach(1, kDoubles, 1h), 1min);
  EXPECT_EQ(none.breach(1, kDoubles, 1h), 1min);
}

TEST(PenaltyBook, a_copy_has_those_that_count_and_is_kept_elsewhere) {
  PenaltyBook book(PenaltyBook::kMemory);
  book.breach(1, kDoubles, 1h);
  book.breach(2, kDoubles, 1h);
  book.breach(2, kDoubles, 1h + 30min);
  std::set<std::pair<std::uint64_t, nanoseconds>> copied;
  book.copy(2h, [&](std::uint64_t key, nanoseconds forgotten) { copied.insert({key, forgotten}); });
  EXPECT_EQ(copied, (std::set<std::pair<std::uint64_t, nanoseconds>>{{2, 3h + 30min}}));
  PenaltyBook other(PenaltyBook::kMemory);
  other.keep(2, 3h + 30min, 2h);
  other.keep(1, 2h, 2h);
  EXPECT_EQ(other.bytes(), 16U);
  EXPECT_EQ(other.breach(2, kDoubles, 2h), 4min);
}

}  // namespace
}  // namespace weir::store::penalty_book_test
