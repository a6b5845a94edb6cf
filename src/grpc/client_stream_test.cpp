#include "grpc/client_stream.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grpc/client_test.hpp"

namespace weir::inline v0_1::grpc {
namespace {

using namespace std::string_literals;

// A field that is in no table of HPACK's.
std::string header(std::string_view name, std::string_view value) {
  const auto text = [](std::string_view of) { return static_cast<char>(of.size()) + std::string(of); };
  return "\0"s + text(name) + text(value);
}
constexpr std::uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoaway = 7;
constexpr std::uint8_t kEnds = 1, kAck = 1, kEndHeaders = 4;

std::string settings() { return frame(kSettings, 0, 0, ""); }
std::string head() { return frame(kHeaders, kEndHeaders, 1, header(":status", "200")); }
std::string data_frame(std::string_view bytes) { return frame(kData, 0, 1, bytes); }
std::string trailers(std::string_view fields) { return frame(kHeaders, kEndHeaders | kEnds, 1, fields); }

struct Server {
  explicit Server(std::size_t most = 1000)
      : stream(
            {.path = "/say", .authority = "weir:1", .headers = {{"x-key", "secret"}}, .most_message = most},
            [this](std::string_view message) { messages.emplace_back(message); }) {}
  std::string sent() {
    std::string out;
    stream.send(out);
    return out;
  }
  // Why it is over after these bytes; empty: it goes on.
  std::string after(const std::string& bytes) {
    const bool goes_on = stream.receive(bytes);
    EXPECT_EQ(goes_on, stream.why().empty());
    return stream.why();
  }

  std::vector<std::string> messages;
  ClientStream stream;
};

TEST(ClientStream, speaks_http_2_and_sends_messages_one_after_the_other) {
  Server server;
  server.stream.write("first");
  const std::string begin = server.sent();
  EXPECT_TRUE(begin.starts_with(kPreface));
  EXPECT_TRUE(begin.ends_with(data_frame(message_of("first")))) << "and it does not end";
  EXPECT_EQ(server.after(settings()), "");
  EXPECT_EQ(server.sent(), frame(kSettings, kAck, 0, ""));
  server.stream.write("second");
  server.stream.write("third");
  EXPECT_EQ(server.sent(), data_frame(message_of("second") + message_of("third")));
  EXPECT_EQ(server.sent(), "");
}

TEST(ClientStream, has_greeted_with_its_settings) {
  Server server;
  EXPECT_FALSE(server.stream.greeted());
  EXPECT_EQ(server.after(settings().substr(0, 5)), "");
  EXPECT_FALSE(server.stream.greeted());
  EXPECT_EQ(server.after(settings().substr(5)), "");
  EXPECT_TRUE(server.stream.greeted());
}

TEST(ClientStream, takes_messages_however_they_are_cut) {
  const std::string all = settings() + head() + data_frame(message_of("one").substr(0, 3)) +
                          data_frame(message_of("one").substr(3) + message_of("") + message_of("two"));
  for (std::size_t size = 1; size < 12; ++size) {
    Server server;
    server.sent();
    for (std::size_t at = 0; at < all.size(); at += size) EXPECT_EQ(server.after(all.substr(at, size)), "");
    EXPECT_EQ(server.messages, (std::vector<std::string>{"one", "", "two"})) << size;
  }
}

TEST(ClientStream, ends_when_the_server_says_so_and_tells_why) {
  const auto why = [](const std::string& bytes) {
    Server server;
    server.sent();
    const std::string said = server.after(settings() + bytes);
    EXPECT_FALSE(server.stream.receive(settings())) << "nothing more";
    return said;
  };
  EXPECT_EQ(why(head() + trailers(header("grpc-status", "14") + header("grpc-message", "bye"))),
            "it ended the stream: grpc-status 14, bye");
  EXPECT_EQ(why(trailers(header(":status", "200") + header("grpc-status", "12"))),
            "it ended the stream: grpc-status 12");
  EXPECT_EQ(why(trailers(header(":status", "404"))), "it answered HTTP 404");
  EXPECT_EQ(why(head() + frame(kData, kEnds, 1, "")), "it ended the stream without a grpc-status");
  EXPECT_EQ(why(head() + frame(kReset, 0, 1, "\0\0\0\2"s)), "it reset the stream: INTERNAL_ERROR");
  EXPECT_EQ(why(head() + data_frame("\1\0\0\0\0"s)), "it sent a compressed message");
  EXPECT_EQ(why(head() + data_frame("\0\0\0\3\xE9"s)), "it sent a message of 1001 bytes; at most 1000");
  EXPECT_EQ(why(frame(kGoaway, 0, 0, "\0\0\0\0\0\0\0\13"s)), "it reset the stream: REFUSED_STREAM");
  Server server;
  server.sent();
  EXPECT_TRUE(server.after("HTTP/1.1 400 Bad Request\r\n\r\n").starts_with("it does not speak HTTP/2"))
      << server.stream.why();
}

TEST(ClientStream, goes_on_after_a_goaway_that_lets_the_stream_end) {
  Server server;
  server.sent();
  EXPECT_EQ(server.after(settings() + head() + frame(kGoaway, 0, 0, "\x7F\xFF\xFF\xFF\0\0\0\0"s)), "");
  EXPECT_EQ(server.after(data_frame(message_of("late"))), "");
  EXPECT_EQ(server.messages, std::vector<std::string>{"late"});
}

TEST(ClientStream, knows_whether_a_ping_was_answered) {
  Server server;
  server.sent();
  EXPECT_EQ(server.after(settings()), "");
  server.sent();
  EXPECT_FALSE(server.stream.owes_pong());
  server.stream.ping();
  EXPECT_EQ(server.sent(), frame(kPing, 0, 0, std::string(8, '\0')));
  EXPECT_TRUE(server.stream.owes_pong());
  EXPECT_EQ(server.after(frame(kPing, kAck, 0, std::string(8, '\0'))), "");
  EXPECT_FALSE(server.stream.owes_pong());
}

TEST(ClientStream, takes_messages_beyond_its_first_window) {
  Server server(std::size_t{4} << 20);
  server.sent();
  EXPECT_EQ(server.after(settings() + head()), "");
  const std::string message(std::size_t{4} << 20, 'x');
  const std::string all = message_of(message);
  for (std::size_t at = 0; at < all.size(); at += 16'384) {
    ASSERT_EQ(server.after(data_frame(std::string_view(all).substr(at, 16'384))), "");
    server.sent();  // more window
  }
  EXPECT_EQ(server.messages, std::vector<std::string>{message});
}

}  // namespace
}  // namespace weir::grpc
