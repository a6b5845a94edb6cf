#include "grpc/connection.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "grpc/client_test.hpp"

namespace weir::inline v0_1::grpc {
namespace {

using namespace std::chrono_literals;

// Says what it is told, backwards; /later when it is told to, /many as often as it is asked.
class Mirror final : public Services {
 public:
  int find(std::string_view path) const override {
    return path == "/say" ? 0 : path == "/later" ? 1 : path == "/many" ? 2 : -1;
  }
  void run(GrpcCall& call) override {
    ++runs;
    if (call.method == 0) return say(call);
    if (call.method == 1) call.asked = true;
    waiting.push_back(&call);
    if (call.method == 2) connection->stream(call, "first");
  }
  void gone(GrpcCall& call) override {
    ++left;
    std::erase(waiting, &call);
  }
  void say(GrpcCall& call) {
    const std::string_view text = call.message();
    call.answer().append(text.rbegin(), text.rend());
    connection->reply(call);
  }

  Connection* connection = nullptr;
  std::vector<GrpcCall*> waiting;
  int runs = 0;
  int left = 0;
};

struct World {
  explicit World(std::uint32_t window = 65535) : client(window) { mirror.connection = &connection; }
  // All that both have to say.
  bool talk() {
    for (;;) {
      const std::string asked = client.bytes();
      const bool well = connection.receive(asked, now);
      std::string answered;
      while (!connection.send(answered)) {
      }
      client.take(answered);
      if (!well) return false;
      if (asked.empty() && answered.empty()) return true;
    }
  }
  const Client::Reply& ask(std::string_view path, std::string body, const Client::Fields& more = {}) {
    const std::int32_t stream = client.call(path, std::move(body), more);
    talk();
    return client.replies[stream];
  }

  std::chrono::nanoseconds now = 1000s;
  Mirror mirror;
  Connection connection{mirror};
  Client client;
};

TEST(Connection, a_call_is_answered_with_a_message_and_trailers) {
  World world;
  const Client::Reply& reply = world.ask("/say", message_of("abc"));
  EXPECT_EQ(reply.messages(), std::vector<std::string>{"cba"});
  EXPECT_EQ(reply.fields,
            (std::map<std::string, std::string>{
                {":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "0"}}));
  EXPECT_TRUE(reply.over);
  EXPECT_EQ(reply.error, 0U);
  EXPECT_TRUE(world.connection.calls().empty());
  EXPECT_FALSE(world.connection.owed());
}

TEST(Connection, a_message_may_come_in_any_parts) {
  World world;
  world.client.call("/say", message_of(std::string(40'000, 'x') + "y"));
  const std::string bytes = world.client.bytes();
  for (const char each : bytes) {
    EXPECT_TRUE(world.connection.receive({&each, 1}, world.now));
    std::string out;
    world.connection.send(out);
    world.client.take(out);
  }
  world.talk();
  EXPECT_EQ(world.client.replies[1].messages(), std::vector<std::string>{"y" + std::string(40'000, 'x')});
}

TEST(Connection, what_cannot_be_run_is_refused_by_trailers_alone) {
  struct Row {
    std::string path;
    std::string body;
    Client::Fields more;
    std::string status;
    std::string text;
  };
  std::string compressed = message_of("abc");
  compressed[0] = 1;
  for (const Row& row : std::vector<Row>{
           {"/none", message_of("a"), {}, "12", "unknown method /none"},
           {"/n%\n", message_of("a"), {}, "", ""},  // no path of HTTP has a line feed
           {"/say", "", {}, "13", "the call ends before its message does"},
           {"/say", message_of("abc").substr(0, 7), {}, "13", "the call ends before its message does"},
           {"/say", message_of("abc") + "d", {}, "13", "more than one message in a call that has one"},
           {"/say", std::string("\0\0\x40\0\x01", 5), {}, "8", "a message of 4194305 bytes; at most 4194304"},
           {"/say", compressed, {{"grpc-encoding", "gzip"}}, "12", "messages cannot be compressed"},
           {"/say", message_of("abc"), {{"grpc-timeout", "soon"}}, "13", "grpc-timeout is not a time"},
       }) {
    World world;
    const Client::Reply& reply = world.ask(row.path, row.body, row.more);
    EXPECT_EQ(reply.status(), row.status) << row.text;
    if (!row.status.empty()) {
      EXPECT_EQ(reply.fields.at("grpc-message"), row.text);
    }
    EXPECT_TRUE(reply.body.empty());
    EXPECT_TRUE(reply.over);
    EXPECT_EQ(world.mirror.runs, 0);
    EXPECT_TRUE(world.connection.calls().empty());
    EXPECT_EQ(world.ask("/say", message_of("on")).messages(), std::vector<std::string>{"no"}) << row.text;
  }
}

TEST(Connection, compressed_messages_are_refused_with_what_is_taken) {
  World world;
  std::string compressed = message_of("abc");
  compressed[0] = 1;
  EXPECT_EQ(world.ask("/say", compressed).fields.at("grpc-accept-encoding"), "identity");
  // One that says how it would compress, and does not.
  EXPECT_EQ(world.ask("/say", message_of("abc"), {{"grpc-encoding", "gzip"}}).status(), "0");
}

TEST(Connection, what_is_not_gRPC_has_a_status_of_HTTP) {
  World world;
  EXPECT_EQ(world.ask("/say", message_of("a"), {{":method", "GET"}}).fields.at(":status"), "405");
  EXPECT_EQ(world.ask("/say", message_of("a"), {{"content-type", "application/json"}}).fields.at(":status"),
            "415");
  EXPECT_EQ(world.ask("/say", message_of("a"), {{"content-type", "application/grpc+proto"}}).status(), "0");
  EXPECT_EQ(world.ask("/say", message_of("a"), {{"content-type", "application/grpcx"}}).fields.at(":status"),
            "415");
}

TEST(Connection, a_deadline_counts_from_the_headers) {
  World world;
  world.client.call("/later", message_of("a"), {{"grpc-timeout", "20m"}});
  world.client.call("/later", message_of("a"));
  world.talk();
  ASSERT_EQ(world.mirror.waiting.size(), 2U);
  EXPECT_EQ(world.mirror.waiting[0]->deadline, 1000s + 20ms);
  EXPECT_EQ(world.mirror.waiting[1]->deadline, GrpcCall::kNoDeadline);
}

TEST(Connection, what_is_answered_early_needs_no_more_of_its_client) {
  World world;
  const std::int32_t stream = world.client.call("/none", std::string(100, 'x'), {}, false);
  EXPECT_TRUE(world.talk());
  EXPECT_EQ(world.client.replies[stream].status(), "12");
  EXPECT_TRUE(world.client.replies[stream].over);
  EXPECT_EQ(world.client.replies[stream].error, 0U);
  EXPECT_FALSE(world.connection.owed());
}

TEST(Connection, a_call_whose_client_has_gone_stays_until_it_is_answered) {
  World world;
  const std::int32_t stream = world.client.call("/later", message_of("a"));
  world.talk();
  world.client.reset(stream);
  world.talk();
  ASSERT_EQ(world.connection.calls().size(), 1U);
  EXPECT_FALSE(world.mirror.waiting[0]->open);
  world.mirror.say(*world.mirror.waiting[0]);
  EXPECT_TRUE(world.connection.calls().empty());
  EXPECT_TRUE(world.talk());
}

TEST(Connection, a_stream_of_messages_is_open_until_it_ends) {
  World world;
  const std::int32_t stream = world.client.call("/many", message_of(""));
  world.talk();
  EXPECT_FALSE(world.connection.owed());
  GrpcCall& call = *world.mirror.waiting.at(0);
  world.connection.stream(call, "second");
  world.talk();
  world.connection.stream(call, "third");
  world.connection.end(call, Code::unavailable, "100 % over");
  EXPECT_TRUE(world.connection.owed());
  world.talk();
  const Client::Reply& reply = world.client.replies[stream];
  EXPECT_EQ(reply.messages(), (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_EQ(reply.status(), "14");
  EXPECT_EQ(reply.fields.at("grpc-message"), "100 %25 over");
  EXPECT_EQ(world.mirror.left, 1);
  EXPECT_TRUE(world.connection.calls().empty());
}

TEST(Connection, a_client_that_leaves_a_stream_is_told_of) {
  World world;
  const std::int32_t stream = world.client.call("/many", message_of(""));
  world.talk();
  world.client.reset(stream);
  world.talk();
  EXPECT_EQ(world.mirror.left, 1);
  EXPECT_TRUE(world.connection.calls().empty());
}

TEST(Connection, a_client_that_is_told_to_go_may_end_what_it_has_begun) {
  World world;
  world.client.call("/later", message_of("ab"));
  world.talk();
  world.connection.go_away();
  EXPECT_TRUE(world.connection.leaving());
  // On its way when the client is told.
  world.client.call("/say", message_of("cd"));
  const std::string crossing = world.client.bytes();
  std::string told;
  world.connection.send(told);
  world.connection.receive(crossing, world.now);
  world.client.take(told);
  world.talk();
  EXPECT_EQ(world.client.replies[3].messages(), std::vector<std::string>{"dc"});
  ASSERT_EQ(world.client.goaways.size(), 2U);
  EXPECT_EQ(world.client.goaways[0], (std::pair<std::int32_t, std::uint32_t>{0x7fffffff, 0}));
  EXPECT_EQ(world.client.goaways[1], (std::pair<std::int32_t, std::uint32_t>{3, 0}));
  EXPECT_FALSE(world.connection.over());
  world.mirror.say(*world.mirror.waiting.at(0));
  world.talk();
  EXPECT_EQ(world.client.replies[1].messages(), std::vector<std::string>{"ba"});
  EXPECT_TRUE(world.connection.over());
}

TEST(Connection, an_idle_client_that_says_nothing_is_left) {
  World world;
  world.talk();
  world.connection.go_away();
  std::string told;
  world.connection.send(told);
  EXPECT_FALSE(world.connection.over());
  world.connection.take_no_more();
  world.connection.send(told);
  EXPECT_TRUE(world.connection.over());
}

// Bounds.

TEST(Connection, a_client_may_have_1024_streams_and_waits_with_more) {
  World world;
  for (std::size_t i = 0; i < Connection::kMostStreams + 10; ++i)
    world.client.call("/later", message_of("a"));
  world.talk();
  EXPECT_EQ(world.mirror.waiting.size(), Connection::kMostStreams);
  for (GrpcCall* each : std::exchange(world.mirror.waiting, {})) world.mirror.say(*each);
  world.talk();
  EXPECT_EQ(world.mirror.waiting.size(), 10U);
}

TEST(Connection, answers_that_are_not_taken_are_kept_and_owed) {
  World world(0);  // its windows admit nothing
  for (int i = 0; i < 100; ++i) world.client.call("/say", message_of(std::string(1000, 'x')));
  world.talk();
  EXPECT_EQ(world.mirror.runs, 100);
  EXPECT_TRUE(world.connection.owed());
  EXPECT_GT(world.connection.kept(), 100'000U);
  for (int i = 0; i < 100; ++i) world.client.reset(2 * i + 1);
  world.talk();
  EXPECT_FALSE(world.connection.owed());
  EXPECT_LT(world.connection.kept(), 20'000U);
}

TEST(Connection, a_call_that_is_never_ended_is_owed) {
  World world;
  world.client.call("/say", message_of("abc").substr(0, 6), {}, false);
  world.talk();
  EXPECT_TRUE(world.connection.owed());
  EXPECT_EQ(world.mirror.runs, 0);
}

// CVE-2023-44487.
TEST(Connection, calls_that_are_reset_as_soon_as_they_are_asked_are_bounded) {
  World world;
  bool well = true;
  std::size_t asked = 0;
  while (well && asked < 20'000) {
    std::vector<std::int32_t> streams;
    for (int i = 0; i < 100; ++i, ++asked) streams.push_back(world.client.call("/later", message_of("a")));
    well = world.talk();
    for (const std::int32_t each : streams) world.client.reset(each);
    well = well && world.talk();
  }
  EXPECT_FALSE(well);
  EXPECT_EQ(world.connection.calls().size(), Connection::kMostCalls);
  ASSERT_FALSE(world.client.goaways.empty());
  EXPECT_EQ(world.client.goaways.back().second, static_cast<std::uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM));
  EXPECT_TRUE(world.connection.over());
  EXPECT_EQ(world.connection.wrong(), "it resets more calls than can be asked at once");
}

struct Raw {
  Raw() { take(std::string(kPreface) + frame(NGHTTP2_SETTINGS, 0, 0, "")); }
  bool take(std::string_view bytes) { return connection.receive(bytes, 1s); }

  Mirror mirror;
  Connection connection{mirror};
};

TEST(Connection, more_streams_than_may_be_are_refused) {
  Raw raw;
  // POST, http, and as literals that go into no table the host, the path and the type.
  const std::string head =
      std::string("\x83\x86\x01\x01w\x04\x06/later\x0f\x10\x10", 16) + "application/grpc";
  for (std::uint32_t i = 0; i < Connection::kMostStreams + 10; ++i)
    EXPECT_TRUE(raw.take(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * i + 1, head) +
                         frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, message_of("a"))));
  EXPECT_EQ(raw.mirror.waiting.size(), Connection::kMostStreams);
  EXPECT_EQ(raw.connection.calls().size(), Connection::kMostStreams);
}

TEST(Connection, a_flood_of_settings_or_pings_that_wants_answers_ends) {
  for (const std::string& each : {frame(NGHTTP2_SETTINGS, 0, 0, ""), frame(NGHTTP2_PING, 0, 0, "12345678")}) {
    Raw raw;
    std::string flood;
    for (int i = 0; i < 900; ++i) flood += each;
    EXPECT_TRUE(raw.take(flood));
    EXPECT_FALSE(raw.take(flood));
    EXPECT_TRUE(raw.connection.over());
    // With a client that takes them it goes on.
    Raw other;
    for (int i = 0; i < 20; ++i) {
      std::string out;
      EXPECT_TRUE(other.take(flood));
      EXPECT_TRUE(other.connection.send(out));
    }
  }
}

// CVE-2024-28182.
TEST(Connection, headers_that_never_end_are_ended) {
  Raw raw;
  bool well = raw.take(frame(NGHTTP2_HEADERS, 0, 1, ""));
  std::size_t frames = 0;
  // A literal field, never indexed, of a name and a value of one byte.
  while (well && frames < 100'000) {
    well = raw.take(frame(NGHTTP2_CONTINUATION, 0, 1, std::string("\x10\x01x\x01y", 5)));
    ++frames;
  }
  EXPECT_LE(frames, 4'000U);
  EXPECT_LT(raw.connection.kept(), 100'000U);
}

TEST(Connection, headers_beyond_their_bound_end_the_call_alone) {
  World world;
  const Client::Reply& reply = world.ask("/say", message_of("a"), {{"x-long", std::string(17'000, 'x')}});
  EXPECT_TRUE(reply.over);
  EXPECT_NE(reply.error, 0U);
  EXPECT_EQ(world.mirror.runs, 0);
  EXPECT_EQ(world.ask("/say", message_of("on")).messages(), std::vector<std::string>{"no"});
}

TEST(Connection, what_is_not_HTTP_2_is_told_from_it) {
  Mirror mirror;
  Connection connection(mirror);
  EXPECT_FALSE(connection.receive("GET / HTTP/1.1\r\n\r\n", 1s));
  EXPECT_EQ(connection.wrong(), "it does not speak HTTP/2");
  EXPECT_TRUE(connection.over());
}

TEST(Connection, last_words_are_frames) {
  Client client;
  client.bytes();
  client.take(last_words());
  ASSERT_EQ(client.goaways.size(), 1U);
  EXPECT_EQ(client.goaways[0].second, static_cast<std::uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM));
}

}  // namespace
}  // namespace weir::grpc
