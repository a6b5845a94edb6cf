#include "http/doorkeeper.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "http/conversation.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::http {
namespace {

using namespace std::chrono_literals;

// A server with one user, ann of the role operate, whose password is `pw`: YW5uOnB3 in Basic.
class DoorkeeperTest : public testing::Test {
 protected:
  DoorkeeperTest() : path_(testing::TempDir() + "weir-door-" + std::to_string(getpid())) {
    std::ofstream(path_) << "users: {ann: {role: operate, password: "
                         << steering::PasswordHash::of("pw", {.log_n = 10, .r = 1, .p = 1}).text() << "}}\n";
  }
  ~DoorkeeperTest() override { std::filesystem::remove(path_); }

  // What the loop is to call, from any thread.
  struct Turns {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::function<void()>> calls;

    void post(std::function<void()> call) {
      const std::lock_guard lock(mutex);
      calls.push_back(std::move(call));
      changed.notify_one();
    }
    void run_next() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return !calls.empty(); });
      const std::function<void()> call = std::move(calls.front());
      calls.erase(calls.begin());
      lock.unlock();
      call();
    }
  };

  struct World {
    explicit World(const std::string& path)
        : users({.path = path, .wall_clock = [] { return 1000s; }, .log = [](bool, const std::string&) {}}) {
      users.reload();
      service.logins.use(users);
    }

    service::UsersInForce users;
    store::EmbeddedStore embedded{std::size_t{1} << 20, WhenFull::deny, {1, 2}};
    service::Service service{{.clock = [] { return std::chrono::nanoseconds{1000s}; },
                              .wall_clock = [] { return std::chrono::nanoseconds{1000s}; }},
                             embedded.table()};
    Turns turns;
    HttpLoop room{service, embedded, nullptr,
                  [this](std::function<void()> call) { turns.post(std::move(call)); }};
    net::Peer peer{1, "test"};
  };

  // All that is answered to it, when it comes in these two parts.
  static std::string answers(World& world, const std::string& bytes, std::size_t cut, int* waits = nullptr) {
    Conversation conversation(world.service, world.room, world.peer, [] {});
    std::string input = bytes.substr(0, cut);
    std::string out;
    for (int part = 0; part < 2; ++part) {
      do {
        input.erase(0, conversation.feed(input, out, {1000s, 1000s}));
        if (conversation.waiting()) {
          if (waits != nullptr) ++*waits;
          world.turns.run_next();
        }
      } while (conversation.busy());
      if (part == 0) input += bytes.substr(cut);
    }
    return out;
  }
  static std::string post(const std::string& secret, const std::string& path = "/v1/check") {
    const std::string body = path == "/v1/reset" ? R"({"key":"a"})" : R"({"key":"a","limit":"9/s"})";
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nAuthorization: Basic " + secret +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::vector<std::string> statuses(const std::string& out) {
    std::vector<std::string> found;
    for (std::size_t at = 0; (at = out.find("HTTP/1.1 ", at)) != std::string::npos; at += 9)
      found.push_back(out.substr(at + 9, 3));
    return found;
  }

  const std::string path_;
};

TEST_F(DoorkeeperTest, a_pipeline_is_answered_the_same_wherever_its_password_waits) {
  const std::string chunked =
      "POST /v1/check HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YW5uOnB3\r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "19\r\n{\"key\":\"a\",\"limit\":\"9/s\"}\r\n0\r\n\r\n";
  const std::string bytes =
      chunked + post("YW5uOnB3", "/v1/reset") + post("YW5uOnB3") + post("YW5uOnB3", "/none");
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 3) {
    World world(path_);
    int waits = 0;
    const std::string out = answers(world, bytes, cut, &waits);
    EXPECT_EQ(statuses(out), (std::vector<std::string>{"200", "200", "200", "404"})) << cut;
    EXPECT_EQ(waits, 1) << "the others show the same: " << cut;
    EXPECT_NE(out.find("\"remaining\":8"), std::string::npos);
    EXPECT_NE(out.find("{\"reset\":1}"), std::string::npos) << cut;
  }
}

TEST_F(DoorkeeperTest, a_wrong_one_is_refused_by_its_head_when_the_answer_comes) {
  World world(path_);
  Conversation conversation(world.service, world.room, world.peer, [] {});
  const std::string head =
      "POST /v1/check HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YW5uOm5v\r\nContent-Length: "
      "1000000\r\nExpect: "
      "100-continue\r\n\r\n";
  std::string out;
  EXPECT_EQ(conversation.feed(head, out, {1000s, 1000s}), 0U);
  EXPECT_TRUE(conversation.waiting());
  EXPECT_EQ(out, "") << "it is not told to send its body yet";
  world.turns.run_next();
  EXPECT_TRUE(conversation.busy());
  EXPECT_EQ(conversation.feed(head, out, {1000s, 1000s}), head.size());
  EXPECT_EQ(statuses(out), std::vector<std::string>{"401"});
  EXPECT_TRUE(conversation.late()) << "it was a guess";
  EXPECT_TRUE(conversation.closing());
  EXPECT_EQ(world.service.counters.auth_failures.load(), 1U);
}

TEST_F(DoorkeeperTest, one_that_is_gone_is_told_nothing) {
  World world(path_);
  {
    Conversation conversation(world.service, world.room, world.peer, [] { FAIL() << "it is gone"; });
    std::string out;
    conversation.feed(post("YW5uOnB3"), out, {1000s, 1000s});
    EXPECT_TRUE(conversation.waiting());
  }
  world.turns.run_next();
}

TEST_F(DoorkeeperTest, who_asks_is_told_to_the_handler_and_a_listener_has_a_most) {
  World world(path_);
  Doorkeeper door(
      world.service, world.peer, steering::Role::decide,
      [&world](std::function<void()> call) { world.turns.post(std::move(call)); }, [] {});
  const std::vector<Field> fields = {{"Authorization", "Basic YW5uOnB3"}};
  const Message message{.path = "/v1/reset", .query = {}, .fields = fields};
  Reply reply;
  EXPECT_EQ(door.judge(message, reply), Doorkeeper::Verdict::waits);
  world.turns.run_next();
  EXPECT_TRUE(door.answered());
  EXPECT_EQ(door.judge(message, reply), Doorkeeper::Verdict::in);
  EXPECT_EQ(door.who().user, "ann");
  EXPECT_EQ(door.who().role, steering::Role::decide);
  EXPECT_FALSE(door.allow(steering::Role::operate, "/v1/reset", reply));
  EXPECT_EQ(
      reply.body,
      "{\"title\":\"Forbidden\",\"status\":403,\"detail\":\"RESET needs the role operate; ann has decide "
      "here\",\"role\":\"operate\"}\n");
  EXPECT_EQ(door.judge({.path = "/", .query = {}}, reply), Doorkeeper::Verdict::refused)
      << "each request is judged";
  EXPECT_EQ(reply.status, 401);
}

}  // namespace
}  // namespace weir::http
