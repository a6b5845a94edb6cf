#include "net/loop_clients.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/world_test.hpp"

namespace weir::inline v0_1::net {
namespace {

using std::chrono::seconds;

// Three loops, and a connection on the first and on the last.
struct Three : World {
  Three() {
    start();
    counters.now = 2;
    other = Session::start(third, std::make_unique<FakeSocket>(far), {9, "10.0.0.9", 90}, protocol);
  }
  ~Three() { third.close_sessions(); }

  // One turn of each loop.
  void turn() {
    for (Loop* each : {&loop, &second, &third}) {
      each->context.restart();
      each->context.poll_one();
    }
  }

  Loop second{1, [this] { return now; }, seconds{30}, counters, notices};
  Loop third{2, [this] { return now; }, seconds{30}, counters, notices};
  Wire far;
  std::shared_ptr<Session> other;
};

TEST(LoopClients, lists_those_of_every_loop_in_a_later_turn_of_its_own) {
  Three world;
  LoopClients clients(world.second);
  std::string ids;
  clients.list([&](const Clients::Rows& found) {
    for (const ClientInfo& each : found->rows) ids += std::to_string(each.peer.id) + " ";
  });
  EXPECT_EQ(ids, "");
  for (int i = 0; i < 4; ++i) world.turn();
  EXPECT_EQ(ids, "7 9 ");
}

TEST(LoopClients, those_that_ask_while_a_list_is_made_share_the_next) {
  Three world;
  LoopClients clients(world.loop);
  std::vector<Clients::Rows> told;
  const auto ask = [&] { clients.list([&](const Clients::Rows& rows) { told.push_back(rows); }); };
  ask();
  ask();
  ask();
  for (int i = 0; i < 12; ++i) world.turn();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_TRUE(told[0] != told[1]);
  EXPECT_TRUE(told[1] == told[2]);
}

// However many ask: what others have to do on the loop is done after each of them.
TEST(LoopClients, between_two_that_are_told_every_other_connection_has_its_turn) {
  Three world;
  LoopClients clients(world.loop);
  std::size_t told = 0, most = 0, turns = 0;
  for (int i = 0; i < 100; ++i) clients.list([&](const Clients::Rows&) { ++told; });
  const std::function<void()> another = [&, before = std::size_t{0}]() mutable {
    most = std::max(most, told - std::exchange(before, told));
    if (++turns < 300) boost::asio::post(world.loop.context, std::ref(another));
  };
  another();
  while (turns < 300) world.turn();
  EXPECT_EQ(told, 100U);
  EXPECT_EQ(most, 1U);
}

TEST(LoopClients, closes_those_that_are_there_and_counts_them) {
  Three world;
  LoopClients clients(world.loop);
  std::size_t closed = 0;
  clients.close({9, 1000, 8}, [&](std::size_t count) { closed = count; });
  EXPECT_EQ(world.other->state(), Session::State::reading);
  for (int i = 0; i < 4; ++i) world.turn();
  EXPECT_EQ(closed, 1U);
  EXPECT_EQ(world.other->state(), Session::State::closed);
  EXPECT_EQ(world.session->state(), Session::State::reading);
}

// The memory of both counts against one bound, whichever loop notices.

TEST(LoopClients, of_two_that_keep_about_as_much_the_one_that_has_for_longer_is_closed) {
  for (const bool first_is_older : {false, true}) {
    SCOPED_TRACE(first_is_older);
    Three world;
    world.counters.memory.most = 90'000;
    const auto read = [&](bool first) {
      if (first) world.receives(std::string(first_is_older ? 40'000 : 60'000, 'x'));
      if (!first) {
        world.far.incoming = std::string(first_is_older ? 60'000 : 40'000, 'x');
        world.far.ready();
      }
      world.now += seconds{1};
    };
    read(first_is_older);
    read(!first_is_older);
    for (int i = 0; i < 4; ++i) world.turn();
    EXPECT_EQ(world.session->state(), first_is_older ? Session::State::lingering : Session::State::reading);
    EXPECT_EQ(world.other->state(), first_is_older ? Session::State::reading : Session::State::lingering);
  }
}

TEST(LoopClients, much_more_is_closed_before_what_is_older) {
  Three world;
  world.counters.memory.most = 150'000;
  world.receives(std::string(20'000, 'x'));
  world.now += seconds{1};
  world.far.incoming = std::string(60'000, 'x');
  world.far.ready();
  world.far.incoming = std::string(60'000, 'x');
  world.far.ready();
  world.far.incoming = std::string(60'000, 'x');
  world.far.ready();
  for (int i = 0; i < 4; ++i) world.turn();
  EXPECT_EQ(world.session->state(), Session::State::reading);
  EXPECT_EQ(world.other->state(), Session::State::lingering);
}

}  // namespace
}  // namespace weir::net
