// Those that fill their part of the memory for reservations leave the others theirs.
#include "store/reservation_memory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::reservation_memory_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using Kind = ReservationMemory::Kind;
using Full = ReservationMemory::Full;

constexpr std::size_t kBound = 64 << 10;
constexpr nanoseconds kDay = std::chrono::hours{24};

// What fits of a kind, a byte at a time of those 64.
struct Takes {
  ReservationMemory memory{64};
  std::vector<ReservationMemory::Share> shares{};
  Full full = Full::no;

  std::size_t all(std::uint64_t client, Kind kind) {
    std::size_t taken = 0;
    for (;; ++taken) {
      auto share = memory.take(client, 1, kind, full);
      if (!share) return taken;
      shares.push_back(std::move(share));
    }
  }
};

TEST(ReservationMemory, has_a_part_for_each_kind) {
  struct Row {
    std::vector<Kind> order;
    std::vector<std::size_t> takes;
  };
  const Row rows[] = {
      {{Kind::wait, Kind::hold, Kind::pause}, {48, 8, 8}},
      {{Kind::hold, Kind::pause, Kind::wait}, {48, 8, 8}},
      {{Kind::pause, Kind::hold, Kind::wait}, {16, 40, 8}},
      {{Kind::pause, Kind::wait, Kind::hold}, {16, 40, 8}},
  };
  for (const Row& row : rows) {
    Takes takes;
    for (std::size_t i = 0; i < row.order.size(); ++i) {
      EXPECT_EQ(takes.all(0, row.order[i]), row.takes[i]) << i;
      EXPECT_EQ(takes.memory.bytes(row.order[i]), row.takes[i]);
    }
    EXPECT_EQ(takes.memory.bytes(), 64U);
    takes.shares.clear();
    EXPECT_EQ(takes.memory.bytes(), 0U);
  }
}

TEST(ReservationMemory, has_a_share_for_each_client_and_says_what_is_full) {
  struct Row {
    std::uint64_t client;
    Kind kind;
    std::size_t takes;
    std::string says;
  };
  const Row rows[] = {
      {1, Kind::pause, 8,
       "this address's share of what pauses may take of the memory for reservations is full: 8 bytes"},
      {ReservationMemory::kPenalties, Kind::pause, 8,
       "what pauses may take of the memory for reservations is full: 16 bytes"},
      {2, Kind::pause, 0, "what pauses may take of the memory for reservations is full: 16 bytes"},
      {1, Kind::hold, 32, "this client's share of the memory for reservations is full: 32 bytes"},
      {2, Kind::hold, 8, "the memory for reservations is full: 64 bytes"},
      {2, Kind::wait, 8, "the memory for reservations is full: 64 bytes"},
  };
  Takes takes;
  for (const Row& row : rows) {
    EXPECT_EQ(takes.all(row.client, row.kind), row.takes) << row.says;
    EXPECT_EQ(takes.memory.describe(takes.full, row.kind), row.says);
  }
}

struct World {
  std::unique_ptr<EmbeddedStore> store = made(kBound);
  nanoseconds now = 1000s;
  std::string why{};

  static std::unique_ptr<EmbeddedStore> made(std::size_t bound) {
    return std::make_unique<EmbeddedStore>(4_MiB, WhenFull::deny, core::HashKey{1, 2}, bound);
  }
  bool submit(Request& request) {
    Request* const one = &request;
    store->submit({&one, 1}, {now, now});
    why = request.why;
    return request.fault == Fault::none;
  }
  bool pause(std::uint64_t address, const std::string& key, nanoseconds time = kDay) {
    Check check{.limit = &slow, .key = key};
    ChargeTerms terms{.outside = Pause{time}, .client = address};
    Request request{.checks = {&check, 1}, .verb = Verb::charge, .charge = &terms};
    return submit(request);
  }
  bool reserve(std::uint64_t client, const std::string& key, nanoseconds max_wait, nanoseconds hold) {
    Check check{.limit = &slow, .key = key};
    ReservationTerms terms{.max_wait = max_wait, .hold = hold, .client = client};
    Request request{.checks = {&check, 1}, .verb = Verb::reserve, .reservation = &terms};
    const bool granted = submit(request) && request.charged;
    id = terms.id;
    return granted;
  }
  bool hold(std::uint64_t client, const std::string& key) { return reserve(client, key, 0s, kDay); }
  // After one that acts now.
  bool wait(std::uint64_t client, const std::string& key) {
    reserve(client, key, 0s, 0s);
    return reserve(client, key, 60s, 0s);
  }
  Decision check(const Limit& limit, const std::string& key) {
    Check check{.limit = &limit, .key = key};
    Request request{.checks = {&check, 1}, .verb = Verb::check};
    EXPECT_TRUE(submit(request));
    return check.decision;
  }
  // How many succeed with keys of that name.
  template <class Ask>
  std::size_t all(const std::string& name, const Ask& ask) {
    std::size_t done = 0;
    while (done < 10'000 && ask(name + std::to_string(done))) ++done;
    return done;
  }
  std::size_t bytes(Kind kind) const { return store->reservations().memory().bytes(kind); }
  std::string copy() {
    std::string bytes;
    store->reservations().copy(now, [&](std::string_view piece) {
      bytes += piece;
      return true;
    });
    return bytes;
  }

  const Limit slow{.rule = core::Rule::parse("1/s burst 1").value(), .id = 1};
  const Limit guarded{.rule = core::Rule::parse("1/s burst 1").value(), .id = 2, .penalty = {.time = kDay}};
  std::string id{};
};

TEST(ReservationMemory, pauses_of_one_address_leave_half_of_their_part_and_all_leave_room_to_hold) {
  World world;
  const std::size_t first = world.all("a", [&](const std::string& key) { return world.pause(7, key); });
  EXPECT_EQ(first, kBound / 8 / Reservations::kLedgerBytes);
  EXPECT_EQ(world.why,
            "this address's share of what pauses may take of the memory for reservations is full: " +
                std::to_string(kBound / 8) + " bytes");
  std::size_t others = 0;
  for (std::uint64_t address = 8; address < 100; ++address)
    others += world.all("b" + std::to_string(address) + '.',
                        [&](const std::string& key) { return world.pause(address, key); });
  EXPECT_GE(others, first);
  EXPECT_EQ(world.why, "what pauses may take of the memory for reservations is full: " +
                           std::to_string(kBound / 4) + " bytes");
  EXPECT_LE(world.bytes(Kind::pause), kBound / 4);
  EXPECT_TRUE(world.hold(1, "held"));
  EXPECT_TRUE(world.wait(1, "waits"));
  // Longer, where it is already: there is nothing more to keep.
  EXPECT_TRUE(world.pause(7, "a0"));
  EXPECT_EQ(world.store->reservations().counts().refused, 1U + 92U);
  EXPECT_EQ(world.store->reservations().counts().pauses_not_kept, 0U);
  // All is over.
  world.now += 3 * kDay;
  EXPECT_TRUE(world.pause(7, "later"));
  EXPECT_EQ(world.bytes(Kind::pause), Reservations::kLedgerBytes);
}

TEST(ReservationMemory, a_refused_pause_changes_nothing) {
  World world;
  world.all("a", [&](const std::string& key) { return world.pause(7, key); });
  const std::size_t before = world.bytes(Kind::pause);
  EXPECT_FALSE(world.pause(7, "k"));
  EXPECT_TRUE(world.check(world.slow, "k").allowed());
  EXPECT_EQ(world.bytes(Kind::pause), before);
}

// A key that somebody waits for is in a ledger already.
TEST(ReservationMemory, a_pause_pays_for_a_ledger_that_it_keeps_longer) {
  World world;
  const auto pause_waited_for = [&](const std::string& key) {
    return world.wait(1, key) && world.pause(7, key);
  };
  EXPECT_EQ(world.all("k", pause_waited_for), kBound / 8 / Reservations::kLedgerBytes);
  EXPECT_GE(world.bytes(Kind::pause), kBound / 8 - Reservations::kLedgerBytes);
  // And that another address has paused for less.
  World other;
  EXPECT_EQ(other.all("k", [&](const std::string& key) { return other.pause(8, key, 1s); }),
            kBound / 8 / Reservations::kLedgerBytes);
  EXPECT_EQ(other.all("k", [&](const std::string& key) { return other.pause(7, key); }),
            kBound / 8 / Reservations::kLedgerBytes);
  EXPECT_TRUE(other.pause(8, "mine"));
}

TEST(ReservationMemory, holds_pay_for_their_ledgers_and_leave_room_to_pause_and_to_wait) {
  World world;
  std::uint64_t client = 0;
  world.all("k", [&](const std::string& key) { return world.hold(++client, key); });
  EXPECT_EQ(world.why, "what holds may take of the memory for reservations is full: " +
                           std::to_string(kBound - kBound / 4) + " bytes");
  EXPECT_EQ(world.bytes(Kind::wait) + world.bytes(Kind::pause), 0U);
  EXPECT_TRUE(world.wait(1, "waits"));
  EXPECT_TRUE(world.pause(7, "paused"));

  // Also for those that somebody who waits has made.
  World waited;
  client = 0;
  waited.all("k", [&](const std::string& key) {
    return waited.wait(++client, key) && waited.reserve(client, key, 60s, kDay);
  });
  EXPECT_LT(waited.bytes(Kind::wait), waited.bytes(Kind::hold));
}

TEST(ReservationMemory, one_that_would_wait_is_refused_and_one_that_acts_now_is_not) {
  World world;
  EXPECT_LT(world.all("k", [&](const std::string& key) { return world.wait(1, key); }), 100U);
  EXPECT_EQ(world.why, "this client's share of the memory for reservations is full: " +
                           std::to_string(kBound / 2) + " bytes");
  const std::uint64_t refused = world.store->reservations().counts().refused;
  EXPECT_EQ(refused, 1U);
  EXPECT_FALSE(world.reserve(1, "now", 60s, 1s)) << "a hold";
  EXPECT_TRUE(world.reserve(1, "now", 60s, 0s));
  EXPECT_TRUE(world.id.empty());
  EXPECT_FALSE(world.reserve(1, "now", 60s, 0s));
  EXPECT_NE(world.why, "");
  // It was charged nothing; and what would be too late anyhow is denied as ever.
  EXPECT_FALSE(world.reserve(1, "now", 100ms, 0s));
  EXPECT_EQ(world.why, "");
  world.now += 1s;
  EXPECT_TRUE(world.check(world.slow, "now").allowed());
}

TEST(ReservationMemory, a_penalty_without_room_is_not_kept_and_pauses_have_theirs) {
  World world;
  const auto breach = [&](const std::string& key) {
    world.check(world.guarded, key);
    const Decision denied = world.check(world.guarded, key);
    EXPECT_FALSE(denied.allowed());
    return *denied.retry_after > 1s;
  };
  EXPECT_EQ(world.all("k", breach), kBound / 8 / Reservations::kLedgerBytes);
  EXPECT_EQ(world.store->reservations().counts().pauses_not_kept, 1U);
  EXPECT_EQ(world.store->reservations().counts().refused, 0U);
  // Nothing of it is charged either.
  world.check(world.guarded, "plain");
  EXPECT_LE(*world.check(world.guarded, "plain").retry_after, 1s);
  EXPECT_TRUE(world.pause(7, "paused"));
  EXPECT_TRUE(world.hold(1, "held"));
  EXPECT_TRUE(world.wait(1, "waits"));
}

TEST(ReservationMemory, full_of_holds_and_waits_still_keeps_penalties_and_pauses) {
  World world;
  std::uint64_t client = 0;
  world.all("w", [&](const std::string& key) { return world.wait(++client, key); });
  world.all("h", [&](const std::string& key) { return world.hold(++client, key); });
  EXPECT_TRUE(world.pause(7, "paused"));
  world.check(world.guarded, "k");
  EXPECT_GT(*world.check(world.guarded, "k").retry_after, 1s);
}

// After a restart with less memory: the parts hold, what has no room ends as if its time were over, and its
// key owes what it owed.
TEST(ReservationMemory, of_a_snapshot_is_in_its_parts) {
  World before;
  before.store = World::made(std::size_t{1} << 20);
  constexpr int kEach = 60;
  for (int i = 0; i < kEach; ++i) {
    const std::string number = std::to_string(i);
    EXPECT_TRUE(before.pause(static_cast<std::uint64_t>(i), "p" + number));
    EXPECT_TRUE(before.hold(static_cast<std::uint64_t>(i), "h" + number));
    EXPECT_TRUE(before.wait(static_cast<std::uint64_t>(i), "w" + number));
  }
  const std::string bytes = before.copy();
  for (const std::size_t bound : {kBound, std::size_t{1} << 20}) {
    World after;
    after.store = World::made(bound);
    ASSERT_TRUE(after.store->reservations().restore(bytes, after.now, after.now));
    const ReservationMemory& memory = after.store->reservations().memory();
    EXPECT_LE(memory.bytes(), bound);
    EXPECT_LE(memory.bytes(Kind::pause), bound / 4);
    EXPECT_LE(memory.bytes(Kind::hold), bound - bound / 4);
    const Reservations::Counts counts = after.store->reservations().counts();
    EXPECT_EQ(counts.not_restored != 0, bound == kBound);
    EXPECT_EQ(counts.pauses_not_kept != 0, bound == kBound);
    if (bound != kBound) {
      for (const Kind kind : {Kind::wait, Kind::hold, Kind::pause})
        EXPECT_EQ(memory.bytes(kind), before.store->reservations().memory().bytes(kind));
      EXPECT_EQ(counts.open, 2U * kEach);
    }
    for (int i = 0; i < kEach; ++i) {
      EXPECT_FALSE(after.check(after.slow, "p" + std::to_string(i)).allowed()) << i;
      EXPECT_FALSE(after.check(after.slow, "h" + std::to_string(i)).allowed()) << i;
    }
    // Each kind has room once some of it is over, and a copy can be read again.
    after.now += 3 * kDay;
    EXPECT_TRUE(after.pause(7, "p"));
    EXPECT_TRUE(after.hold(7, "h"));
    EXPECT_TRUE(after.wait(7, "w"));
  }
}

// Over restarts pauses are nobody's, and stay in their part.
TEST(ReservationMemory, is_not_filled_by_pauses_over_restarts) {
  World world;
  std::size_t paused = 0;
  for (int restart = 0; restart < 4; ++restart) {
    paused += world.all("r" + std::to_string(restart) + '.',
                        [&](const std::string& key) { return world.pause(7, key); });
    const std::string bytes = world.copy();
    world.store = World::made(kBound);
    ASSERT_TRUE(world.store->reservations().restore(bytes, world.now, world.now));
    EXPECT_EQ(world.store->reservations().counts().not_restored, 0U);
  }
  EXPECT_EQ(paused, kBound / 4 / Reservations::kLedgerBytes);
  std::uint64_t client = 0;
  EXPECT_GT(world.all("h", [&](const std::string& key) { return world.hold(++client, key); }), 20U);
}

}  // namespace
}  // namespace weir::store::reservation_memory_test
