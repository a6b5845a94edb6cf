#include "redis/streams.hpp"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "redis/told_call_test.hpp"
#include "redis/wire_test.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1::redis {
namespace {

// Files that are right, and files that are not PEM, are in tests/faults/test_store.py, with a real Redis.
TEST(StoreTls, files_that_are_refused) {
  struct Row {
    std::string url, ca, cert, key, error;
    std::string name{};
  };
  const std::string together = "store-tls-cert and store-tls-key must be given together";
  const std::string plain = "store-tls-cert needs a store with TLS: a URL that begins with rediss";
  const std::vector<Row> rows = {
      {"redis://h", "", "", "", ""},
      {"rediss://h", "", "", "", ""},
      {"rediss://h", "", "c", "", together},
      {"rediss://h", "", "", "k", together},
      {"redis://h", "", "", "k", together},
      {"redis://h", "", "c", "k", plain},
      {"redis+unix:///s", "", "c", "k", plain},
      {"redis://h", "c", "", "", "store-tls-ca needs a store with TLS: a URL that begins with rediss"},
      {"redis://h", "", "", "", "store-tls-name needs a store with TLS: a URL that begins with rediss", "n"},
      {"redis+cluster://h", "", "c", "k", plain},
      {"redis+sentinel://h/m", "", "c", "k", plain},
      {"rediss://h", "/no/ca", "/no/cert", "/no/key", "store-tls-ca: '/no/ca': No such file or directory"},
      {"rediss://h", "/dev/null", "", "", "store-tls-ca: '/dev/null': Not a regular file"},
      {"rediss://h", "", "/no/cert", "/no/key", "store-tls-cert: '/no/cert': No such file or directory"},
      {"rediss://h", "", "/dev/null", "/no/key", "store-tls-cert: '/dev/null': Not a regular file"},
  };
  for (const Row& row : rows) {
    std::string said;
    try {
      const auto tls = tls_for(Endpoint::parse(row.url).value(), {row.ca, row.cert, row.key}, row.name);
      EXPECT_EQ(tls.has_value(), row.url.starts_with("rediss")) << row.url;
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(said, row.error) << row.url;
    said.clear();
    try {
      const RedisStore store(
          row.url, {.tls_ca = row.ca, .tls_cert = row.cert, .tls_key = row.key, .tls_name = row.name});
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(said, row.error) << "RedisStore " << row.url;
  }
}

// A loop that was busy elsewhere comes late to its sockets: neither a call nor the connection ends for it,
// also when the answers are more than are read at once.
TEST(Sockets, what_has_come_is_read_before_deadlines_are_looked_at) {
  namespace asio = boost::asio;
  using asio::ip::tcp;
  using namespace std::chrono_literals;
  asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::chrono::nanoseconds now = 1000s;
  std::vector<std::string> results;
  const std::string url = "redis://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  Client client({Endpoint::parse(url).value(), {"script"}}, {.silence = 1ms});
  Sockets sockets(
      *net::asio_timers(context), client, streams(context, nullptr), [&now] { return now; },
      Sockets::no_turns(context));
  sockets.start();
  context.poll();
  tcp::socket redis = acceptor.accept();
  redis.non_blocking(true);
  std::string wire;
  const auto read = [&] {
    context.poll();
    std::array<char, 65536> bytes{};
    boost::system::error_code error;
    wire.append(bytes.data(), redis.read_some(asio::buffer(bytes), error));
  };
  while (!client.ready()) {
    for (read(); !wire.empty();)
      asio::write(redis, asio::buffer(answer_to_greeting(take_command(wire), "sha", "")));
  }
  constexpr std::size_t kCalls = 200;
  for (std::size_t i = 0; i < kCalls; ++i) {
    auto told = std::make_unique<ToldCall>(
        [&](const Call::Result& result) { results.emplace_back(name_of(result.cause)); });
    client.call(std::move(told), 0, array({"CALL"}), now + 1ms, now);
  }
  sockets.wake(kCalls);
  while (wire.empty()) read();
  // Until the timer has run out. What is posted comes before what the timer leads to.
  asio::steady_timer(context, 5ms).wait();
  now += 5ms;
  redis.non_blocking(false);
  asio::post(context, [&redis] {
    const std::string answer = "$200\r\n" + std::string(200, 'x') + "\r\n";
    std::string answers;
    for (std::size_t i = 0; i < kCalls; ++i) answers += answer;
    asio::write(redis, asio::buffer(answers));
  });
  while (results.size() < kCalls) context.poll();
  EXPECT_EQ(results, std::vector<std::string>(kCalls, "none"));
  EXPECT_TRUE(client.ready()) << client.last_error();
}

}  // namespace
}  // namespace weir::redis
