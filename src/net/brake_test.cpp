#include "net/brake.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <vector>

#include "net/poller.hpp"

namespace weir::inline v0_1::net {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(Brake, reads_as_many_sockets_as_there_is_room_for) {
  std::size_t room = 1'000'000;
  Brake brake([&] { return room; }, 50ms);
  EXPECT_EQ(brake.sockets(1s), Brake::kMost);
  room = 3 * Brake::kPerSocket + 1;
  EXPECT_EQ(brake.sockets(1s), 3U);
  room = Brake::kPerSocket - 1;
  EXPECT_EQ(brake.sockets(1s), 0U);
}

TEST(Brake, after_the_patience_one_is_read_without_room_and_rests_follow) {
  Brake brake([] { return 0; }, 50ms);
  EXPECT_EQ(brake.sockets(1s), 0U);
  EXPECT_TRUE(brake.take_mark(1s));
  EXPECT_FALSE(brake.take_mark(1s));  // it is there
  EXPECT_EQ(brake.look_again(), 1050ms);
  EXPECT_EQ(brake.sockets(1050ms - 1ns), 0U);
  EXPECT_EQ(brake.sockets(1050ms), 1U);
  brake.served(1050ms, 1051ms);
  EXPECT_EQ(brake.sockets(1051ms + 200ms), 0U);
  EXPECT_EQ(brake.sockets(1051ms + 256ms), 1U);
}

TEST(Brake, the_longer_the_wait_the_shorter_the_rests) {
  Brake brake([] { return 0; }, 50ms);
  brake.take_mark(1s);
  nanoseconds last = 1h;
  for (const int times : {1, 2, 4, 8, 16, 32}) {
    const nanoseconds now = 1s + 50ms * times;
    ASSERT_EQ(brake.sockets(now), 1U);
    brake.served(now - 1ms, now);
    const nanoseconds rest = brake.look_again() - now;
    EXPECT_EQ(rest, nanoseconds{1ms} * 16 * 16 / (times * times)) << times;
    EXPECT_LT(rest, last);
    last = rest;
    brake.served(now, now);
  }
  // The next mark starts from what this one has shown, until all has been read.
  brake.mark_came(2s);
  EXPECT_EQ(brake.sockets(3s), 1U);
  brake.emptied();
  EXPECT_EQ(brake.sockets(3s), 0U);
}

// Sockets of `kPerSocket` requests each, of which a store decides some each millisecond; reading one takes
// the loop 0.2 ms. Those that are not decided are answered 50 ms after they were read. Each asks again at
// once.
struct Flood {
  explicit Flood(std::size_t sockets, std::size_t per_ms, bool braked)
      : rate(per_ms),
        brake([this, braked] { return braked ? kMost - in_hand : std::size_t{1} << 20; }, 50ms) {
    for (std::size_t i = 0; i < sockets; ++i) unread.push_back({now, false});
  }
  struct Waits {
    nanoseconds since;
    bool is_mark;
  };

  void run(nanoseconds time) {
    for (const nanoseconds end = now + time; now < end; now += kStep) step();
  }
  void step() {
    for (; now >= next_ms; next_ms += 1ms) decide();
    for (; !hopeless.empty() && hopeless.front() <= now; hopeless.pop_front()) unread.push_back({now, false});
    if (now < busy_until) return;
    const std::size_t sockets = brake.sockets(now);
    if (sockets == 0 && brake.take_mark(now)) unread.push_back({now, true});
    if (sockets == 0) return;
    if (unread.empty()) return brake.emptied();
    const Waits first = unread.front();
    unread.pop_front();
    if (first.is_mark) return brake.mark_came(now);
    longest = std::max(longest, now - first.since);
    busy += kCost;
    busy_until = now + kCost;
    brake.served(now, busy_until);
    if (in_hand + Brake::kPerSocket <= kMost) {
      in_hand += Brake::kPerSocket;
    } else {
      hopeless.push_back(busy_until + 50ms);
    }
  }
  void decide() {
    const std::size_t before = in_hand / Brake::kPerSocket;
    const std::size_t can = std::min(in_hand, rate);
    in_hand -= can;
    decided += can;
    for (std::size_t i = in_hand / Brake::kPerSocket; i < before; ++i) unread.push_back({now, false});
  }

  static constexpr nanoseconds kStep = 20us;
  static constexpr nanoseconds kCost = 200us;
  static constexpr std::size_t kMost = 1024;  // that the store answers in time
  nanoseconds now = 1s, next_ms = 1s, busy_until{0}, busy{0}, longest{0};
  std::size_t rate, in_hand = 0, decided = 0;
  std::deque<Waits> unread;
  std::deque<nanoseconds> hopeless;
  Brake brake;
};

TEST(Brake, a_flood_takes_little_of_the_loop_and_the_store_decides_what_it_can) {
  for (const std::size_t sockets : {25U, 50U, 100U}) {
    Flood free(sockets, 25, false), braked(sockets, 25, true);
    free.run(3s);
    braked.run(3s);
    EXPECT_GE(static_cast<double>(braked.decided), 0.98 * 25 * 3000) << sockets;
    EXPECT_LE(braked.busy, 450ms) << sockets;  // 240 ms are for what is decided
    EXPECT_LE(braked.longest, 300ms) << sockets;
    if (sockets == 100) {
      EXPECT_GE(free.busy, 1s);
    }
  }
}

// A store that can do next to nothing, and ever more clients: the wait ends.
TEST(Brake, no_wait_is_long_however_little_the_store_decides) {
  for (const std::size_t sockets : {50U, 400U, 1000U}) {
    Flood flood(sockets, 1, true);
    flood.run(5s);
    EXPECT_LE(flood.longest, 1s) << sockets;
  }
}

struct Reader final : Poller::Watched {
  void on_ready() override {
    std::array<char, 8> bytes;
    read += ::recv(end, bytes.data(), bytes.size(), 0) > 0 ? 1 : 0;
  }
  int end = -1, peer = -1;
  int read = 0;
};

struct PollerBrake : testing::Test {
  PollerBrake() {
    for (Reader& each : readers) {
      std::array<int, 2> ends;
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
      each.end = ends[0];
      each.peer = ends[1];
      poller.change(each.end, each, Want::nothing, Want::input);
      EXPECT_EQ(::send(each.peer, "x", 1, 0), 1);
    }
  }
  ~PollerBrake() override {
    for (Reader& each : readers) {
      ::close(each.end);
      ::close(each.peer);
    }
  }
  PollerBrake(const PollerBrake&) = delete;
  PollerBrake& operator=(const PollerBrake&) = delete;

  void set(nanoseconds patience) {
    poller.set_brake({[this] { return room; }, patience}, [this] { return now; });
  }
  void turn() {
    context.restart();
    context.poll();
  }
  int read() const {
    int sum = 0;
    for (const Reader& each : readers) sum += each.read;
    return sum;
  }

  std::array<Reader, 10> readers;
  boost::asio::io_context context;
  Poller poller{context, *asio_timers(context)};
  std::size_t room = 0;
  nanoseconds now = 1s;
};

TEST_F(PollerBrake, nothing_is_read_until_there_is_room) {
  set(1h);
  turn();
  poller.look_at_brake();
  EXPECT_EQ(read(), 0);
  room = 3 * Brake::kPerSocket;
  poller.look_at_brake();
  turn();
  EXPECT_EQ(read(), 10);
  // And then as without one.
  ASSERT_EQ(::send(readers[4].peer, "x", 1, 0), 1);
  turn();
  EXPECT_EQ(read(), 11);
}

// In the order in which they became readable, and with rests.
TEST_F(PollerBrake, without_room_each_is_read_in_its_turn) {
  poller.set_brake({[this] { return room; }, 50ms}, [this] { return now += 100us; });
  turn();
  for (int before = 0; now < 3s && before < 10; before = read()) {
    now += 100us;
    poller.look_at_brake();
    ASSERT_LE(read(), before + 1);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(readers[static_cast<std::size_t>(i)].read, i < read() ? 1 : 0);
    ASSERT_TRUE(read() == 0 || now >= 1050ms);
  }
  EXPECT_EQ(read(), 10);
}

// Nothing else has to happen: a timer of its own.
TEST_F(PollerBrake, without_room_all_is_read_in_the_end) {
  poller.set_brake({[] { return 0; }, 5ms},
                   [] { return std::chrono::steady_clock::now().time_since_epoch(); });
  context.restart();
  while (read() < 10) context.run_one();
  for (const Reader& each : readers) EXPECT_EQ(each.read, 1);
}

}  // namespace
}  // namespace weir::net
