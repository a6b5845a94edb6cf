#include "store/all_or_none_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "core/siphash.hpp"

namespace weir::inline v0_1::store::all_or_none_check_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

const Limit kOnce{.rule = core::Rule{Quota::per_day(1)}};

struct Outcome {
  int rounds;
  bool charged;
  std::uint64_t refused;
  std::vector<Decision> decisions;
};

// Where keys lie is chosen by the test, and so is how many rounds a call may take: what would begin again and
// again fails instead of hanging.
struct World {
  Segments segments;
  WhenFull when_full = WhenFull::deny;

  explicit World(std::size_t bytes = 1_MiB) : segments(bytes) {}

  Outcome ask(const std::vector<KeyPlace>& places, nanoseconds now, int most_rounds = 2, Cost cost = {}) {
    std::vector<Check> checks;
    for (const KeyPlace& place : places)
      checks.push_back({.limit = &kOnce, .cost = cost, .hash = place.tag << 22 | place.bucket});
    AllOrNoneCheck joint(segments, when_full, checks, now, now);
    Outcome outcome{1, false, 0, {}};
    while (!joint.round() && outcome.rounds <= most_rounds) ++outcome.rounds;
    EXPECT_LE(outcome.rounds, most_rounds);
    outcome.charged = joint.charged();
    outcome.refused = joint.refused();
    for (const Check& check : checks) outcome.decisions.push_back(check.decision);
    return outcome;
  }
  void fill(const std::vector<KeyPlace>& places, nanoseconds now) {
    for (const KeyPlace& place : places) ASSERT_TRUE(ask({place}, now).charged);
  }
  bool live(KeyPlace place, nanoseconds now) {
    return ask({place}, now, 1, Cost{0}).decisions[0].remaining == 0;
  }
  void forget(KeyPlace place) {
    const Segments::Pair pair = segments.lock_pair(place);
    for (const auto [bucket, segment] : pair.homes) {
      bucket->assert_held();
      if (const int slot = bucket->find(place.tag); slot >= 0) bucket->set(slot, {});
    }
  }
};

// Keys of the buckets (from, to), of which the first is their home.
KeyPlace key_of(std::uint32_t from, std::uint32_t to, std::uint64_t number) {
  const KeyPlace place = Segments::place(number << 20 | ((from ^ to) & ~1U) | (from & 1U), to);
  EXPECT_EQ(place.bucket, from);
  EXPECT_EQ(Segments::other(from, place.tag), to);
  return place;
}

// Three buckets, and no key here has any other.
constexpr std::uint32_t kX = 0x4d;
constexpr std::uint32_t kY = kX ^ 0x101;
constexpr std::uint32_t kZ = kX ^ 0x203;

// Three live keys in Y, three in Z, two in X: one free slot for all.
std::vector<KeyPlace> all_but_one() {
  return {key_of(kY, kX, 1), key_of(kY, kX, 2), key_of(kY, kX, 3), key_of(kZ, kX, 1),
          key_of(kZ, kX, 2), key_of(kZ, kX, 3), key_of(kX, kY, 4), key_of(kX, kZ, 4)};
}

TEST(AllOrNoneCheck, two_new_keys_and_one_free_slot_end_in_a_refusal) {
  for (const KeyPlace a : {key_of(kX, kY, 8), key_of(kY, kX, 8)}) {
    for (const KeyPlace b : {key_of(kX, kZ, 9), key_of(kZ, kX, 9), key_of(kX, kY, 9), key_of(kY, kX, 9)}) {
      for (const WhenFull when_full : {WhenFull::deny, WhenFull::allow}) {
        World world;
        world.fill(all_but_one(), 1s);
        world.when_full = when_full;
        const Outcome outcome = world.ask({a, b}, 1s);
        EXPECT_EQ(outcome.refused, 1U);
        EXPECT_EQ(outcome.charged, when_full == WhenFull::allow);
        EXPECT_EQ(outcome.decisions[1].verdict,
                  when_full == WhenFull::allow ? Verdict::allowed : Verdict::denied);
        EXPECT_EQ(world.live(a, 1s), when_full == WhenFull::allow);
        EXPECT_FALSE(world.live(b, 1s));
        for (const KeyPlace& each : all_but_one()) EXPECT_TRUE(world.live(each, 1s));
        // The slot itself is as free as before.
        if (when_full == WhenFull::deny) {
          EXPECT_TRUE(world.ask({b}, 1s).charged);
        }
      }
    }
  }
}

TEST(AllOrNoneCheck, a_refused_key_is_told_when_a_slot_will_be_free) {
  World world;
  world.fill(all_but_one(), 1s);
  const Outcome outcome = world.ask({key_of(kX, kY, 8), key_of(kX, kZ, 9)}, 1h);
  EXPECT_EQ(outcome.decisions[1].retry_after, 23h + 1s);
}

// Seven keys of two buckets never fit; the answer still is a wait.
TEST(AllOrNoneCheck, more_keys_than_their_buckets_have_slots_are_refused_with_a_wait) {
  World world;
  std::vector<KeyPlace> keys;
  for (std::uint64_t number = 1; number <= 7; ++number) keys.push_back(key_of(kX, kY, number));
  const Outcome outcome = world.ask(keys, 1s);
  EXPECT_FALSE(outcome.charged);
  EXPECT_EQ(outcome.decisions[6].retry_after, 24h);
  EXPECT_EQ(world.segments.live(1s, ~0U), 0U);
}

// The room that is made for one must not be what another has been counting on.
TEST(AllOrNoneCheck, room_for_one_key_does_not_undo_the_room_for_another) {
  for (const std::uint32_t first : {kX, kY}) {
    World world;
    std::vector<KeyPlace> keys = all_but_one();
    keys.erase(keys.begin());  // a second free slot, in Y
    world.fill(keys, 1s);
    const KeyPlace a = key_of(first, first ^ kX ^ kY, 8);
    const KeyPlace b = key_of(kX, kZ, 9);
    const Outcome outcome = world.ask({a, b}, 1s);
    EXPECT_TRUE(outcome.charged);
    keys.insert(keys.end(), {a, b});
    for (const KeyPlace& each : keys) EXPECT_TRUE(world.live(each, 1s));
    EXPECT_FALSE(world.ask({key_of(kX, kZ, 10)}, 1s).charged);
  }
}

// An expired entry is free for everybody, except for another key of the same request.
TEST(AllOrNoneCheck, no_key_takes_the_expired_slot_of_another_of_its_request) {
  for (const bool room : {false, true}) {
    World world;
    const KeyPlace old = key_of(kX, kY, 7);
    world.fill({old}, 1s);
    std::vector<KeyPlace> keys = all_but_one();
    if (room) keys.pop_back();
    world.fill(keys, 20h);
    const nanoseconds now = 30h;  // old has expired
    const KeyPlace fresh = key_of(kX, kY, 8);
    const Outcome outcome = world.ask({fresh, old}, now);
    EXPECT_EQ(outcome.charged, room);
    EXPECT_EQ(world.live(fresh, now), room);
    EXPECT_EQ(world.live(old, now), room);
    for (const KeyPlace& each : keys) EXPECT_TRUE(world.live(each, now));
  }
}

// A key whose request is denied needs no room.
TEST(AllOrNoneCheck, a_denial_comes_before_a_lack_of_room) {
  World world;
  world.fill(all_but_one(), 1s);
  const KeyPlace known = all_but_one()[0];
  const Outcome outcome = world.ask({key_of(kX, kY, 8), key_of(kX, kZ, 9), known}, 1s, 1);
  EXPECT_FALSE(outcome.charged);
  EXPECT_EQ(outcome.refused, 0U);
  EXPECT_EQ(outcome.decisions[2].retry_after, 24h);
}

KeyPlace natural(std::int64_t number) {
  return Segments::place_of(core::siphash<1, 3>({1, 2}, std::to_string(number)));
}

// Random calls of fresh and known keys in a table that is kept as full as it gets, each of which must end in
// two rounds and charge all or none.
struct NearFull {
  World world;
  core::Chance chance;
  nanoseconds now = 1s;
  std::int64_t number = 0;
  std::vector<KeyPlace> known{};
  std::uint64_t charged = 0;
  std::uint64_t refused = 0;

  explicit NearFull(std::size_t bytes) : world(bytes) {
    // A leaf that is full refuses while others have room.
    for (int full = 0; full < 100;) {
      const KeyPlace place = natural(number++);
      const bool in = world.ask({place}, now, 1 + 64).charged;
      full = in ? 0 : full + 1;
      if (in) known.push_back(place);
    }
  }
  std::size_t up_to(std::size_t most) { return chance() % (most + 1); }
  void forget_one() {
    std::swap(known[up_to(known.size() - 1)], known.back());
    world.forget(known.back());
    known.pop_back();
  }
  void call() {
    now += 11ms;  // past the pause after a search that failed
    const std::size_t size = 1 + up_to(up_to(7) == 0 ? 14 : 3);
    // Room for about as many as are asked for, somewhere.
    for (std::size_t k = up_to(size); k > 0; --k) forget_one();
    std::vector<KeyPlace> fresh;
    for (std::size_t k = 0; k < size; ++k) fresh.push_back(natural(number++));
    std::vector<KeyPlace> places = fresh;
    if (up_to(3) == 0) places.push_back(known[up_to(known.size() - 1)]);  // which denies the request
    const Outcome outcome = world.ask(places, now);
    const bool denied = places.size() != fresh.size();
    ASSERT_FALSE(denied && outcome.charged);
    ASSERT_EQ(outcome.refused, outcome.charged || denied ? 0U : 1U);
    (outcome.charged ? charged : refused) += 1;
    if (outcome.charged) known.insert(known.end(), fresh.begin(), fresh.end());
    if (up_to(15) != 0) return;
    for (const KeyPlace& place : fresh) ASSERT_EQ(world.live(place, now), outcome.charged);
  }
};

// WEIR_LONG=1: 10^6 calls on each of more sizes, some minutes: a call that finds no room has searched all
// that may move.
TEST(AllOrNoneCheck, any_keys_near_full_end_in_two_rounds_and_charge_all_or_none_on_every_size) {
  const bool all = core::Chance::is_long();
  std::vector<std::size_t> sizes = {1_MiB, 2_MiB, 3_MiB, 5_MiB};
  if (all) sizes.insert(sizes.end(), {8_MiB, 16_MiB, 64_MiB});
  for (const std::size_t size : sizes) {
    NearFull table(size);
    const int calls = all ? 1'000'000 : 5'000;
    for (int i = 0; i < calls; ++i) {
      ASSERT_NO_FATAL_FAILURE(table.call()) << size << " " << i;
      ASSERT_FALSE(testing::Test::HasFailure()) << size << " " << i;  // one that takes too many rounds
    }
    EXPECT_GT(table.charged, static_cast<std::uint64_t>(calls) / 20);
    EXPECT_GT(table.refused, static_cast<std::uint64_t>(calls) / 20);
    for (const KeyPlace& place : table.known) {
      if (!all) {
        ASSERT_TRUE(table.world.live(place, table.now));
      }
    }
    if (all) {
      std::printf("%zu MiB: %llu charged, %llu refused\n", size >> 20,
                  static_cast<unsigned long long>(table.charged),
                  static_cast<unsigned long long>(table.refused));
      std::fflush(stdout);
    }
  }
}

TEST(AllOrNoneCheck, a_growing_table_needs_one_more_round_for_each_split) {
  core::Chance chance;
  World world(16_MiB);
  std::int64_t number = 0;
  for (int i = 0; i < 70'000; ++i) {
    std::vector<KeyPlace> fresh;
    for (std::int64_t k = chance.up_to(15); k >= 0; --k) fresh.push_back(natural(number++));
    const std::uint32_t before = world.segments.used();
    const Outcome outcome = world.ask(fresh, 1s, 2 + 16);
    ASSERT_TRUE(outcome.charged);
    // What was found before a split may have to be found again after it.
    ASSERT_LE(outcome.rounds, 2 + 2 * static_cast<int>(world.segments.used() - before));
  }
  EXPECT_GT(world.segments.used(), 8U);
  EXPECT_EQ(world.segments.live(1s, ~0U), static_cast<std::uint64_t>(number));
}

}  // namespace
}  // namespace weir::store::all_or_none_check_test
