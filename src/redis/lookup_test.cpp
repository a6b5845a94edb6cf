// A getaddrinfo() of this program's own stands before the C library's: for never.test it does not return
// until a test lets it, for two.test it knows two addresses.
#include "redis/lookup.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <condition_variable>
#include <string_view>
#include <thread>

#include "redis/hosts_test.hpp"
#include "redis/shared_store.hpp"
#include "redis/streams.hpp"
#include "store/clock.hpp"
#include "weir/redis.hpp"

namespace {

struct Dns {
  std::mutex mutex;
  std::condition_variable changed;
  bool answers = false;
  int asked = 0;
  int waiting = 0;

  int never() {
    std::unique_lock lock(mutex);
    ++asked;
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [this] { return answers; });
    --waiting;
    changed.notify_all();
    return EAI_AGAIN;
  }
  void await_one() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return waiting > 0; });
  }
  // Lets all return; and waits until they have.
  void release() {
    std::unique_lock lock(mutex);
    answers = true;
    changed.notify_all();
    changed.wait(lock, [this] { return waiting == 0; });
    answers = false;
  }
};

Dns& dns() {
  static auto* const the = new Dns;  // threads may outlive main()
  return *the;
}

}  // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view name = node == nullptr ? "" : node;
  if (name == "never.test") return dns().never();
  if (name != "two.test") return real(node, service, hints, found);
  const int error = real("127.0.0.1", service, hints, found);
  return error != 0 ? error : real("127.0.0.2", service, hints, &(*found)->ai_next);
}

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;

struct Asked {
  explicit Asked(boost::asio::io_context& context, const std::string& host)
      : lookup(Lookup::start(context, host, 6379,
                             [this](const error_code& error, const Lookup::Endpoints& found) {
                               ++times;
                               failed = static_cast<bool>(error);
                               for (const tcp::endpoint& each : found)
                                 text += each.address().to_string() + " ";
                             })) {}
  std::shared_ptr<Lookup> lookup;
  int times = 0;
  bool failed = false;
  std::string text;
};

TEST(Lookup, finds_all_addresses_of_a_name) {
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  const Asked two(context, "two.test");
  context.run_one();
  EXPECT_EQ(two.text, "127.0.0.1 127.0.0.2 ");
  const Asked nobody(context, "nobody.invalid");
  context.run_one();
  EXPECT_TRUE(nobody.failed);
  EXPECT_EQ(nobody.text, "");
}

TEST(Lookup, all_that_ask_meanwhile_share_one_and_those_that_cancelled_hear_nothing) {
  const int before = dns().asked;
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  const Asked one(context, "never.test"), two(context, "never.test"), three(context, "never.test");
  two.lookup->cancel();
  dns().await_one();
  dns().release();
  context.run_one();
  context.run_one();
  EXPECT_EQ(context.poll(), 0u);
  EXPECT_EQ(one.times + three.times, 2);
  EXPECT_EQ(two.times, 0);
  EXPECT_TRUE(one.failed && three.failed);
  EXPECT_EQ(dns().asked, before + 1);
}

// A join would never return here: DNS answers only afterwards.
TEST(Lookup, nobody_waits_for_a_name_that_dns_does_not_answer) {
  for (int i = 0; i < 2; ++i) {
    boost::asio::io_context context;
    store::EmbeddedStore local{store::Table::kLeastBytes};
    ProcessMemory memory;
    const core::ClockFunction clock = [] { return store::steady_now(); };
    SharedStore store(Endpoint::parse("redis://never.test").value(), {}, local, memory, clock);
    Sockets sockets(*net::asio_timers(context), store.client(), streams(context, nullptr), clock,
                    Sockets::no_turns(context));
    sockets.start();
    dns().await_one();
    context.run_for(i * 600ms);  // until it has given up and tried again
  }
  {
    RedisStore store("redis://never.test", {.deadline = 10ms});
    SharedLimiter limiter(Quota::per_hour(5), store);
    EXPECT_EQ(limiter.check("k").source, Source::fallback);
  }
  EXPECT_EQ(dns().waiting, 1);  // one thread, however often it has been tried
  dns().release();
}

// The first of two addresses drops packets: the store decides all the same, by the other.
TEST(Lookup, a_name_whose_first_address_drops_packets) {
  boost::asio::io_context context;
  const Host drops(context, Host::Manner::drops);
  const std::uint16_t port = drops.endpoint().port();
  tcp::acceptor accepts(context, {boost::asio::ip::make_address("127.0.0.2"), port});
  bool accepted = false;
  accepts.async_accept([&](error_code error, tcp::socket) { accepted = !error; });
  const RedisStore store("redis://two.test:" + std::to_string(port));
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!accepted && std::chrono::steady_clock::now() < end) context.run_one_for(100ms);
  EXPECT_TRUE(accepted);
}

}  // namespace
}  // namespace weir::redis
