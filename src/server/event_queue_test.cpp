#include "server/event_queue.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weir::inline v0_1::server {
namespace {

using std::chrono::milliseconds;

EventQueue queue() {
  return EventQueue([](std::uint64_t lines) { return "dropped " + std::to_string(lines) + "\n"; });
}

TEST(EventQueue, keeps_lines_until_they_are_delivered) {
  auto waiting = queue();
  waiting.add("a\n");
  waiting.add("b\n");
  const auto first = waiting.take(milliseconds{0});
  EXPECT_EQ(first.text, "a\nb\n");
  waiting.add("c\n");
  EXPECT_EQ(waiting.take(milliseconds{0}).text, "a\nb\nc\n");  // it was not delivered
  waiting.delivered(first);
  EXPECT_EQ(waiting.take(milliseconds{0}).text, "c\n");
}

TEST(EventQueue, drops_the_oldest_and_says_how_many) {
  auto waiting = queue();
  const std::string line(std::size_t{64} << 10, 'x');  // sixteen of them are the most
  for (int i = 0; i < 20; ++i) waiting.add(line + std::to_string(i));
  EXPECT_EQ(waiting.dropped(), 5);
  auto batch = waiting.take(milliseconds{0});
  EXPECT_TRUE(batch.text.starts_with("dropped 5\nx"));
  EXPECT_TRUE(batch.text.ends_with("19"));
  waiting.add(line + "20");  // one of the batch is dropped while it is delivered
  waiting.delivered(batch);
  batch = waiting.take(milliseconds{0});
  EXPECT_EQ(batch.text, "dropped 1\n" + line + "20");
}

TEST(EventQueue, hands_out_a_thousand_at_once) {
  auto waiting = queue();
  for (int i = 0; i < 1500; ++i) waiting.add("x\n");
  const auto batch = waiting.take(std::chrono::hours{1});
  EXPECT_EQ(batch.text.size(), 2000);
  waiting.delivered(batch);
  EXPECT_EQ(waiting.take(milliseconds{0}).text.size(), 1000);
}

TEST(EventQueue, at_its_end_there_is_no_text) {
  auto waiting = queue();
  waiting.add("x\n");
  waiting.end();
  const auto batch = waiting.take(std::chrono::hours{1});
  EXPECT_EQ(batch.text, "x\n");
  waiting.delivered(batch);
  EXPECT_EQ(waiting.take(std::chrono::hours{1}).text, "");
  waiting.rest(std::chrono::hours{1});
}

}  // namespace
}  // namespace weir::server
