#include "net/listener.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::inline v0_1::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    folder_ = mkdtemp((std::filesystem::temp_directory_path() / "weir-XXXXXX").string().data());
  }
  ~ListenerTest() override {
    for (const Accepted& each : accepted_) close(each.descriptor);
    std::filesystem::remove_all(folder_);
  }

  void start(Listener& listener) {
    listener.start([this](Accepted each) { accepted_.push_back(std::move(each)); },
                   [](const std::string& why) { FAIL() << why; });
  }

  void run() {
    context_.restart();
    context_.poll();
  }

  template <class Call>
  static std::string error_of(Call&& call) {
    try {
      call();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  std::string folder_;
  asio::io_context context_;
  std::vector<Accepted> accepted_;
};

TEST_F(ListenerTest, knows_which_connections_came_by_it) {
  const auto any = listen_tcp(context_, "resp", resolve("resp", "0.0.0.0", 0));
  const auto one = listen_tcp(context_, "resp", resolve("resp", "127.0.0.1", 0));
  const auto other = listen_tcp(context_, "resp", resolve("resp", "127.0.0.1", 0));
  const auto file = listen_unix(context_, "unix-socket", folder_ + "/a");
  const auto another_file = listen_unix(context_, "unix-socket", folder_ + "/b");
  const std::vector<Listener*> all = {any.get(), one.get(), other.get(), file.get(), another_file.get()};
  for (Listener* const each : all) start(*each);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string where = all[i]->address();
    tcp::socket by_tcp(context_);
    Local::socket by_file(context_);
    if (i < 3) {
      const auto port = static_cast<std::uint16_t>(std::stoi(where.substr(where.rfind(':') + 1)));
      by_tcp.connect({asio::ip::make_address("127.0.0.1"), port});
    } else {
      by_file.connect(Local::endpoint(where));
    }
    run();
    ASSERT_EQ(accepted_.size(), i + 1);
    for (std::size_t j = 0; j < all.size(); ++j)
      EXPECT_EQ(came_by(accepted_[i].descriptor, all[j]->descriptor()), i == j) << where << ", " << j;
  }
}

TEST_F(ListenerTest, tcp) {
  const auto listener = listen_tcp(context_, "resp", resolve("resp", "127.0.0.1", 0));
  ASSERT_EQ(listener->address().substr(0, 10), "127.0.0.1:");
  const auto port = static_cast<std::uint16_t>(std::stoi(listener->address().substr(10)));
  EXPECT_NE(port, 0);
  start(*listener);
  tcp::socket first(context_);
  tcp::socket second(context_);
  first.connect({asio::ip::make_address("127.0.0.1"), port});
  second.connect({asio::ip::make_address("127.0.0.1"), port});
  run();
  ASSERT_EQ(accepted_.size(), 2U);
  EXPECT_EQ(accepted_[0].address, "127.0.0.1");
  EXPECT_NE(fcntl(accepted_[0].descriptor, F_GETFL) & O_NONBLOCK, 0);

  EXPECT_EQ(error_of([&] { listen_tcp(context_, "resp", resolve("resp", "127.0.0.1", port)); }),
            "resp: cannot listen on " + listener->address() + ": Address already in use");

  listener->stop();
  run();
  tcp::socket late(context_);
  boost::system::error_code refused;
  late.connect({asio::ip::make_address("127.0.0.1"), port}, refused);
  EXPECT_EQ(refused, asio::error::connection_refused);
}

TEST_F(ListenerTest, ipv6_addresses_are_in_brackets) {
  EXPECT_EQ(to_text(resolve("resp", "::1", 6390)), "[::1]:6390");
}

TEST_F(ListenerTest, unix_socket) {
  const std::string path = folder_ + "/socket";
  {
    const auto listener = listen_unix(context_, "unix-socket", path);
    EXPECT_EQ(listener->address(), path);
    struct stat found{};
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0660U);
    start(*listener);
    Local::socket client(context_);
    client.connect(Local::endpoint(path));
    run();
    ASSERT_EQ(accepted_.size(), 1U);
    EXPECT_EQ(accepted_[0].address, "unix");
    EXPECT_EQ(error_of([&] { listen_unix(context_, "unix-socket", path); }),
              "unix-socket: '" + path + "' is in use by another program");
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, a_socket_file_that_nobody_answers_is_replaced) {
  const std::string path = folder_ + "/socket";
  {
    Local::acceptor left(context_, Local::endpoint(path));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(listen_unix(context_, "unix-socket", path)->address(), path);
}

TEST_F(ListenerTest, another_program_that_has_taken_the_path_keeps_its_socket) {
  const std::string path = folder_ + "/socket";
  auto ours = listen_unix(context_, "unix-socket", path);
  start(*ours);
  std::filesystem::remove(path);
  const auto theirs = listen_unix(context_, "unix-socket", path);
  ours->stop();
  EXPECT_TRUE(std::filesystem::exists(path));
  ours.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  theirs->stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, what_is_not_ours_stays) {
  const std::string path = folder_ + "/file";
  std::ofstream(path) << "precious";
  EXPECT_EQ(error_of([&] { listen_unix(context_, "unix-socket", path); }),
            "unix-socket: '" + path + "' exists and is not a socket");
  EXPECT_TRUE(std::filesystem::exists(path));

  const std::string nowhere = folder_ + "/no/socket";
  EXPECT_EQ(error_of([&] { listen_unix(context_, "unix-socket", nowhere); }),
            "unix-socket: cannot listen on '" + nowhere + "': No such file or directory");

  const std::string long_path = "/" + std::string(107, 'x');
  EXPECT_EQ(error_of([&] { listen_unix(context_, "unix-socket", long_path); }),
            "unix-socket: '" + long_path + "' is longer than the 107 bytes that a socket's path may have");
}

}  // namespace
}  // namespace weir::net
