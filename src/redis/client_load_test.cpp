// More calls than a node answers: what is sent, what waits, and what is given up.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/busy_node_test.hpp"
#include "redis/world_test.hpp"

namespace weir::redis {
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
          if (rate * load > 4e5) continue;  // the test would take long, and shows nothing else
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
      for (const std::size_t i : {0, 1}) node.took(i);
      node.run(200ms);
      std::uint64_t decided = 0;
      for (const std::size_t i : {0, 1}) decided += node.took(i).decided();
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
  EXPECT_GE(static_cast<double>(tally.decided()), 0.85 * 0.2 * 2e5) << text_of(tally);
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
    node.on_tagged = [&](const Client::Result& result) { answered += result.cause == Cause::none ? 1 : 0; };
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
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  for (std::uint64_t tag = 1; tag <= 200; ++tag)
    world.client.call(tag, 0, array({"CALL", std::to_string(tag), mebibyte}), world.now + 50ms, world.now);
  EXPECT_EQ(world.results.size(), 200U - 64U);  // the first window has left
  EXPECT_EQ(world.results.back(), "200 overload (more is asked than is answered in time)");
  world.client.call(201, 0, array({"CALL", "201"}), world.now + 50ms, world.now, Rank::first);
  EXPECT_EQ(world.results.size(), 200U - 64U);
  EXPECT_EQ(world.client.load().waiting, 1U);
}

// In order within a rank; at the deadline what has not left is told so, and nothing more.
TEST(RedisLoad, what_waits_leaves_in_order_or_is_told_so) {
  World world("redis://a");
  world.start().up("a");
  for (std::uint64_t tag = 1; tag <= 64; ++tag) world.call(tag);
  world.sent("a");
  world.call(65, 0, 20ms);
  world.call(66);
  world.client.call(67, 0, array({"CALL", "67"}), world.now + 50ms, world.now, Rank::first);
  world.settle();
  EXPECT_EQ(world.sent("a"), "");
  world.answer_one("a");
  world.answer_one("a");
  EXPECT_EQ(world.sent("a"), "CALL 67 | CALL 65 | CALL 66");  // two answers that came soon: room for four
  for (std::uint64_t tag = 68; tag <= 75; ++tag) world.call(tag, 0, 20ms);
  world.took();
  world.sent("a");
  world.pass(20ms);
  std::string expected;
  for (std::uint64_t tag = 69; tag <= 75; ++tag) {
    expected += (expected.empty() ? "65 timeout (a:6379: no answer by the deadline); "
                                    "68 timeout (a:6379: no answer by the deadline); "
                                  : "; ") +
                std::to_string(tag) + " overload (more is asked than is answered in time)";
  }
  EXPECT_EQ(world.took(), expected);
  EXPECT_EQ(world.write_count.count(69), 0U);
}

}  // namespace
}  // namespace weir::redis
