// What lint says of a file, which is told how it is served; and of the attributes that a file names.
#include <gtest/gtest.h>

#include "limits/reading_test.hpp"
#include "limits/world_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using namespace std::chrono_literals;

std::string lint(const std::string& file, Deployment served = {}) {
  ReadOptions options = test_options();
  options.deployment = &served;
  return shown(read(file, options).findings);
}

const std::string kLog =
    "version: 1\nlimits:\n  a: { rate: [9/s algorithm=sliding_window_log, 50/min algorithm=fixed_window] }\n";

TEST(Deployment, a_sliding_window_log_needs_a_store) {
  EXPECT_EQ(
      lint(kLog),
      "limits.yaml:3:15: limits.a.rate: '9/s algorithm=sliding_window_log' is counted by a shared store "
      "alone; write sliding_window_counter, or if there is a store, give --store\n");
  EXPECT_EQ(lint(kLog, {.has_store = true}), "");
}

TEST(Deployment, nobody_waits_longer_than_the_server_lets_them) {
  const std::string file = "version: 1\nlimits:\n  a: { rate: 9/s, max_wait: 2h }\n";
  EXPECT_EQ(lint(file),
            "limits.yaml:3:29: warning: limits.a.max_wait: '2h' is above --max-wait 1h, the longest that the "
            "server lets anybody wait; it does not start with such a file\n");
  EXPECT_EQ(lint(file, {.max_wait = 2h}), "");
  const ReadResult reading = read(file, test_options());
  const auto made = Set::make(reading.file, {.max_wait = 1h});
  ASSERT_FALSE(made);
  EXPECT_EQ(to_text(made.error().front()),
            "limits.yaml:3:29: limits.a.max_wait: '2h' is above --max-wait 1h, the longest that the server "
            "lets anybody wait; it does not start with such a file");
  EXPECT_TRUE(Set::make(reading.file, {.max_wait = 2h}));
}

TEST(Deployment, a_list_of_bans_may_be_empty) {
  const std::string file =
      "version: 1\nlists: { bans: { file: empty.txt } }\nlimits:\n  a: { rate: 9/s, deny: { ip: '@bans' } "
      "}\n";
  EXPECT_EQ(lint(file),
            "limits.yaml:2:24: note: lists.bans.file: 'empty.txt' has no entries, so it matches nothing\n");
  EXPECT_EQ(
      shown(read(file, test_options()).findings),
      "limits.yaml:2:24: warning: lists.bans.file: 'empty.txt' has no entries, so it matches nothing\n");
}

TEST(Deployment, attributes_are_suggested) {
  const std::string limits =
      "limits:\n  a: { by: [tenant, ip], rate: 9/s, cost: { from: tokens } }\nroutes:\n"
      "  - { when: { path: /x }, limits: [] }\n  - { when: { plan: pro }, limits: [a] }\n";
  EXPECT_EQ(
      lint("version: 1\n" + limits),
      "limits.yaml:1:1: note: attributes: missing; with attributes: [tenant, tokens, plan] a request that "
      "misspells one is an error, and does not pass unlimited\n");
  EXPECT_EQ(lint("version: 1\nattributes: [tenant, tokens, plan]\n" + limits), "");
  EXPECT_EQ(lint("version: 1\nlimits:\n  a: { by: [ip], rate: 9/s }\n"), "") << "these need no list";
}

TEST(Attributes, one_that_the_file_does_not_name_is_an_error) {
  World world(R"(
version: 1
attributes: [tenant, user, plan]
limits:
  user: { by: [user], rate: 20/s burst 40 }
gateways:
  nginx: { from: x-original, attributes: { key: header.x-key } }
)");
  EXPECT_EQ(world.ask("usr=42"), "error: unknown attribute 'usr'; did you mean user?");
  EXPECT_EQ(world.ask("user=42 plan=pro tenant=t ip=192.0.2.1 path=/x method=GET host=h raw_path=/x key=k"),
            "allowed 40 39 user");
  EXPECT_EQ(
      world.ask("colour=red"),
      "error: unknown attribute 'colour'; known: tenant, user, plan, ip, method, host, path, raw_path, key");
  std::vector<store::Check> states;
  const auto misspelt = split("usr=42");
  EXPECT_FALSE(find_states(*world.set, misspelt, "", world.memory, world.matched, states));
  EXPECT_EQ(world.matched.error, "unknown attribute 'usr'; did you mean user?");
  const Description of_a_log{.attributes = misspelt, .takes_any_attribute = true};
  EXPECT_TRUE(match(*world.set, of_a_log, world.wall, world.memory, world.matched));
}

}  // namespace
}  // namespace weir::limits
