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
    AdminConversation conversation(service, pages, api, room, peer, [] {});
    std::string out;
    const std::size_t used = conversation.feed(request, out, {});
    if (used == 0) return "(waits)";
    if (conversation.waiting()) return "(forwarded)";
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
  AdminApi api{};
  AdminConversation::Loop room;
  std::string fields;
  bool late = false;
};

TEST(AdminConversation, silence_and_half_a_request_are_not_trusted) {
  Talk talk(true);
  AdminConversation conversation(talk.service, talk.pages, talk.api, talk.room, talk.peer, [] {});
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

// A listener whose paths of /v1 are answered by another loop: by the test, when it calls answer().
struct Forwarding : Talk {
  explicit Forwarding(service::ServiceOptions options = {}) : Talk(true, std::move(options)) {
    api.forward = [this](std::string request, const net::Peer&, steering::Role,
                         std::function<void(Forwarded)> done) {
      forwarded.push_back(std::move(request));
      answer = std::move(done);
    };
    room.post = [this](const std::function<void()>& call) { posted.push_back(call); };
  }
  std::string status(const std::string& host, const std::string& more = "") {
    forwarded.clear();
    const std::string told = ask("GET /v1/status HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
    return forwarded.empty() ? told.substr(0, 3) : "forwarded";
  }

  std::vector<std::string> forwarded;
  std::vector<std::function<void()>> posted;
  std::function<void(Forwarded)> answer;
};

TEST(AdminConversation, what_another_loop_answers_is_sent_when_it_has) {
  Forwarding talk;
  int resumed = 0;
  AdminConversation conversation(talk.service, talk.pages, talk.api, talk.room, talk.peer,
                                 [&] { ++resumed; });
  const std::string first = "POST /v1/look HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
  const std::string second = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::string out;
  EXPECT_EQ(conversation.feed(first.substr(0, first.size() - 2), out, {}), 0);  // its body is to come
  EXPECT_EQ(conversation.feed(first + second, out, {}), first.size());
  ASSERT_EQ(talk.forwarded, std::vector<std::string>{first});
  EXPECT_TRUE(conversation.waiting());
  EXPECT_EQ(conversation.feed(second, out, {}), 0);
  talk.answer({.reply = "the answer"});
  EXPECT_TRUE(conversation.waiting());  // until its own loop has heard of it
  talk.posted.back()();
  EXPECT_EQ(resumed, 1);
  EXPECT_TRUE(conversation.busy());
  EXPECT_EQ(conversation.feed(second, out, {}), second.size());
  EXPECT_TRUE(out.starts_with("the answerHTTP/1.1 200 OK\r\n")) << out;
}

TEST(AdminConversation, an_answer_to_a_connection_that_has_gone_is_nobodys) {
  Forwarding talk;
  EXPECT_EQ(talk.status("localhost"), "forwarded");
  talk.answer({.reply = "the answer"});
  talk.posted.back()();
}

TEST(AdminConversation, a_page_of_another_site_may_not_ask) {
  Forwarding talk(service::ServiceOptions{.host_names = {"weir.example"}});
  EXPECT_EQ(talk.status("localhost:1"), "forwarded");
  EXPECT_EQ(talk.status("localhost:1", "Origin: http://localhost:1\r\n"), "forwarded");
  EXPECT_EQ(talk.status("Weir.Example", "Origin: https://Weir.Example\r\n"), "forwarded");
  EXPECT_EQ(talk.status("[::1]:1", "Origin: http://[::1]:1\r\n"), "forwarded");
  EXPECT_EQ(talk.status("192.0.2.7:1", "Origin: http://192.0.2.7:1\r\n"), "forwarded");
  EXPECT_EQ(talk.status("localhost:1", "Origin: http://localhost:2\r\n"), "403");
  EXPECT_EQ(talk.status("localhost:1", "Origin: http://evil.example\r\n"), "403");
  EXPECT_EQ(talk.status("localhost:1", "Origin: null\r\n"), "403");
  EXPECT_EQ(talk.status("localhost:1", "Origin: http://localhost:1\r\nOrigin: http://evil.example\r\n"),
            "403");
  // A name that was made to lead here: its pages ask with their own Origin, or by GET with none.
  EXPECT_EQ(talk.status("evil.example", "Origin: http://evil.example\r\n"), "403");
  EXPECT_EQ(talk.status("evil.example"), "403");
  EXPECT_EQ(talk.status("weir.example"), "forwarded");
}

TEST(AdminConversation, a_page_of_another_site_may_not_ask_for_what_is_not_of_v1_either) {
  Forwarding talk;
  for (const char* path : {"/", "/metrics", "/healthz"}) {
    const auto status = [&](const std::string& host, const std::string& more) {
      return talk.ask("GET " + std::string(path) + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n")
          .substr(0, 3);
    };
    EXPECT_EQ(status("localhost:1", "Origin: http://localhost:1\r\n"), "200") << path;
    EXPECT_EQ(status("localhost:1", "Origin: http://evil.example\r\n"), "403") << path;
    EXPECT_EQ(status("evil.example", "Origin: http://evil.example\r\n"), "403") << path;
    EXPECT_EQ(status("weir.weir.svc", ""), "200") << path << ": scrapers have names for it";
  }
}

TEST(AdminConversation, where_secrets_are_asked_for_any_name_may_lead_here) {
  Forwarding talk(service::ServiceOptions{.http_token = "secret"});
  EXPECT_EQ(talk.status("weir.weir.svc"), "forwarded");
  EXPECT_EQ(talk.status("weir.weir.svc", "Origin: http://weir.weir.svc\r\n"), "403");
}

TEST(AdminConversation, the_gate_is_not_here) {
  Forwarding talk;
  EXPECT_EQ(talk.ask("GET /gate/x HTTP/1.1\r\nHost: localhost\r\n\r\n").substr(0, 3), "404");
}

}  // namespace
}  // namespace weir::http
