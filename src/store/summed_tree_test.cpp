#include "store/summed_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::store {
namespace {

// Of numbers: which came in what order, so that a sum in another order is another one.
struct Digest {
  std::uint64_t power = 1;
  std::uint64_t value = 0;
  std::int64_t count = 0;

  Digest then(const Digest& next) const {
    return {power * next.power, value * next.power + next.value, count + next.count};
  }
  friend bool operator==(const Digest&, const Digest&) = default;
};

struct Number {
  std::int64_t key = 0;
  bool even = false;  // those may join
  Digest digest{};

  Digest sum() const { return digest; }
};
Number number(std::int64_t key, bool even) {
  return {key, even, {1'000'003, static_cast<std::uint64_t>(key) + 1, 1}};
}

// Of neighbours that may join the first says what both were, wherever the tree has joined them.
struct Joins {
  bool operator()(Number& first, const Number& second) const {
    if (!first.even || !second.even) return false;
    first.digest = first.digest.then(second.digest);
    return true;
  }
};
constexpr auto kNever = [](Number&, const Number&) { return false; };

using Tree = SummedTree<Number, std::int64_t, Digest>;

Digest sum_of(const std::vector<Number>& all) {
  Digest sum;
  for (const Number& each : all) sum = sum.then(each.digest);
  return sum;
}
Digest between(const Tree& tree, const std::int64_t* from, const std::int64_t* to) {
  Digest sum;
  tree.each_sum(from, to, [&](const Digest& part) { sum = sum.then(part); });
  return sum;
}

TEST(SummedTree, is_what_a_sorted_row_says) {
  core::Chance chance;
  // Growing, shrinking, at the ends and in the middle.
  Tree tree;
  std::vector<Number> row;
  const auto place = [&](std::int64_t key) {
    return std::lower_bound(row.begin(), row.end(), key,
                            [](const Number& each, std::int64_t than) { return each.key < than; });
  };
  for (int step = 0; step < 60'000; ++step) {
    const bool grows = step / 10'000 % 2 == 0;
    const std::int64_t key = step / 20'000 == 1 ? (grows ? step : step - 10'000) : chance.up_to(9'999);
    const auto at = place(key);
    const bool is_there = at != row.end() && at->key == key;
    ASSERT_EQ(tree.find(key) != nullptr, is_there);
    if (!is_there && (grows || chance.up_to(9) == 0)) {
      tree.insert(number(key, false), kNever);
      row.insert(at, number(key, false));
    } else if (is_there && !grows) {
      ASSERT_TRUE(tree.erase(key, kNever));
      row.erase(at);
    } else if (is_there) {
      const auto change = [](Number& each) { each.digest.value += 7; };
      ASSERT_TRUE(tree.change(key, change, kNever));
      change(*at);
    } else {
      ASSERT_FALSE(tree.erase(key, kNever));
    }
    ASSERT_EQ(tree.empty(), row.empty());
    if (row.empty() || step % 37 != 0) continue;
    ASSERT_EQ(tree.front().key, row.front().key);
    ASSERT_EQ(tree.back().key, row.back().key);
    ASSERT_EQ(tree.sum(), sum_of(row));
    const std::int64_t from = chance.up_to(10'000), to = from + chance.up_to(3'000);
    ASSERT_EQ(between(tree, &from, &to), sum_of({place(from), place(std::max(from, to))}));
    ASSERT_EQ(between(tree, &from, nullptr), sum_of({place(from), row.end()}));
    ASSERT_EQ(between(tree, nullptr, &to), sum_of({row.begin(), place(to)}));
    // The last that is the count-th or earlier from there on.
    const auto rest = row.end() - place(from);
    const std::int64_t which = chance.up_to(rest + 1);
    const Number* const found = tree.find_last(
        &from, std::int64_t{0}, [](std::int64_t before, const Digest& part) { return before + part.count; },
        [&](std::int64_t before, const Digest&) { return before < which; });
    if (which == 0 || rest == 0) {
      ASSERT_EQ(found, nullptr);
    } else {
      ASSERT_EQ(found->key, (place(from) + std::min<std::ptrdiff_t>(which, rest) - 1)->key);
    }
  }
}

TEST(SummedTree, keeps_little_of_what_joins) {
  // One in a hundred stays apart; the others become one between them, whatever the order they turn in.
  core::Chance chance;
  Tree tree;
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < 10'000; ++key) {
    tree.insert(number(key, false), Joins{});
    if (key % 100 != 0) keys.push_back(key);
  }
  std::shuffle(keys.begin(), keys.end(), chance);
  const Digest all = tree.sum();
  // One that has joined another cannot be found: its turn is over.
  for (const std::int64_t key : keys) tree.change(key, [](Number& each) { each.even = true; }, Joins{});
  EXPECT_EQ(tree.sum(), all);
  std::size_t kept = 0;
  tree.each([&](const Number&) { ++kept; });
  EXPECT_LT(kept, 400U);
}

}  // namespace
}  // namespace weir::store
