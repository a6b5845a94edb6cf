// More calls than a node answers: what is sent, what waits, and what is given up.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "redis/busy_node_test.hpp"
#include "redis/world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

std::string text_of(const BusyNode::Tally& tally) {
  std::string text = std::to_string(tally.offered) + " offered";
  for (std::size_t i = 0; i < tally.by.size(); ++i) {
    if (tally.by[i] > 0) text += ", " + std::to_string(tally.by[i]) + " " + std::string(kCauseNames[i]);
  }
  return text;
}

// Whatever is offered, a node decides what it can, and next to nothing of what it is sent comes too late.
TEST(RedisLoad, a_node_decides_what_it_can_at_any_load) {
  for (const double rate : {1e3, 2e4, 2e5}) {
    for (const nanoseconds round_trip : {200us, 1000us, 10'000us, 30'000us}) {
      for (const double load : {0.5, 1.1, 2.0, 20.0}) {
        for (const std::size_t processes : {std::size_t{1}, std::size_t{3}}) {
          // The test would take long, and shows nothing else.
          if (rate * load > 1e5 && (processes > 1 || load > 2 || round_trip != 1ms)) continue;
          SCOPED_TRACE(std::to_string(rate) + "/s, " + std::to_string(round_trip / 1us) + " us, load " +
                       std::to_string(load) + ", processes " + std::to_string(processes));
          BusyNode node(rate, round_trip, processes);
          node.offer(rate * load / static_cast<double>(processes));
          node.run(1s);
          std::uint64_t asked = 0, decided = 0, least = ~std::uint64_t{0};
          for (std::size_t i = 0; i < processes; ++i) {
            node.took(i);
            asked -= node.asked(i);
          }
          node.run(500ms);
          for (std::size_t i = 0; i < processes; ++i) {
            const BusyNode::Tally tally = node.took(i);
            asked += node.asked(i);
            decided += tally.decided();
            least = std::min(least, tally.decided());
            EXPECT_EQ(tally.of(Cause::connection), 0U) << text_of(tally);
          }
          const double could = rate * std::min(1.0, load) * 0.5;
          EXPECT_GE(static_cast<double>(decided), 0.97 * could);
          EXPECT_LE(static_cast<double>(asked), 1.03 * could + 10);
          EXPECT_GE(static_cast<double>(least) * static_cast<double>(processes), 0.5 * could) << "unfair";
        }
      }
    }
  }
}

// A way that leaves little time beside it, to a node that is not busy: the bound must not bind.
TEST(RedisLoad, a_long_way_is_not_overload) {
  BusyNode node(2e5, 45ms);
  node.offer(20'000);
  node.run(1s);
  node.took();
  node.run(1s);
  const BusyNode::Tally tally = node.took();
  EXPECT_GE(static_cast<double>(tally.decided()), 0.99 * 20'000) << text_of(tally);
}

TEST(RedisLoad, follows_a_node_that_becomes_slower_or_faster) {
  for (const double rate : {2e5, 2e4}) {
    for (const double factor : {0.1, 10.0}) {
      if (rate * factor > 4e5) continue;
      BusyNode node(rate, 1ms, 2);
      node.offer(std::max(rate, rate * factor));
      node.run(500ms);
      node.can_do(rate * factor);
      node.run(600ms);
      for (const std::size_t i : {0U, 1U}) node.took(i);
      node.run(200ms);
      std::uint64_t decided = 0;
      for (const std::size_t i : {0U, 1U}) decided += node.took(i).decided();
      EXPECT_GE(static_cast<double>(decided), 0.95 * 0.2 * rate * factor) << rate << " x " << factor;
    }
  }
}

// From the start, without a warning.
TEST(RedisLoad, finds_out_soon_what_a_node_can_do) {
  BusyNode node(2e5, 1ms);
  node.offer(4e5);
  node.run(200ms);
  const BusyNode::Tally tally = node.took();
  EXPECT_GE(static_cast<double>(tally.decided()), 0.7 * 0.2 * 2e5) << text_of(tally);
}

// A pause that is shorter than a deadline ends no connection, and is forgotten soon.
TEST(RedisLoad, a_short_pause_costs_little_more_than_its_time) {
  BusyNode node(2e5, 1ms);
  node.offer(1e5);
  node.run(100ms);
  node.took();
  for (int i = 0; i < 10; ++i) {
    node.pauses(40ms);
    node.run(200ms);
  }
  const BusyNode::Tally tally = node.took();
  EXPECT_EQ(tally.of(Cause::connection), 0U);
  EXPECT_EQ(node.client().counters().connects, 1U);
  EXPECT_GE(static_cast<double>(tally.decided()), 0.75 * 2e5) << text_of(tally);
}

// Calls that matter more than others leave first, however much is offered.
TEST(RedisLoad, the_first_rank_is_answered_at_any_load) {
  BusyNode node(2e4, 1ms);
  node.offer(4e5);
  node.run(300ms);
  std::uint64_t answered = 0;
  for (int i = 0; i < 200; ++i) {
    node.took();
    node.on_tagged = [&](const Call::Result& result) { answered += result.cause == Cause::none ? 1 : 0; };
    node.call(0, Rank::first);
    node.run(2ms);
  }
  node.run(50ms);
  EXPECT_EQ(answered, 200U);
}

// Nothing that can do a little is never asked.
TEST(RedisLoad, a_very_slow_node_is_asked_all_the_time) {
  BusyNode node(40, 1ms);
  node.offer(1000);
  node.run(5s);
  node.took();
  const std::uint64_t asked = node.asked();
  node.run(5s);
  EXPECT_GE(node.asked() - asked, 100U);
}

// What waits is bounded by its bytes, the first rank excepted.
TEST(RedisLoad, what_waits_is_bounded) {
  World world("redis://a");
  world.start().up("a");
  for (std::uint64_t tag = 1; tag <= 256; ++tag) world.call(tag);  // the first window
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  for (std::uint64_t tag = 301; tag <= 350; ++tag)
    world.client.call(world.tagged(tag), 0, array({"CALL", std::to_string(tag), mebibyte}), world.now + 50ms,
                      world.now);
  EXPECT_EQ(world.results.size(), 19U);  // 31 and what has left are 32 MiB
  EXPECT_EQ(world.results.back(), "350 overload (more is asked than is answered in time)");
  world.client.call(world.tagged(400), 0, array({"CALL", "400"}), world.now + 50ms, world.now, Rank::first);
  EXPECT_EQ(world.results.size(), 19U);
  EXPECT_EQ(world.client.load().waiting, 32U);
}

// A burst waits whole. Once some of it could not leave in time, no more stand in line than can: those that
// come after them would make the others later.
TEST(RedisLoad, no_more_wait_than_can_leave_in_time) {
  World world("redis://a");
  EXPECT_GT(world.client.room(), std::size_t{1} << 30) << "no node is up: the fallback decides at once";
  world.start().up("a");
  EXPECT_EQ(world.client.room(), 512U);
  for (std::uint64_t tag = 1; tag <= 1000; ++tag) world.call(tag);
  EXPECT_EQ(world.client.room(), 0U);
  EXPECT_EQ(world.client.load().waiting, 744U);
  world.pass(45ms);
  world.answer_one("a");
  for (std::uint64_t tag = 2001; tag <= 3000; ++tag) world.call(tag);
  EXPECT_EQ(world.client.room(), 0U);
  EXPECT_LE(world.client.load().waiting, 256U);
  world.took();
  world.pass(60ms);
  EXPECT_NE(world.took().find("3000 overload (more is asked than is answered in time)"), std::string::npos);
}

// In order within a rank; at the deadline what has not left is told so, and nothing more.
TEST(RedisLoad, what_waits_leaves_in_order_or_is_told_so) {
  World world("redis://a");
  world.start().up("a");
  for (std::uint64_t tag = 1; tag <= 256; ++tag) world.call(tag, 0, 60ms);
  world.sent("a");
  const auto ranked = [&](std::uint64_t tag, Rank rank, nanoseconds patience) {
    world.client.call(world.tagged(tag), 0, array({"CALL", std::to_string(tag)}), world.now + patience,
                      world.now, rank);
    world.settle();
  };
  ranked(301, Rank::usual, 20ms);
  ranked(302, Rank::kept, 20ms);
  ranked(303, Rank::usual, 50ms);
  ranked(304, Rank::first, 50ms);
  EXPECT_TRUE(world.client.busy(0));
  EXPECT_EQ(world.sent("a"), "");
  for (int i = 0; i < 4; ++i) world.answer_one("a");
  EXPECT_EQ(world.sent("a"), "CALL 304 | CALL 301 | CALL 302 | CALL 303");
  // One that has less time left than an answer takes is passed over, unless it is to be kept.
  world.pass(15ms);
  ranked(305, Rank::usual, 20ms);
  ranked(306, Rank::kept, 20ms);
  ranked(307, Rank::usual, 60ms);
  world.pass(10ms);
  world.took();
  for (int i = 0; i < 20; ++i) world.answer_one("a");
  EXPECT_EQ(world.sent("a"), "CALL 306 | CALL 307");
  world.took();
  world.pass(10ms);
  EXPECT_EQ(world.took(),
            "305 overload (more is asked than is answered in time); "
            "306 timeout (a:6379: no answer by the deadline)");
  EXPECT_EQ(world.write_count.count(305), 0U);
}

// A call that nobody waits for any more is not sent.
TEST(RedisLoad, what_is_cancelled_while_it_waits_is_not_sent) {
  World world("redis://a");
  world.start().up("a");
  for (std::uint64_t tag = 1; tag <= 256; ++tag) world.call(tag);
  world.wanted = [](std::uint64_t tag) { return tag != 301; };
  world.call(301);
  world.call(302);
  world.sent("a");
  world.answer_one("a");
  EXPECT_EQ(world.sent("a"), "CALL 302");
  EXPECT_EQ(world.took(), "1 :1; 301 overload (more is asked than is answered in time)");
}

// One that asks little is not crowded out by one that asks too much, and neither takes the other's queue for
// a long way.
TEST(RedisLoad, one_that_asks_little_beside_one_that_floods) {
  for (const double rate : {2e3, 2e4}) {
    BusyNode node(rate, 1ms, 2);
    node.offer(rate * 5, 0);
    node.offer(rate * 0.2, 1);
    node.run(2s);
    node.took(0);
    node.took(1);
    node.run(1s);
    const BusyNode::Tally flood = node.took(0), little = node.took(1);
    EXPECT_GE(static_cast<double>(little.decided()), 0.95 * rate * 0.2) << text_of(little);
    EXPECT_GE(static_cast<double>(flood.decided() + little.decided()), 0.95 * rate) << text_of(flood);
  }
}

// What the processes of one node get together in a while, and how fairly.
struct Together {
  double decided = 0;
  double least = 1e18, most = 0;  // of one process
  double late = 0;                // sent, and not answered in time
};

Together together(BusyNode& node, std::size_t processes, nanoseconds time) {
  for (std::size_t i = 0; i < processes; ++i) node.took(i);
  node.run(time);
  Together sum;
  for (std::size_t i = 0; i < processes; ++i) {
    const BusyNode::Tally tally = node.took(i);
    const auto decided = static_cast<double>(tally.decided());
    sum.decided += decided;
    sum.least = std::min(sum.least, decided);
    sum.most = std::max(sum.most, decided);
    sum.late += static_cast<double>(tally.of(Cause::timeout));
  }
  return sum;
}

// Each process sees the queue of the others, and none knows how many they are. Where they share a processor,
// a process comes late to answers that have been there for long; they make no queue at the node.
TEST(RedisLoad, several_processes_decide_together_what_one_does) {
  for (const double rate : {2e4, 1e5}) {
    for (const double load : {1.3, 4.0, 12.0}) {
      for (const std::size_t processes : {1U, 2U, 4U}) {
        for (const nanoseconds turn : {0us, 3000us, 6000us, 9000us}) {
          // What takes long stands once.
          if (rate * load > 1e5 && (turn != 3ms || rate * load > 2.5e5)) continue;
          SCOPED_TRACE(std::to_string(rate) + "/s, load " + std::to_string(load) + ", processes " +
                       std::to_string(processes) + ", turns of " + std::to_string(turn / 1us) + " us");
          BusyNode node(rate, 400us, processes);
          node.processes_share_a_processor(turn);
          node.offer(rate * load / static_cast<double>(processes));
          node.run(1500ms);
          node.longest_wait();
          const Together got = together(node, processes, 1s);
          // Who seldom runs has to leave enough there for as long.
          if (turn <= 3ms) {
            EXPECT_LE(node.longest_wait(), 20ms) << "little of the deadline is left for all else";
          }
          EXPECT_GE(got.decided, 0.95 * rate);
          EXPECT_LE(got.late, 0.01 * rate);
          EXPECT_GE(got.least * static_cast<double>(processes), 0.7 * rate) << "unfair";
        }
      }
    }
  }
}

// One that asks more does not get more, and what one leaves the others take.
TEST(RedisLoad, shares_are_fair_whatever_each_process_asks) {
  BusyNode node(4e4, 400us, 4);
  const std::array<double, 4> offers = {4'000, 20'000, 60'000, 180'000};  // fair: 4, 12, 12, 12 thousand
  for (std::size_t i = 0; i < 4; ++i) node.offer(offers[i], i);
  node.run(2s);
  for (std::size_t i = 0; i < 4; ++i) node.took(i);
  node.run(2s);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto decided = static_cast<double>(node.took(i).decided()) / 2;
    EXPECT_GE(decided, i == 0 ? 0.97 * 4'000 : 0.75 * 12'000) << i;
    EXPECT_LE(decided, 1.3 * 12'000) << i;
  }
}

// The way of one that comes to a busy node looks longer than it is: that must not make it push the others
// out.
TEST(RedisLoad, one_that_comes_later_gets_its_share_and_no_more) {
  for (const double rate : {1e4, 5e4}) {
    BusyNode node(rate, 400us, 4);
    node.offer(rate);
    node.run(1s);
    for (const std::size_t late : {3U, 2U, 1U}) {
      node.restart(late);
      node.run(3s);
      const Together got = together(node, 4, 2s);
      EXPECT_GE(got.decided / 2, 0.95 * rate) << rate << " " << late;
      EXPECT_LE(got.late / 2, 0.01 * rate) << rate << " " << late;
      EXPECT_GE(got.least * 4 / 2, 0.6 * rate) << rate << " " << late;
      EXPECT_LE(got.most * 4 / 2, 1.6 * rate) << rate << " " << late;
    }
  }
}

// The node's clock tells how long a call waited there; when it steps, that is not a queue.
TEST(RedisLoad, a_step_of_the_nodes_clock_is_not_a_queue) {
  for (const nanoseconds step : std::initializer_list<nanoseconds>{-1h, -20ms, 20ms, 1h}) {
    BusyNode node(5e4, 400us, 2);
    node.offer(5e4);
    node.run(1s);
    node.clock_steps(step);
    const Together got = together(node, 2, 2s);
    EXPECT_GE(got.decided, 0.9 * 2 * 5e4) << step / 1ms;
    EXPECT_LE(got.late, 0.05 * 2 * 5e4) << step / 1ms;
  }
}

// However many processes flood a node, what matters most is answered.
TEST(RedisLoad, the_first_rank_of_every_process_is_answered_in_time) {
  for (const nanoseconds turn : {0us, 3000us, 9000us}) {
    BusyNode node(1e5, 400us, 4);
    node.processes_share_a_processor(turn);
    node.offer(1e5);
    node.run(1s);
    std::uint64_t answered = 0, asked = 0;
    node.on_tagged = [&](const Call::Result& result) { answered += result.cause == Cause::none ? 1 : 0; };
    for (int i = 0; i < 300; ++i) {
      for (std::size_t process = 0; process < 4; ++process, ++asked) node.call(process, Rank::first);
      node.run(3ms);
    }
    node.run(60ms);
    EXPECT_GE(answered, asked * 99 / 100) << turn / 1us;
  }
}

// Of a node that was never asked more than it can, a longer way must not be taken for a queue.
TEST(RedisLoad, a_way_that_becomes_longer_is_not_overload) {
  BusyNode node(2e5, 1ms);
  node.offer(10'000);
  node.run(500ms);
  node.is_away(40ms);
  node.run(1500ms);
  node.took();
  node.run(500ms);
  const BusyNode::Tally tally = node.took();
  EXPECT_GE(static_cast<double>(tally.decided()), 0.98 * 5'000) << text_of(tally);
}

}  // namespace
}  // namespace weir::redis
