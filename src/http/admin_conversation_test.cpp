#include "http/admin_conversation.hpp"

#include <gtest/gtest.h>

#include "store/table.hpp"

namespace weir::inline v0_1::http {
namespace {

struct Talk {
  explicit Talk(bool local, service::ServiceOptions options = {})
      : service(std::move(options), table), peer{1, "192.0.2.1", 1, local} {}

  // The status, and after a blank the body, of the answer to a request; all of it is taken.
  std::string ask(const std::string& request) {
    AdminConversation conversation(service, pages, room, peer);
    std::string out;
    const std::size_t used = conversation.feed(request, out, {});
    if (used == 0) return "(waits)";
    late = conversation.late();
    const std::size_t head = out.find("\r\n\r\n");
    fields = out.substr(0, head);
    return out.substr(9, 3) + " " + out.substr(head + 4);
  }
  std::string get(const std::string& path, const std::string& more = "") {
    return ask("GET " + path + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n");
  }

  store::Table table{store::Table::kLeastBytes, WhenFull::deny, {1, 2}};
  service::Service service;
  net::Peer peer;
  bool started = true;
  std::string why;
  std::string why_ill;
  Readiness readiness{[this] { return started; }, [this] { return why; }, [this] { return why_ill; }};
  AdminPages pages = admin_pages(service, readiness);
  AdminConversation::Loop room;
  std::string fields;
  bool late = false;
};

TEST(AdminConversation, silence_and_half_a_request_are_not_trusted) {
  Talk talk(true);
  AdminConversation conversation(talk.service, talk.pages, talk.room, talk.peer);
  std::string out;
  EXPECT_FALSE(conversation.trusted());
  conversation.feed("GET /healthz HTTP/1.1\r\n", out, {});
  EXPECT_FALSE(conversation.trusted());
  conversation.feed("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", out, {});
  EXPECT_TRUE(conversation.trusted()) << "from then on it may be idle";
}

TEST(AdminConversation, ready_or_not) {
  Talk talk(true);
  EXPECT_EQ(talk.get("/readyz"), "200 ok\n");
  talk.why = "draining";
  EXPECT_EQ(talk.get("/readyz"), "503 draining\n");
  EXPECT_EQ(talk.get("/healthz"), "200 ok\n");
  talk.why_ill = "event loop 1 has not answered for 7s";
  EXPECT_EQ(talk.get("/healthz"), "503 event loop 1 has not answered for 7s\n");
  talk.started = false;
  EXPECT_TRUE(talk.get("/metrics").starts_with("503 "));
}

// Beyond this machine metrics want what the protocols want; health never does.
TEST(AdminConversation, who_may_read_metrics) {
  Talk open(false);
  EXPECT_TRUE(open.get("/metrics").starts_with("200 # HELP"))
      << "no secret is set, and --insecure allowed it";
  Talk talk(false, {.password = "word", .http_token = "token"});
  EXPECT_TRUE(talk.get("/metrics").starts_with("401 "));
  EXPECT_NE(talk.fields.find("WWW-Authenticate: Bearer"), std::string::npos);
  EXPECT_FALSE(talk.late);
  EXPECT_TRUE(talk.get("/metrics", "Authorization: Bearer toke\r\n").starts_with("401 "));
  EXPECT_TRUE(talk.late) << "a guess is answered late";
  EXPECT_EQ(talk.service.counters.auth_failures.load(), 1U);
  EXPECT_TRUE(talk.get("/metrics", "Authorization: Bearer token\r\n").starts_with("200 "));
  EXPECT_TRUE(talk.get("/metrics", "Authorization: Basic ZGVmYXVsdDp3b3Jk\r\n").starts_with("200 "));
  EXPECT_EQ(talk.get("/healthz"), "200 ok\n");
  EXPECT_EQ(talk.get("/readyz"), "200 ok\n");
  Talk near(true, {.password = "word", .http_token = "token"});
  EXPECT_TRUE(near.get("/metrics").starts_with("200 "));
}

TEST(AdminConversation, half_a_request_waits_and_a_body_is_not_waited_for) {
  Talk talk(true);
  EXPECT_EQ(talk.ask("GET /healthz HTTP/1.1\r\nHost: a\r\n"), "(waits)");
  EXPECT_EQ(talk.ask("GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"), "200 ok\n");
  EXPECT_NE(talk.fields.find("Connection: close"), std::string::npos);
}

}  // namespace
}  // namespace weir::http
