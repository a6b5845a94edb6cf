#include "http/conversation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "store/embedded_store.hpp"
#include "store/late_store_test.hpp"

namespace weir::inline v0_1::http {
namespace {

using namespace std::chrono_literals;

class HttpConversationTest : public ::testing::Test {
 protected:
  static std::string post(std::string_view body, std::string_view path = "/v1/check") {
    return "POST " + std::string(path) +
           " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
  }
  std::string feed(Conversation& conversation, std::string& input) {
    std::string out;
    const std::size_t used = conversation.feed(input, out, {1000s, 1000s});
    input.erase(0, used);
    return out;
  }
  static std::vector<std::string> bodies(std::string_view out) {
    std::vector<std::string> found;
    for (std::size_t at = 0; (at = out.find("\r\n\r\n", at)) != std::string_view::npos;) {
      at += 4;
      found.emplace_back(out.substr(at, out.find("HTTP/1.1", at) - at));
    }
    return found;
  }

  std::chrono::nanoseconds wall{0};
  store::EmbeddedStore embedded{std::size_t{1} << 20, WhenFull::deny, {1, 2}};
  service::Service service{
      {.clock = [] { return std::chrono::nanoseconds{1000s}; }, .wall_clock = [this] { return wall; }},
      embedded.table()};
  HttpLoop room{service, embedded};
  int resumed = 0;
  net::Peer peer{1, "test"};
};

TEST_F(HttpConversationTest, an_embedded_store_answers_within_the_same_call) {
  Conversation conversation(service, room, peer, [this] { ++resumed; });
  std::string input = post(R"({"key":"a","limit":"1/s"})");
  EXPECT_EQ(feed(conversation, input),
            "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: application/json\r\n"
            "Content-Length: 109\r\nCache-Control: no-store\r\n"
            "RateLimit-Policy: \"limit\";q=1;w=1\r\nRateLimit: \"limit\";r=0;t=1\r\n\r\n"
            "{\"allowed\":true,\"verdict\":\"allowed\",\"limit\":1,\"remaining\":0,\"retry_after\":null,"
            "\"reset_after\":1,\"by\":\"limit\"}\n");
  EXPECT_EQ(input, "");
  EXPECT_FALSE(conversation.waiting() || conversation.busy() || conversation.closing());
}

TEST_F(HttpConversationTest, a_body_that_is_all_wrong_is_told_thirty_two_times_and_counted) {
  Conversation conversation(service, room, peer, [this] { ++resumed; });
  const auto told = [](std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("\"pointer\":", at)) != text.npos; ++at) ++count;
    return count;
  };
  std::string body = R"({"key":"a","limit":"1/s")";
  for (int i = 0; i < 1000; ++i) body += R"(,"a":0,"key":0)";
  std::string input = post(body + "}");
  std::string out = feed(conversation, input);
  EXPECT_EQ(told(out), 33U);
  EXPECT_TRUE(
      out.find(
          R"({"pointer":"/key","detail":"is given twice"},{"pointer":"","detail":"and 1968 more errors"}]})") !=
      out.npos)
      << out;
  body = R"({"requests":[{"cost":-1,"b":0})";
  for (int i = 0; i < 99; ++i) body += R"(,{"a":0})";
  input = post(body + "]}");
  out = feed(conversation, input);
  EXPECT_EQ(told(out), 32U + 85U) << "of 15 requests all is told, of the others how many errors more";
}

TEST_F(HttpConversationTest, a_request_that_waits_holds_up_those_after_it_and_is_resumed_once) {
  store::LateStore late(embedded);
  HttpLoop late_room{service, late};
  Conversation conversation(service, late_room, peer, [this] { ++resumed; });
  std::string input =
      post(R"({"requests":[{"key":"a","limit":"2/s","explain":true},{},{"key":"b","limit":"3/s"}]})") +
      post(R"({"key":"c","limit":"4/s"})");
  EXPECT_EQ(feed(conversation, input), "");
  EXPECT_TRUE(conversation.waiting());
  ASSERT_EQ(late.kept.size(), 2U);  // the faulty one is not asked
  EXPECT_EQ(feed(conversation, input), "");
  EXPECT_EQ(input.substr(0, 4), "POST");
  // Another connection of the loop uses the room meanwhile.
  Conversation other(service, room, peer, [] {});
  std::string theirs = post(R"({"key":"x","limit":"9/s"})");
  EXPECT_NE(feed(other, theirs).find("\"limit\":9"), std::string::npos);
  late.answer(1);
  EXPECT_EQ(resumed, 0);
  late.answer(0);
  EXPECT_EQ(resumed, 1);
  EXPECT_TRUE(conversation.busy());
  const std::string out = feed(conversation, input);
  EXPECT_NE(out.find("\"limit\":2"), std::string::npos);
  EXPECT_NE(out.find("\"key\":\"a\",\"rate\":\"2/s\""), std::string::npos);
  EXPECT_NE(out.find("\"status\":400"), std::string::npos);
  EXPECT_LT(out.find("\"limit\":2"), out.find("\"limit\":3"));
  EXPECT_TRUE(conversation.waiting());
  late.answer(2);
  EXPECT_EQ(resumed, 2);
  EXPECT_NE(feed(conversation, input).find("\"limit\":4"), std::string::npos);
  EXPECT_EQ(input, "");
}

// A name that was made to lead here lets a page of its own ask by GET, without an Origin.
TEST_F(HttpConversationTest,
       what_tells_of_keys_is_for_hosts_that_are_known_where_nobody_has_to_say_who_they_are) {
  const auto status = [this](service::Service& of, const std::string& path, const std::string& host) {
    Conversation conversation(of, room, peer, [this] { ++resumed; });
    std::string input = "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    return feed(conversation, input).substr(9, 3);
  };
  service::Service named({.host_names = {"weir.example"}}, embedded.table());
  service::Service closed({.http_token = "secret"}, embedded.table());
  for (const char* const path : {"/v1/top", "/v1/status", "/v1/audit", "/v1/overrides", "/v1/overrides/1"}) {
    EXPECT_EQ(status(service, path, "evil.example:6391"), "403") << path;
    EXPECT_NE(status(service, path, "localhost:6391"), "403") << path;
    EXPECT_NE(status(service, path, "192.0.2.7:6391"), "403") << path;
    EXPECT_EQ(status(named, path, "evil.example:6391"), "403") << path;
    EXPECT_NE(status(named, path, "Weir.Example:6391"), "403") << path;
    EXPECT_EQ(status(closed, path, "evil.example:6391"), "401") << path;
  }
  EXPECT_EQ(status(service, "/openapi.json", "weir.weir.svc"), "200");
}

TEST_F(HttpConversationTest, each_verb_may_be_answered_later) {
  service::Service refunding({.allow_refunds = true, .clock = service.options().clock}, embedded.table());
  for (const service::VerbRow& row : service::kVerbs) {
    if (row.about == service::About::limit) continue;  // of a limits file
    std::string body = row.about == service::About::id ? R"("id":"AAAAAAAAAAAAAAAAAAAAAA")" : R"("key":"a")";
    if (row.about == service::About::rules) body += R"(,"limit":"2/s")";
    if (row.verb == store::Verb::extend) body += R"(,"hold":1)";
    if (row.verb == store::Verb::acquire) body += R"(,"max_wait":0)";
    store::LateStore late(embedded);
    HttpLoop late_room{refunding, late};
    Conversation conversation(refunding, late_room, peer, [] {});
    std::string input = post("{" + body + "}", row.path);
    EXPECT_EQ(feed(conversation, input), "") << row.path;
    for (std::size_t i = 0; i < late.kept.size(); ++i) late.answer(i);
    EXPECT_EQ(feed(conversation, input).substr(0, 12), "HTTP/1.1 200") << row.path;
  }
}

TEST_F(HttpConversationTest, the_date_is_that_of_the_answer) {
  store::LateStore late(embedded);
  HttpLoop late_room{service, late};
  Conversation conversation(service, late_room, peer, [] {});
  std::string input = post(R"({"key":"a","limit":"2/s"})");
  feed(conversation, input);
  // Another second, and another connection of the loop is told it first.
  wall += 1s;
  Conversation other(service, room, peer, [] {});
  std::string theirs = post(R"({"key":"x","limit":"9/s"})");
  feed(other, theirs);
  late.answer(0);
  EXPECT_EQ(feed(conversation, input).substr(17, 35), "Date: Thu, 01 Jan 1970 00:00:01 GMT");
}

TEST_F(HttpConversationTest, a_connection_that_goes_cancels_what_it_waits_for) {
  store::LateStore late(embedded);
  HttpLoop late_room{service, late};
  {
    Conversation conversation(service, late_room, peer, [this] { ++resumed; });
    std::string input = post(R"({"requests":[{"key":"a","limit":"2/s"},{"key":"b","limit":"3/s"}]})");
    feed(conversation, input);
    EXPECT_GT(conversation.kept(), 0U);
    late.answer(0);
  }
  EXPECT_EQ(late.cancelled, 1);
  EXPECT_EQ(resumed, 0);
  // The next of the loop gets what that one used, and waits for its own answer alone.
  Conversation next(service, late_room, peer, [this] { ++resumed; });
  std::string input = post(R"({"key":"c","limit":"4/s"})");
  feed(next, input);
  late.answer(late.kept.size() - 1);
  EXPECT_EQ(resumed, 1);
  EXPECT_FALSE(next.waiting());
}

TEST_F(HttpConversationTest, what_nobody_could_decide_is_503_and_says_why) {
  store::LateStore late(embedded);
  HttpLoop late_room{service, late};
  Conversation conversation(service, late_room, peer, [this] { ++resumed; });
  std::string input = post(R"({"key":"a","limit":"2/s"})");
  feed(conversation, input);
  late.answer(0, Fault::store_down);
  const std::string out = feed(conversation, input);
  EXPECT_TRUE(out.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << out;
  EXPECT_NE(out.find("the store: gone"), std::string::npos);
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_FALSE(conversation.closing());
}

TEST_F(HttpConversationTest, answers_that_are_not_taken_are_bounded) {
  Conversation conversation(service, room, peer, [] {});
  std::string input;
  for (int i = 0; i < 10'000; ++i) input += post(R"({"key":"a","limit":"9/s"})");
  std::size_t calls = 0;
  std::size_t answers = 0;
  while (!input.empty()) {
    const std::string out = feed(conversation, input);
    EXPECT_LT(out.size(), Conversation::kOutputCap + 4096);
    EXPECT_EQ(conversation.busy(), !input.empty());
    answers += bodies(out).size();
    ++calls;
  }
  EXPECT_GT(calls, 5U);
  EXPECT_EQ(answers, 10'000U);
}

TEST_F(HttpConversationTest, what_is_answered_does_not_depend_on_how_the_bytes_are_cut) {
  for (const std::string_view path : {"*", "/v1/check", "/openapi.json"}) {
    const std::string options = "OPTIONS " + std::string(path) +
                                " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" +
                                post(R"({"key":"a","limit":"1/s","cost":0})");
    const auto answers = [&](std::size_t piece) {
      Conversation conversation(service, room, peer, [this] { ++resumed; });
      std::string all;
      std::string input;
      for (std::size_t at = 0; at < options.size() && !conversation.closing(); at += piece) {
        input += options.substr(at, piece);
        all += feed(conversation, input);
      }
      return all;
    };
    const std::string whole = answers(options.size());
    EXPECT_EQ(bodies(whole).size(), 2U) << path << whole;
    EXPECT_EQ(answers(1), whole) << path;
  }
}

TEST_F(HttpConversationTest, a_connection_at_rest_keeps_nothing) {
  Conversation conversation(service, room, peer, [] {});
  std::string input = post(R"({"requests":[)" + [] {
    std::string all;
    for (int i = 0; i < 1000; ++i) all += std::string(i == 0 ? "" : ",") + R"({"key":"a","limit":"9/s"})";
    return all;
  }() + "]}");
  feed(conversation, input);
  EXPECT_EQ(conversation.kept(), 0U);
  const std::string chunked = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n0\r\n\r\n";
  for (const std::string_view path : {"/v1/check", "/v1/gate/none"}) {
    input = "POST " + std::string(path) + " HTTP/1.1\r\n" + chunked;
    EXPECT_TRUE(feed(conversation, input).starts_with("HTTP/1.1 40"));
    EXPECT_EQ(conversation.kept(), 0U) << path;
  }
}

TEST(HttpWriter, nothing_in_a_value_ends_its_field) {
  std::string fields;
  append_field(fields, "X", "a\r\nb\x1b\xc3");
  EXPECT_EQ(fields, "X: a??b??\r\n");
  EXPECT_EQ(date_text(std::chrono::sys_seconds{std::chrono::seconds{784111777}}),
            "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(pointer_to("/a", "b/~"), "/a/b~1~0");
}

}  // namespace
}  // namespace weir::http
