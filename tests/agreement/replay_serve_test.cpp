// What `weir replay` says of a log is what `weir serve` would have answered: the same requests, in the order
// that the reader of the log gives them, through CL.THROTTLE under a clock that is the log's.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/chance_test.hpp"
#include "logs/log_reader.hpp"
#include "resp/conversation.hpp"
#include "sim/replay.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::replay_serve_test {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kStart = 1'795'240'187;  // s

struct Limit {
  const char* text;
  const char* throttle;  // max_burst count period
};
// Of whole nanoseconds a unit: with others a request that comes just in time differs
// (src/sim/exact_gcra.hpp).
constexpr Limit kLimits[] = {{"5/s", "4 5 1"}, {"30/min burst 16", "15 30 60"}, {"8/3s burst 1", "0 8 3"}};

// Some hundred clients who come in rushes, some lines late: enough to be sorted, one enough to be clamped.
std::string make_log(core::Chance& random, int lines) {
  std::string log;
  std::int64_t second = kStart;
  for (int i = 0; i < lines; ++i) {
    second += random() % 10 == 0 ? static_cast<std::int64_t>(random() % 20) : 0;
    const std::int64_t late = random() % 20 == 0 ? static_cast<std::int64_t>(random() % 75) : 0;
    const std::uint64_t client = random() % 3 == 0 ? random() % 100 : random() % 4;
    log += "{\"time\":" + std::to_string(second - late) + "." + std::to_string(100 + random() % 900) +
           ",\"ip\":\"192.0.2." + std::to_string(client) +
           "\",\"units\":" + std::to_string(random() % 8 == 0 ? random() % 20 : 1) + "}\n";
  }
  return log;
}

TEST(ReplayAndServe, decide_alike) {
  core::Chance random;
  const std::string path =
      std::filesystem::temp_directory_path() / ("weir_replay_serve_" + std::to_string(getpid()));
  std::ofstream(path) << make_log(random, 20'000);

  logs::LogReaderOptions options;
  options.files = {path};
  options.wanted.set_key("ip");
  options.wanted.cost = "units";
  const std::atomic<bool> stop{false};
  logs::LogReader reader(options, stop);
  std::vector<logs::Event> events;
  reader.run(
      [&](std::span<const logs::Event> some) { events.insert(events.end(), some.begin(), some.end()); },
      [](const logs::Progress&) {});
  std::filesystem::remove(path);
  ASSERT_EQ(events.size(), 20'000);
  ASSERT_GT(reader.stats().reordered, 0);
  ASSERT_GT(reader.stats().clamped, 0);

  std::vector<core::Rule> rules;
  for (const Limit& limit : kLimits) rules.push_back(core::Rule::parse(limit.text).value());
  sim::Replay replay(rules, 0);

  nanoseconds now{0};
  store::EmbeddedStore embedded(16_MiB, WhenFull::deny, {1, 2});
  service::Service service({.clock = [&now] { return now; }}, embedded.table());
  resp::RespLoop shared(service, embedded);
  resp::Conversation conversation(service, shared, {1, "log"}, [] {});

  std::uint64_t denied = 0;
  for (const logs::Event& event : events) {
    const std::uint32_t refused = replay.take(event);
    now = nanoseconds{event.ns};
    for (std::size_t i = 0; i < rules.size(); ++i) {
      std::string out;
      const std::string request = "CL.THROTTLE " + std::to_string(i) + ":" +
                                  std::string(reader.clients().name(event.client)) + " " +
                                  kLimits[i].throttle + " " + std::to_string(event.cost) + "\r\n";
      ASSERT_EQ(conversation.feed(request, out, {now, now}), request.size());
      ASSERT_TRUE(out.starts_with("*5\r\n:")) << out;
      ASSERT_EQ(out[5] == '1', (refused >> i & 1) != 0) << request << out;
      denied += out[5] == '1' ? 1 : 0;
    }
  }
  // Neither all nor nothing: otherwise this would show little.
  EXPECT_GT(denied, events.size() / 10);
  EXPECT_LT(denied, events.size() * 3);
}

}  // namespace
}  // namespace weir::replay_serve_test
