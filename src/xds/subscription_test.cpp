#include "xds/subscription.hpp"

#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <utility>
#include <vector>

#include "xds/message_test.hpp"

namespace weir::inline v0_1::xds {
namespace {

using namespace std::chrono_literals;

// Fields of one level: texts by number.
std::map<std::uint32_t, std::string> fields(const std::string& message) {
  std::map<std::uint32_t, std::string> found;
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const std::uint32_t tag = reader.tag();
      found[tag] = reader.get_string();
    } else {
      found[reader.tag()] = std::to_string(reader.get_uint64());
    }
  }
  return found;
}

// "version|nonce|code reason".
std::string shown(const std::optional<std::string>& request) {
  if (!request) return "nothing";
  auto of = fields(*request);
  EXPECT_EQ(of[4], kRateLimitConfig);
  std::string text = of[1] + "|" + of[5];
  if (of.contains(6)) text += "|" + fields(of[6])[1] + " " + fields(of[6])[2];
  return text;
}

std::string domain(const std::string& name) { return config(name, name, {}); }

struct World {
  // What the server hears when it says that.
  std::string say(const std::string& message) {
    EXPECT_TRUE(its.take(message, now));
    return shown(its.answer(now));
  }

  std::chrono::nanoseconds now = 100s;
  std::vector<std::string> used;  // versions
  std::vector<std::string> refuses;
  std::size_t errors = 0;  // of the last
  Subscription its{{.id = "me", .metadata = {{"k", "v"}}}, [this](const Update& update) {
                     errors = update.errors.size();
                     if (errors > 0) return update.errors;
                     used.push_back(update.version + ":" + std::to_string(update.domains.size()));
                     return refuses;
                   }};
};

TEST(Subscription, begins_with_its_node_and_an_empty_version_and_nonce) {
  World world;
  const auto first = fields(world.its.begin());
  EXPECT_EQ(first.size(), 2U) << "a node and a type";
  EXPECT_EQ(first.at(4), kRateLimitConfig);
  const auto node = fields(first.at(2));
  EXPECT_EQ(node.at(1), "me");
  EXPECT_EQ(node.at(3), entry("k", value_of("v")));
}

TEST(Subscription, accepts_with_the_version_and_the_nonce) {
  World world;
  world.its.begin();
  EXPECT_EQ(shown(world.its.answer(world.now)), "nothing") << "before the server has spoken";
  EXPECT_EQ(world.say(response("1", "a", {domain("x")})), "1|a");
  EXPECT_EQ(world.say(response("2", "b", {domain("x"), domain("y")})), "2|b");
  EXPECT_EQ(world.say(response("3", "c", {})), "3|c") << "none is a list too";
  EXPECT_EQ(world.used, (std::vector<std::string>{"1:1", "2:2", "3:0"}));
}

TEST(Subscription, refuses_with_the_reason_and_the_version_that_stays) {
  World world;
  world.its.begin();
  world.refuses = {"x: one", "x: two"};
  EXPECT_EQ(world.say(response("1", "a", {domain("x")})), "|a|3 x: one; x: two") << "nothing is accepted yet";
  world.refuses = {};
  EXPECT_EQ(world.say(response("2", "b", {domain("y")})), "2|b");
  world.refuses = {"bad"};
  EXPECT_EQ(world.say(response("3", "c", {domain("z")})), "2|c|3 bad");
  world.refuses = {};
  EXPECT_EQ(world.say(response("4", "d", {})), "4|d");
}

TEST(Subscription, answers_the_same_again_later_and_later) {
  World world;
  world.its.begin();
  world.refuses = {"bad"};
  EXPECT_EQ(world.say(response("1", "0", {domain("x")})), "|0|3 bad");
  std::vector<std::int64_t> delays;
  for (int i = 1; i < 9; ++i) {
    // Another version and nonce, and the same in it.
    EXPECT_EQ(world.say(response("v" + std::to_string(i), std::to_string(i), {domain("x")})), "nothing");
    const auto delay = world.its.due().value() - world.now;
    delays.push_back(delay / 1s);
    world.now += delay - 1ns;
    EXPECT_EQ(shown(world.its.answer(world.now)), "nothing");
    world.now += 1ns;
    EXPECT_EQ(shown(world.its.answer(world.now)), "|" + std::to_string(i) + "|3 bad");
    EXPECT_FALSE(world.its.due());
  }
  EXPECT_EQ(delays, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 60, 60}));
  EXPECT_EQ(world.used.size(), 1U) << "it is compiled once";
  world.refuses = {};
  EXPECT_EQ(world.say(response("2", "b", {domain("y")})), "2|b") << "what is new, at once";
  EXPECT_EQ(world.say(response("2", "c", {domain("y")})), "nothing") << "so it is with what is accepted";
  world.now += 1s;
  EXPECT_EQ(shown(world.its.answer(world.now)), "2|c");
  EXPECT_EQ(world.say(response("1", "d", {domain("x")})), "2|d|3 bad") << "refused long ago";
}

TEST(Subscription, knows_what_is_the_same_in_another_order_or_by_its_version) {
  World world;
  world.its.begin();
  world.refuses = {"bad"};
  EXPECT_EQ(world.say(response("1", "a", {domain("x"), domain("y")})), "|a|3 bad");
  EXPECT_EQ(world.say(response("1", "b", {domain("y"), domain("x")})), "nothing");
  EXPECT_EQ(world.used.size(), 1U);
  EXPECT_EQ(world.say(response("1", "c", {domain("z")})), "nothing");
  EXPECT_EQ(world.its.due(), world.now + 2s);
  EXPECT_EQ(world.used.size(), 2U) << "it may have been mended";
  world.refuses = {};
  EXPECT_EQ(world.say(response("1", "d", {domain("y")})), "1|d");
}

TEST(Subscription, answers_the_latest_when_two_wait) {
  World world;
  world.its.begin();
  world.refuses = {"bad"};
  EXPECT_EQ(world.say(response("1", "a", {domain("x")})), "|a|3 bad");
  EXPECT_EQ(world.say(response("1", "b", {domain("x")})), "nothing");
  world.refuses = {};
  EXPECT_EQ(world.say(response("2", "c", {domain("y")})), "2|c");
  EXPECT_FALSE(world.its.due());
}

TEST(Subscription, knows_on_another_stream_what_is_in_force) {
  World world;
  world.its.begin();
  EXPECT_EQ(world.say(response("7", "a", {domain("x")})), "7|a");
  EXPECT_FALSE(fields(world.its.begin()).contains(1)) << "no version";
  EXPECT_FALSE(world.its.heard());
  EXPECT_EQ(world.say(response("7", "z", {domain("x")})), "7|z") << "at once";
  EXPECT_TRUE(world.its.heard());
  EXPECT_EQ(world.used.size(), 1U) << "and it is not compiled again";
  world.its.begin();
  EXPECT_EQ(world.say(response("7", "y", {domain("other")})), "7|y");
  EXPECT_EQ(world.used.size(), 2U) << "one version, and another content";
  world.refuses = {"bad"};
  EXPECT_EQ(world.say(response("8", "x", {domain("z")})), "7|x|3 bad");
  world.its.begin();
  EXPECT_EQ(world.say(response("8", "w", {domain("z")})), "7|w|3 bad") << "once for each stream at once";
}

TEST(Subscription, refuses_other_types_and_what_is_malformed) {
  World world;
  world.its.begin();
  EXPECT_EQ(world.say(response("1", "a", {domain("x")})), "1|a");
  const std::string cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
  EXPECT_EQ(world.say(response("2", "b", {}, cluster)),
            "1|b|3 the type is '" + cluster + "' and not " + std::string(kRateLimitConfig));
  EXPECT_EQ(world.say(response("3", "c", {domain("x")}, kRateLimitConfig, cluster)),
            "1|c|3 resource 1: the type is '" + cluster + "' and not " + std::string(kRateLimitConfig));
  EXPECT_EQ(world.say(response("4", "d", {domain("x"), "\x0A"})),
            "1|d|3 resource 2: it is not a RateLimitConfig: the message is malformed");
  EXPECT_EQ(world.say(response("5", "e", {domain("y")}, kRateLimitConfig,
                               "other.host/ratelimit.config.ratelimit.v3.RateLimitConfig")),
            "5|e")
      << "a type is what follows the slash";
  EXPECT_FALSE(world.its.take("\x0A\x05x", world.now));
  EXPECT_EQ(world.used.size(), 2U);
}

TEST(Subscription, cuts_reasons_that_are_long) {
  World world;
  world.its.begin();
  for (int i = 0; i < 1000; ++i) world.refuses.push_back("x: " + std::to_string(1000 + i));
  const std::string said = world.say(response("1", "a", {domain("x")}));
  EXPECT_LT(said.size(), 4200U);
  EXPECT_TRUE(said.starts_with("|a|3 x: 1000; x: 1001; "));
  world.say(response("2", "b", std::vector<std::string>(3000, "\x0A")));
  EXPECT_EQ(world.errors, 1000U);
}

}  // namespace
}  // namespace weir::xds
