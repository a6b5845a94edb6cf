#include "server/takeover_message.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::server {
namespace {

TakeoverFacts facts() {
  return {
      .version = "1.2.3",
      .snapshot_format = 6,
      .memory = 64,
      .store = "redis://store",
      .listeners = {{.flag = "resp", .wanted = "127.0.0.1:0", .address = "127.0.0.1:7000"},
                    {.flag = "http", .wanted = "/path", .address = "/path", .tls = false, .owns_file = true}},
      .parts = {"one", "two"}};
}

TEST(TakeoverMessage, a_hello_comes_as_it_was) {
  const auto read = read_hello(pack_hello(facts()));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(pack_hello(*read), pack_hello(facts()));
  EXPECT_EQ(read->listeners[1].wanted, "/path");
  EXPECT_EQ(read->parts, facts().parts);
}

TEST(TakeoverMessage, one_that_is_cut_short_is_refused) {
  const std::string whole = pack_hello(facts());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_hello(whole.substr(0, size))) << size;
  EXPECT_FALSE(read_hello(whole + "x"));
  const std::string offer = pack_offer({.seed = {1, 2}, .listeners = facts().listeners});
  for (std::size_t size = 0; size < offer.size(); ++size)
    EXPECT_FALSE(read_offer(offer.substr(0, size))) << size;
  std::vector<TakeoverConnection> told;
  EXPECT_FALSE(read_connections("123", told));
}

TEST(TakeoverMessage, another_version_is_told_both) {
  std::string hello = pack_hello(facts());
  hello[8 + std::string("weir takeover").size()] = 9;
  EXPECT_EQ(read_hello(hello).error(),
            "the process in charge takes part in takeovers of version 1; this one in 9");
}

TEST(TakeoverMessage, an_offer_a_refusal_and_what_follows) {
  const auto offer = read_offer(pack_offer({.seed = {1, 2},
                                            .wall_ahead = std::chrono::nanoseconds{-5},
                                            .longest = std::chrono::seconds{2},
                                            .has_lock = true,
                                            .listeners = facts().listeners}));
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->seed.k1, 2U);
  EXPECT_EQ(offer->wall_ahead.count(), -5);
  EXPECT_TRUE(offer->has_lock);
  EXPECT_TRUE(offer->listeners[1].owns_file);
  EXPECT_EQ(read_offer(pack_refusal("no")).error(), "no");
  EXPECT_EQ(read_step(pack_part("name")).name, "name");
  EXPECT_EQ(read_step(pack_done({.stopped = std::chrono::nanoseconds{7}, .connections = 3})).done.connections,
            3U);
  EXPECT_TRUE(is_word(pack_word(kBegin), kBegin));
  EXPECT_FALSE(is_word(pack_word(kBegin) + "x", kBegin));
  EXPECT_EQ(read_step(pack_part("name") + "x").kind, "");
}

TEST(TakeoverMessage, connections_come_as_they_were) {
  std::vector<TakeoverConnection> told;
  ASSERT_TRUE(
      read_connections(pack_connections({{"resp", 7, "::1", 80, true, std::string(3, '\0'), "*1\r"}}), told));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].id, 7U);
  EXPECT_EQ(told[0].state, std::string(3, '\0'));
  EXPECT_EQ(told[0].rest, "*1\r");
}

TEST(TakeoverMessage, who_has_the_same_may_take_over) {
  TakeoverFacts next = facts();
  EXPECT_EQ(why_not(facts(), next), "");
  next.listeners[0].wanted = "127.0.0.1:7000";  // where it came to listen
  next.memory = 65;
  next.parts.push_back("three");
  EXPECT_EQ(why_not(facts(), next), "");
}

TEST(TakeoverMessage, who_has_not_is_told_what_is_another) {
  const auto told = [](const auto& change) {
    TakeoverFacts next = facts();
    change(next);
    return why_not(facts(), next);
  };
  EXPECT_EQ(told([](auto& next) { next.snapshot_format = 7; }),
            "weir 1.2.3, which is in charge, hands over snapshots of version 6; this one reads 7");
  EXPECT_EQ(told([](auto& next) { next.parts = {"one"}; }),
            "weir 1.2.3, which is in charge, hands over 'two', which this one cannot read");
  EXPECT_EQ(told([](auto& next) { next.listeners.pop_back(); }),
            "the process in charge has other listeners: --resp 127.0.0.1:7000, --http /path; this one is to "
            "have --resp "
            "127.0.0.1:0");
  EXPECT_NE(told([](auto& next) { next.listeners[0].tls = true; }), "");
  EXPECT_NE(told([](auto& next) { next.listeners[0].flag = "rls"; }), "");
  EXPECT_NE(told([](auto& next) { std::swap(next.listeners[0], next.listeners[1]); }), "");
  EXPECT_NE(told([](auto& next) { next.memory = 63; }), "");
  EXPECT_EQ(told([](auto& next) { next.store = ""; }),
            "the process in charge has another --store: redis://store; this one has none");
}

}  // namespace
}  // namespace weir::server
