#include "server/event_sinks.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace weir::inline v0_1::server {
namespace {

using boost::asio::ip::tcp;
using What = steering::OperatorEvent::What;

class EventSinksTest : public ::testing::Test {
 protected:
  EventSinksTest() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-events-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~EventSinksTest() override { std::filesystem::remove_all(folder_); }

  static EventSinks::Options to(std::vector<std::string> places) {
    return {
        .places = std::move(places), .server = "a", .wall_clock = [] { return std::chrono::nanoseconds{0}; }};
  }
  static std::string read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static std::string fault(const std::string& place) {
    try {
      const EventSinks sinks(to({place}));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

constexpr const char* kBanned =
    "{\"time\":\"1970-01-01T00:00:00.000Z\",\"event\":\"banned\",\"server\":\"a\",\"limit\":\"user\","
    "\"key\":\"user=42\"}\n";
const steering::OperatorEvent kEvent{.what = What::banned, .limit = "user", .key = "user=42"};

TEST_F(EventSinksTest, a_file_is_appended_to_and_opened_again) {
  const auto path = folder_ / "events";
  std::ofstream(path) << "before\n";
  {
    EventSinks sinks(to({path.string()}));
    sinks.tell(kEvent);
    while (read(path).size() < 10) usleep(1000);
    std::filesystem::rename(path, folder_ / "old");
    sinks.reopen();
    sinks.tell(kEvent);
  }
  EXPECT_EQ(read(folder_ / "old"), std::string("before\n") + kBanned);
  EXPECT_EQ(read(path), kBanned);
}

TEST_F(EventSinksTest, of_a_socket_of_datagrams_each_line_is_one) {
  const std::string path = folder_ / "log";
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  {
    EventSinks sinks(to({"unix:" + path}));
    sinks.tell(kEvent);
    sinks.tell(kEvent);
  }
  for (int i = 0; i < 2; ++i) {
    std::string got(1000, '\0');
    got.resize(static_cast<std::size_t>(recv(socket, got.data(), got.size(), 0)));
    EXPECT_EQ(got + "\n", kBanned);
  }
  close(socket);
}

TEST_F(EventSinksTest, http_is_posted_to_and_again_after_an_error) {
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  EventSinks sinks(to({"http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/x?a=b"}));
  sinks.tell(kEvent);
  const auto answer = [&acceptor](const std::string& answers) {
    tcp::socket peer = acceptor.accept();
    boost::asio::streambuf head;
    boost::asio::read_until(peer, head, "}\n");
    boost::asio::write(peer, boost::asio::buffer(answers + "\r\nContent-Length: 0\r\n\r\n"));
    return std::string{std::istreambuf_iterator<char>(&head), {}};
  };
  for (const char* const answers : {"HTTP/1.1 500 No", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Yes"}) {
    const std::string request = answer(answers);
    EXPECT_TRUE(request.starts_with("POST /x?a=b HTTP/1.1\r\n")) << request;
    EXPECT_NE(request.find("Content-Type: application/x-ndjson\r\n"), std::string::npos) << request;
    EXPECT_TRUE(request.ends_with(kBanned)) << request;
  }
  sinks.tell({.what = What::ban_ended, .limit = "user", .key = "user=42"});
  const std::string next = answer("HTTP/1.1 204 Yes");
  EXPECT_EQ(next.find("\"banned\""), std::string::npos) << next << ": it has been taken";
  EXPECT_NE(next.find("ban_ended"), std::string::npos) << next;
}

TEST_F(EventSinksTest, one_that_takes_nothing_holds_up_nobody) {
  boost::asio::io_context context;
  tcp::acceptor silent(context, {boost::asio::ip::address_v4::loopback(), 0});
  const auto path = folder_ / "events";
  EventSinks sinks(to({"http://127.0.0.1:" + std::to_string(silent.local_endpoint().port()),
                       "unix:" + (folder_ / "none").string(), path.string()}));
  steering::OperatorEvent event = kEvent;
  event.key = std::string(1000, 'x');
  constexpr std::size_t kEvents = 500;  // fewer than a place drops
  for (std::size_t i = 0; i < kEvents; ++i) sinks.tell(event);
  const auto written = [&path] {
    return std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0;
  };
  while (written() < kEvents * event.key.size()) usleep(1000);
}

TEST_F(EventSinksTest, what_cannot_be_a_place_is_refused) {
  EXPECT_EQ(fault("ftp://x/y"),
            "events: 'ftp://' is unknown: a file, unix:PATH, http://... or https://... was expected");
  EXPECT_EQ(fault("http://"), "events: http://: this is not http://HOST[:PORT]/PATH");
  EXPECT_EQ(fault("http://a:b/"), "events: http://a:b: this is not http://HOST[:PORT]/PATH");
  EXPECT_EQ(fault("http://a\r\nB: c/"), "events: http://a\r\nB: c: this is not http://HOST[:PORT]/PATH");
  EXPECT_EQ(fault("https://me:secret@a/"), "events: https://a: a user and a password in a URL are not taken");
  EXPECT_EQ(
      fault("http://a/b c"),
      "events: http://a: its path has a character that has to be written as a percent sign and two digits");
  EXPECT_EQ(fault("unix:"), "events: the path of 'unix:' has to have 1 to 107 bytes");
  EXPECT_EQ(fault(""), "events: a file, unix:PATH, http://... or https://... was expected");
}

}  // namespace
}  // namespace weir::server
