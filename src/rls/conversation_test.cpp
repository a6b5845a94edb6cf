#include "rls/conversation.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "grpc/client_test.hpp"
#include "store/embedded_store.hpp"
#include "store/late_store_test.hpp"

namespace weir::inline v0_1::rls {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kShould = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
constexpr std::string_view kReserve = "/kuadrant.service.ratelimit.v1.RateLimitService/Reserve";
constexpr std::string_view kCommit = "/kuadrant.service.ratelimit.v1.RateLimitService/Commit";
constexpr std::string_view kWatch = "/grpc.health.v1.Health/Watch";

// Descriptors of one entry each; `hits` of all of them, where it is not below 0.
std::string message(std::string_view domain,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> all, int hits = -1) {
  using protozero::pbf_writer;
  std::string out;
  pbf_writer to(out);
  to.add_string(1, domain.data(), domain.size());
  for (const auto& [key, value] : all) {
    pbf_writer descriptor(to, 2);
    {
      pbf_writer entry(descriptor, 1);
      entry.add_string(1, key.data(), key.size());
      entry.add_string(2, value.data(), value.size());
    }
    if (hits >= 0) {
      pbf_writer own(descriptor, 3);
      own.add_uint64(1, static_cast<std::uint64_t>(hits));
    }
  }
  return out;
}

// "OVER: OK user 2/HOUR 1 1800s, OVER", as an answer says it.
std::string said(std::string_view answer) {
  const auto code = [](std::uint32_t number) {
    return std::string(number == 1 ? "OK" : number == 2 ? "OVER" : "UNKNOWN");
  };
  std::string overall;
  std::string all;
  for (protozero::pbf_reader reader(answer.data(), answer.size()); reader.next();) {
    if (reader.tag() == 1) {
      overall = code(reader.get_uint32());
    } else if (reader.tag() == 2) {
      std::string one = "UNKNOWN";
      for (protozero::pbf_reader status = reader.get_message(); status.next();) {
        if (status.tag() == 1) {
          one = code(status.get_uint32());
        } else if (status.tag() == 2) {
          for (protozero::pbf_reader limit = status.get_message(); limit.next();) {
            if (limit.tag() == 3) {
              one += " " + limit.get_string();
            } else {
              one += " " + std::to_string(limit.get_uint32());
            }
          }
        } else if (status.tag() == 3) {
          one += " left " + std::to_string(status.get_uint32());
        } else if (status.tag() == 4) {
          for (protozero::pbf_reader duration = status.get_message(); duration.next();)
            one += " in " + std::to_string(duration.get_int64()) + "s";
        }
      }
      all += (all.empty() ? " " : ", ") + one;
    } else {
      reader.skip();
    }
  }
  return overall + ":" + all;
}

class RlsConversationTest : public ::testing::Test {
 protected:
  static constexpr std::string_view kLimits = R"(version: 1
limits:
  user: { by: [user], rate: 2/h }
  tokens: { by: [tokens], rate: 60/min burst 2, charge: after }
  window: { by: [window], rate: 10/day algorithm=fixed_window, charge: after, refunds: true }
rls:
  edge: {}
)";
  bool read_limits() {
    service.limits = std::make_unique<service::LimitsInForce>(service::LimitsInForce::Options{
        .path = "limits.yaml",
        .wall_clock = service.options().wall_clock,
        .open = [](const std::string&, std::size_t) { return std::string(kLimits); }});
    return service.limits->reload().empty();
  }

  static constexpr std::string_view kTrees = R"(domain: tree
descriptors:
  - { key: one, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: many, rate_limit: { unit: day, requests_per_unit: 9 } }
)";
  bool read_trees() {
    const std::string path = testing::TempDir() + "weir-rls-conversation-" + std::to_string(getpid());
    std::filesystem::create_directories(path);
    std::ofstream(path + "/tree.yaml") << kTrees;
    service.descriptors = std::make_unique<service::DescriptorsInForce>(
        service::DescriptorsInForce::Options{.path = path, .wall_clock = service.options().wall_clock});
    const bool read = service.descriptors->reload().empty();
    std::filesystem::remove_all(path);
    return read;
  }

  struct Talk {
    Talk(RlsConversationTest& test, RlsLoop& loop)
        : of(test), conversation(test.service, loop, {7, "test"}, [this] { ++resumed; }) {}
    // What the client has to say and what comes back, until both are silent.
    void go_on() {
      for (;;) {
        const std::string asked = client.bytes();
        std::string answered;
        conversation.feed(asked, answered, {of.now, of.now});
        client.take(answered);
        if (asked.empty() && answered.empty()) return;
      }
    }
    std::int32_t send(const std::string& bytes, std::string_view path = kShould,
                      grpc::Client::Fields more = {}) {
      return client.call(path, grpc::message_of(bytes), more);
    }
    std::string ask(const std::string& bytes) {
      const std::int32_t stream = send(bytes);
      go_on();
      return told(stream);
    }
    std::string told(std::int32_t stream) {
      grpc::Client::Reply& reply = client.replies[stream];
      if (!reply.over) return "open";
      if (reply.status() != "0") return reply.status() + " " + reply.fields["grpc-message"];
      return said(reply.messages().at(0));
    }

    RlsConversationTest& of;
    int resumed = 0;
    Conversation conversation;
    grpc::Client client;
  };

  std::chrono::nanoseconds now = 1000s;
  store::EmbeddedStore embedded{1_MiB, WhenFull::deny, {1, 2}};
  service::Service service{{.clock = [this] { return now; }, .wall_clock = [] { return 1'700'000'000s; }},
                           embedded.table()};
  const bool has_limits = read_limits() && read_trees();  // before the loops, which look for them
  RlsOptions options;
  RlsCounts counts;
  RlsLoop near{service, embedded, false, options, counts};
  store::LateStore late{embedded};
  RlsLoop far{service, late, true, options, counts};
};

TEST_F(RlsConversationTest, an_embedded_store_answers_within_the_same_call) {
  ASSERT_TRUE(has_limits);
  Talk talk(*this, near);
  EXPECT_EQ(talk.ask(message("edge", {{"user", "a"}})), "OK: OK 2 3 user left 1 in 1800s");
  EXPECT_EQ(talk.ask(message("edge", {{"user", "a"}, {"user", "a"}})),
            "OVER: OK 2 3 user in 3600s, OVER 2 3 user in 1800s");
  EXPECT_EQ(talk.resumed, 0);
  EXPECT_FALSE(talk.conversation.busy() || talk.conversation.closing() || talk.conversation.unfinished());
  EXPECT_EQ(counts.calls.load(), 2U);
}

TEST_F(RlsConversationTest,
       calls_are_taken_while_a_store_has_others_and_each_is_answered_when_it_is_decided) {
  Talk talk(*this, far);
  const std::int32_t first = talk.send(message("edge", {{"user", "a"}, {"user", "b"}}));
  talk.go_on();
  const std::int32_t second = talk.send(message("edge", {{"user", "c"}}));
  const std::int32_t third = talk.send(message("elsewhere", {{"user", "c"}}));
  talk.go_on();
  ASSERT_EQ(late.kept.size(), 3U);
  EXPECT_EQ(late.batches, 2) << "all descriptors of a message are one call";
  EXPECT_FALSE(talk.conversation.waiting());
  EXPECT_FALSE(talk.conversation.busy());
  EXPECT_GT(talk.conversation.kept(), 0U);
  late.answer(2);
  EXPECT_EQ(talk.resumed, 1);
  EXPECT_TRUE(talk.conversation.busy());
  talk.go_on();
  EXPECT_EQ(talk.told(second), "OK: OK 2 3 user left 1 in 1800s");
  EXPECT_EQ(talk.told(third), "OK: OK");
  EXPECT_EQ(talk.told(first), "open");
  late.answer(1);
  EXPECT_EQ(talk.resumed, 1);
  late.answer(0);
  EXPECT_EQ(talk.resumed, 2);
  talk.go_on();
  EXPECT_EQ(talk.told(first), "OK: OK 2 3 user left 1 in 1800s, OK 2 3 user left 1 in 1800s");
}

TEST_F(RlsConversationTest, a_quiet_one_keeps_nothing_for_its_client) {
  Talk talk(*this, far);
  talk.go_on();
  EXPECT_EQ(talk.conversation.kept(), 0U);
  constexpr std::size_t kMany = 20;
  for (std::size_t i = 0; i < kMany; ++i) talk.send(message("edge", {{"user", "a"}}));
  talk.go_on();
  EXPECT_GT(talk.conversation.kept(), 10'000U);
  for (std::size_t i = 0; i < kMany; ++i) late.answer(i);
  talk.go_on();
  EXPECT_EQ(talk.conversation.kept(), 0U);
}

TEST_F(RlsConversationTest, what_is_open_when_the_connection_goes_is_cancelled) {
  {
    Talk talk(*this, far);
    talk.send(message("edge", {{"user", "a"}, {"user", "b"}}));
    talk.go_on();
  }
  EXPECT_EQ(late.cancelled, 2);
}

TEST_F(RlsConversationTest, descriptors_of_which_one_may_leave_the_others_free_are_one_question) {
  options.others_free = true;
  Talk talk(*this, far);
  const std::string both = message("tree", {{"one", "a"}, {"other", "a"}, {"many", "a"}});
  const std::int32_t first = talk.send(both);
  const std::int32_t second = talk.send(both);
  const std::int32_t alone = talk.send(message("tree", {{"other", "a"}, {"many", "a"}}));
  talk.go_on();
  ASSERT_EQ(late.kept.size(), 3U);
  EXPECT_EQ(late.kept[0]->checks.size(), 2U);
  EXPECT_TRUE(late.kept[0]->charge->others_free);
  EXPECT_FALSE(late.kept[2]->charge->others_free) << "nothing is to be left free";
  for (std::size_t i = 0; i < 3; ++i) late.answer(i);
  talk.go_on();
  EXPECT_EQ(talk.told(first), "OK: OK 1 4 in 85400s, OK, OK 9 4 left 8 in 85400s");
  EXPECT_EQ(talk.told(second), "OVER: OVER 1 4 in 85400s, OK, OK 9 4 left 8 in 85400s");
  EXPECT_EQ(talk.told(alone), "OK: OK, OK 9 4 left 7 in 85400s");

  const std::int32_t down = talk.send(both);
  talk.go_on();
  late.answer(3, Fault::store_down);
  talk.go_on();
  EXPECT_EQ(talk.told(down), "14 nobody could decide");
  {
    Talk gone(*this, far);
    gone.send(both);
    gone.go_on();
  }
  EXPECT_EQ(late.cancelled, 1);
}

// A message of Reserve, or with an id of Commit.
std::string of_hold(std::string_view user, std::uint64_t units, std::string_view id = {}) {
  std::string out = message("edge", {{"user", user}});
  protozero::pbf_writer to(out);
  if (!id.empty()) to.add_string(3, id.data(), id.size());
  to.add_uint64(id.empty() ? 3 : 4, units);
  return out;
}

TEST_F(RlsConversationTest, a_commit_whose_hold_is_over_is_charged_when_the_store_has_said_so) {
  Talk talk(*this, far);
  const std::int32_t reserved = talk.send(of_hold("a", 2), kReserve);
  talk.go_on();
  late.answer(0);
  talk.go_on();
  const std::string answer = talk.client.replies[reserved].messages().at(0);
  ASSERT_EQ(answer.substr(0, 3), "\x08\x01\x12") << "OK, and an id";
  const std::string id = answer.substr(4);

  ASSERT_EQ(far.holds.next(), now + 60s);
  far.holds.end_due(now + 59s);
  EXPECT_EQ(late.kept.size(), 1U);
  far.holds.end_due(now + 60s);
  ASSERT_EQ(late.kept.size(), 2U);
  EXPECT_EQ(late.kept[1]->reservation->actual, 0U);
  late.answer(1);
  EXPECT_FALSE(far.holds.next());

  const std::int32_t committed = talk.send(of_hold("a", 1, id), kCommit);
  talk.go_on();
  late.answer(2);
  talk.go_on();
  EXPECT_EQ(talk.told(committed), "open") << "it is charged yet";
  ASSERT_EQ(late.kept.size(), 4U);
  EXPECT_EQ(late.kept[3]->verb, store::Verb::charge);
  late.answer(3);
  talk.go_on();
  EXPECT_EQ(talk.client.replies[committed].messages().at(0), "") << "nothing was released";
  Talk other(*this, near);
  EXPECT_EQ(other.ask(message("edge", {{"user", "a"}})), "OK: OK 2 3 user in 3600s");
}

TEST_F(RlsConversationTest, holds_are_told_what_a_store_cannot_decide) {
  Talk talk(*this, far);
  const std::int32_t reserved = talk.send(of_hold("a", 2), kReserve);
  const std::int32_t committed = talk.send(of_hold("a", 2, "id"), kCommit);
  talk.go_on();
  late.answer(0, Fault::store_down);
  late.answer(1, Fault::store_down);
  talk.go_on();
  EXPECT_EQ(talk.told(reserved), "14 nobody could decide");
  EXPECT_EQ(talk.told(committed), "14 nobody could decide");
  {
    Talk gone(*this, far);
    gone.send(of_hold("b", 2), kReserve);
    gone.send(of_hold("b", 2, "id"), kCommit);
    gone.go_on();
  }
  EXPECT_EQ(late.cancelled, 2);
}

TEST_F(RlsConversationTest, an_answer_to_a_call_that_was_reset_goes_nowhere) {
  Talk talk(*this, far);
  const std::int32_t stream = talk.send(message("edge", {{"user", "a"}}));
  talk.go_on();
  talk.client.reset(stream);
  talk.go_on();
  late.answer(0);
  talk.go_on();
  EXPECT_EQ(talk.client.replies[stream].body, "");
  EXPECT_EQ(talk.told(talk.send(message("elsewhere", {{"user", "a"}}))), "open");
  talk.go_on();
}

TEST_F(RlsConversationTest, nothing_is_asked_or_charged_after_the_deadline) {
  Talk talk(*this, near);
  const std::int32_t stream = talk.send(message("edge", {{"user", "a"}}), kShould, {{"grpc-timeout", "20m"}});
  const std::string bytes = talk.client.bytes();
  // Its headers come, and its message 20 ms later.
  const std::size_t head = bytes.size() - 20;
  std::string out;
  talk.conversation.feed(std::string_view(bytes).substr(0, head), out, {now, now});
  now += 20ms;
  talk.conversation.feed(std::string_view(bytes).substr(head), out, {now, now});
  talk.client.take(out);
  EXPECT_EQ(talk.told(stream), "4 the deadline has passed");
  EXPECT_EQ(counts.late.load(), 1U);
  EXPECT_EQ(talk.ask(message("edge", {{"user", "a"}})), "OK: OK 2 3 user left 1 in 1800s");
}

TEST_F(RlsConversationTest, a_store_beyond_this_process_has_what_is_left_less_the_way_back) {
  Talk talk(*this, far);
  talk.send(message("edge", {{"user", "a"}}), kShould, {{"grpc-timeout", "20m"}});
  talk.send(message("edge", {{"user", "a"}}), kShould, {{"grpc-timeout", "1m"}});
  talk.send(message("edge", {{"user", "a"}}));
  talk.go_on();
  EXPECT_EQ(late.patience, (std::vector<std::chrono::nanoseconds>{17ms, 1ns, 0ns}));
}

TEST_F(RlsConversationTest, what_nobody_could_decide_is_an_error_unless_another_denies) {
  Talk talk(*this, far);
  const std::int32_t alone = talk.send(message("edge", {{"user", "a"}, {"user", "b"}}));
  talk.go_on();
  late.answer(0, Fault::foreign_value);
  late.answer(1);
  talk.go_on();
  EXPECT_EQ(talk.told(alone), "14 nobody could decide");
  const std::int32_t denied = talk.send(message("edge", {{"user", "a"}, {"user", "b"}}, 3));
  talk.go_on();
  late.answer(2, Fault::foreign_value);
  late.answer(3);
  talk.go_on();
  EXPECT_EQ(talk.told(denied), "OVER: UNKNOWN, OVER 2 3 user in 3600s");
}

// Two a minute: three pass and the fourth is refused, as what is reported may be more than is left.
TEST_F(RlsConversationTest, a_look_before_and_a_report_after) {
  Talk talk(*this, near);
  const std::string look = message("edge", {{"tokens", "t"}}, 0);
  const std::string report = message("edge", {{"tokens", "t"}}, 1);
  EXPECT_EQ(talk.ask(look), "OK: OK 60 2 tokens left 2 in 0s");
  EXPECT_EQ(talk.ask(report), "OK: OK 60 2 tokens left 1 in 1s");
  EXPECT_EQ(talk.ask(look), "OK: OK 60 2 tokens left 1 in 1s");
  EXPECT_EQ(talk.ask(report), "OK: OK 60 2 tokens in 2s");
  EXPECT_EQ(talk.ask(look), "OK: OK 60 2 tokens in 2s") << "no more is owed than the limit";
  EXPECT_EQ(talk.ask(report), "OVER: OVER 60 2 tokens in 2s");
  EXPECT_EQ(talk.ask(look), "OVER: OVER 60 2 tokens in 2s");
  now += 1s;
  EXPECT_EQ(talk.ask(look), "OK: OK 60 2 tokens in 2s");
  // One that does not say its own hits asks first, and takes nothing where there is no room.
  EXPECT_EQ(talk.ask(message("edge", {{"tokens", "t"}})), "OVER: OVER 60 2 tokens in 1s");
  EXPECT_EQ(talk.ask(look), "OK: OK 60 2 tokens in 2s");
}

TEST_F(RlsConversationTest, a_fixed_window_that_is_charged_after_counts_what_it_denies) {
  Talk talk(*this, near);
  EXPECT_EQ(talk.ask(message("edge", {{"window", "w"}}, 8)), "OK: OK 10 4 window left 2 in 86400s");
  EXPECT_EQ(talk.ask(message("edge", {{"window", "w"}}, 3)), "OVER: OVER 10 4 window in 86400s");
  EXPECT_EQ(talk.ask(message("edge", {{"window", "w"}})), "OVER: OVER 10 4 window in 86400s");
  EXPECT_EQ(talk.ask(message("edge", {{"window", "w"}}, 0)), "OVER: OVER 10 4 window in 86400s");
}

TEST_F(RlsConversationTest, a_look_at_other_limits_is_never_over_and_charges_nothing) {
  Talk talk(*this, near);
  const std::string look = message("edge", {{"user", "a"}}, 0);
  EXPECT_EQ(talk.ask(look), "OK: OK 2 3 user left 2 in 0s");
  talk.ask(message("edge", {{"user", "a"}}, 2));
  EXPECT_EQ(talk.ask(look), "OK: OK 2 3 user in 3600s");
  EXPECT_EQ(talk.ask(message("edge", {{"user", "a"}})), "OVER: OVER 2 3 user in 1800s");
}

TEST_F(RlsConversationTest, health_is_told_and_told_again_at_the_end) {
  Talk talk(*this, near);
  const std::int32_t watch = talk.send("", kWatch);
  const std::int32_t unknown = talk.send("\x0a\x04none", kWatch);
  talk.go_on();
  EXPECT_EQ(talk.client.replies[watch].messages(), std::vector<std::string>{"\x08\x01"});
  EXPECT_EQ(talk.client.replies[unknown].messages(), std::vector<std::string>{"\x08\x03"});
  EXPECT_FALSE(talk.conversation.unfinished());
  EXPECT_TRUE(talk.conversation.say_goodbye());
  EXPECT_TRUE(talk.conversation.busy());
  talk.go_on();
  EXPECT_EQ(talk.client.replies[watch].messages(), (std::vector<std::string>{"\x08\x01", "\x08\x02"}));
  EXPECT_EQ(talk.client.replies[watch].status(), "14");
  EXPECT_TRUE(talk.conversation.closing());
}

TEST_F(RlsConversationTest, calls_that_are_open_are_answered_before_the_end) {
  Talk talk(*this, far);
  const std::int32_t stream = talk.send(message("edge", {{"user", "a"}}));
  talk.go_on();
  talk.conversation.say_goodbye();
  talk.go_on();
  EXPECT_FALSE(talk.conversation.closing());
  late.answer(0);
  talk.go_on();
  EXPECT_EQ(talk.told(stream), "OK: OK 2 3 user left 1 in 1800s");
  EXPECT_TRUE(talk.conversation.closing());
}

TEST_F(RlsConversationTest, an_old_connection_is_told_to_go_and_ends_after_the_grace) {
  Talk talk(*this, near);
  talk.send("", kWatch);
  talk.go_on();
  const auto look = [&](std::chrono::nanoseconds at) {
    now = 1000s + at;
    talk.conversation.look_at_time(now);
    talk.go_on();
  };
  look(21h);
  EXPECT_TRUE(talk.client.goaways.empty());
  look(27h);
  ASSERT_EQ(talk.client.goaways.size(), 2U);
  EXPECT_EQ(talk.client.goaways[1].second, 0U);
  look(27h + 59min);
  EXPECT_FALSE(talk.conversation.closing());
  look(28h);
  EXPECT_TRUE(talk.conversation.closing());
}

TEST_F(RlsConversationTest, connections_that_came_together_do_not_end_together) {
  std::vector<std::unique_ptr<Conversation>> all;
  for (std::uint64_t id = 0; id < 200; ++id)
    all.push_back(std::make_unique<Conversation>(service, near, net::Peer{id, "test"}, [] {}));
  const auto leaving = [&](std::chrono::nanoseconds at) {
    int count = 0;
    for (const auto& each : all) {
      each->look_at_time(1000s + at);
      count += each->busy() ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(leaving(21h + 30min), 0);
  const int half = leaving(24h);
  EXPECT_GT(half, 60);
  EXPECT_LT(half, 140);
  EXPECT_EQ(leaving(26h + 30min), 200);
}

TEST_F(RlsConversationTest, headers_and_metadata_are_told_where_they_are_wanted) {
  options.headers = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"};
  options.metadata = true;
  Talk talk(*this, near);
  const std::int32_t stream = talk.send(message("edge", {{"user", "a"}, {"window", "w"}}));
  talk.go_on();
  const std::string answer = talk.client.replies[stream].messages().at(0);
  EXPECT_TRUE(answer.find("RateLimit-Remaining\x12\x01"
                          "1") != std::string::npos)
      << "of user, not of window";
  EXPECT_TRUE(answer.find("user=a") != std::string::npos);
  EXPECT_TRUE(answer.find("hitsAddend") == std::string::npos);
}

}  // namespace
}  // namespace weir::rls
