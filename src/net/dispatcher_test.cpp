#include "net/dispatcher.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "net/session.hpp"

namespace weir::inline v0_1::net {
namespace {

class Silent final : public Conversation {
 public:
  std::size_t feed(std::string_view input, std::string&, Arrival) override { return input.size(); }
  bool waiting() const override { return false; }
  bool busy() const override { return false; }
  bool closing() const override { return false; }
  bool trusted() const override { return true; }
  std::size_t kept() const override { return 0; }
  void describe(net::ClientInfo&) const override {}
};

// The far end of a connection that the dispatcher takes.
class FarEnd {
 public:
  FarEnd(Dispatcher& dispatcher, const Protocol& protocol, const std::string& address) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    mine_ = ends[0];
    dispatcher.take({ends[1], address}, protocol);
  }
  FarEnd(const FarEnd&) = delete;
  FarEnd& operator=(const FarEnd&) = delete;
  ~FarEnd() { ::close(mine_); }

  std::string reads() {
    std::array<char, 64> buffer{};
    const ssize_t n = ::recv(mine_, buffer.data(), buffer.size(), 0);
    if (n == 0) return "the end";
    return n < 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(n));
  }

 private:
  int mine_;
};

TEST(Dispatcher, deals_connections_to_the_loops_in_turn_up_to_the_most) {
  const auto clock = [] { return std::chrono::nanoseconds{0}; };
  LoopCounters counters;
  core::Notices notices(clock);
  std::vector<std::string> told;
  notices.sink = [&](const core::Notices::Report& notice) { told.emplace_back(notice.client); };
  Loop first(0, clock, std::chrono::seconds{30}, counters, notices);
  Loop second(1, clock, std::chrono::seconds{30}, counters, notices);
  const auto run = [&] {
    for (Loop* loop : {&first, &second}) {
      loop->context.restart();
      loop->context.poll();
    }
  };
  std::vector<std::string> begun;
  const Protocol protocol{
      .converse =
          [&](Loop& loop, const Peer& peer, const std::function<void()>&) {
            begun.push_back(std::to_string(loop.number) + " " + std::to_string(peer.id) + " " + peer.address);
            return std::make_unique<Silent>();
          },
      .too_many = "too many\n"};
  Dispatcher dispatcher({&first, &second}, 3, counters);
  FarEnd a(dispatcher, protocol, "10.0.0.1");
  FarEnd b(dispatcher, protocol, "10.0.0.2");
  FarEnd c(dispatcher, protocol, "10.0.0.3");
  EXPECT_EQ(counters.now, 3U) << "counted before they begin";
  FarEnd d(dispatcher, protocol, "10.0.0.4");
  run();
  EXPECT_EQ(begun, (std::vector<std::string>{"0 1 10.0.0.1", "0 3 10.0.0.3", "1 2 10.0.0.2"}));
  EXPECT_EQ(a.reads(), "");
  EXPECT_EQ(d.reads(), "too many\n");
  EXPECT_EQ(d.reads(), "the end");
  EXPECT_EQ(counters.received, 4U);
  EXPECT_EQ(counters.rejected, 1U);
  EXPECT_EQ(told, std::vector<std::string>{"10.0.0.4"});

  // One has gone, so there is room for another.
  (*second.sessions.begin())->close();
  run();
  EXPECT_EQ(b.reads(), "the end");
  EXPECT_EQ(counters.now, 2U);
  FarEnd e(dispatcher, protocol, "10.0.0.5");
  run();
  EXPECT_EQ(begun.back(), "0 5 10.0.0.5");
  EXPECT_EQ(counters.now, 3U);
  EXPECT_EQ(counters.rejected, 1U);

  first.close_sessions();
  second.close_sessions();
  EXPECT_EQ(counters.now, 0U);
}

}  // namespace
}  // namespace weir::net
