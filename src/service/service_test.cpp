#include "service/service.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;

struct World {
  std::chrono::nanoseconds now = 1000s;
  store::Table table{store::Table::kLeastBytes, WhenFull::deny, {1, 2}};
  Service service{{.threads = 3, .memory = 64, .max_connections = 10, .clock = [this] { return now; }},
                  table};

  Metric::Value read(std::string_view name) const {
    for (const Metric& row : service.metrics.rows()) {
      if (row.name == name) return row.read();
    }
    return std::nullopt;
  }
  std::uint64_t number(std::string_view name) const { return std::get<std::uint64_t>(read(name).value()); }
};

TEST(Service, metrics_say_what_was_counted) {
  World world;
  world.service.counters.count(&Counters::denied, 5);
  world.service.counters.count(&Counters::commands);
  EXPECT_EQ(world.number("denied"), 5U);
  EXPECT_EQ(world.number("total_commands_processed"), 1U);
  EXPECT_EQ(world.number("auth_failures"), 0U);
  EXPECT_EQ(world.number("threads"), 3U);
  EXPECT_EQ(world.number("maxmemory"), 64U);
  EXPECT_EQ(world.number("maxclients"), 10U);
  EXPECT_EQ(world.number("capacity"), world.table.capacity());
}

TEST(Service, uptime_and_live_keys_go_by_the_clock_that_is_handed_in) {
  World world;
  EXPECT_EQ(world.number("uptime_in_seconds"), 0U);
  world.table.check(world.table.locate("a"), Quota::per_second(1), {}, world.now);
  EXPECT_EQ(world.number("live_keys"), 1U);
  world.now += 61s;
  EXPECT_EQ(world.number("uptime_in_seconds"), 61U);
  EXPECT_EQ(world.number("live_keys"), 0U);
}

TEST(Service, every_metric_has_a_name_of_its_own_and_says_what_it_means) {
  World world;
  std::set<std::string> names;
  for (const Metric& row : world.service.metrics.rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_NE(row.help.back(), '.') << row.name;
    const Metric::Value value = row.read();
    ASSERT_TRUE(value) << row.name;
    EXPECT_EQ(std::holds_alternative<std::string>(*value), row.type == Metric::Type::text) << row.name;
  }
}

}  // namespace
}  // namespace weir::service
