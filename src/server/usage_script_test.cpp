#include "server/usage_script.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/rule.hpp"

namespace weir::inline v0_1::server {
namespace {

TEST(UsageScript, a_key_is_named_alike_everywhere_and_no_two_alike) {
  const steering::Booking one{.limit = "user", .key = "1:a"};
  EXPECT_EQ(usage_key("weir:", one), usage_key("weir:", one));
  EXPECT_TRUE(usage_key("weir:", one).ends_with("}limit#usage:4:user1:a"));
  EXPECT_NE(usage_key("weir:", one), usage_key("weir:", {.limit = "user1", .key = ":a"}));
}

TEST(UsageScript, reads_the_fields_of_the_periods_that_are_told) {
  using std::chrono::hours;
  const std::vector<steering::UsageWindow> windows = {
      steering::UsageWindow::of(*core::Rule::parse("9/h")),
      steering::UsageWindow::of(*core::Rule::parse("9/day align=calendar"))};
  const std::string hour = "u" + std::to_string(std::chrono::nanoseconds(hours{1}).count()) + ":";
  const auto ns = [](hours time) { return std::to_string(std::chrono::nanoseconds(time).count()); };
  const std::vector<std::pair<std::string, std::string>> fields = {{hour + ns(hours{480'001}), "5"},
                                                                   {hour + ns(hours{480'000}), "7"},
                                                                   {hour + ns(hours{479'999}), "99"},
                                                                   {"uday@UTC:" + ns(hours{480'000}), "12"},
                                                                   {"h480001", "5"},
                                                                   {"h480000", "7"},
                                                                   {"h479970", "99"},
                                                                   {"h479999", "-3"},
                                                                   {"H", "480001"}};
  std::vector<resp::Value> items;
  for (const auto& [name, value] : fields) {
    items.push_back({.type = resp::Value::Type::string, .text = name, .items = {}});
    items.push_back({.type = resp::Value::Type::string, .text = value, .items = {}});
  }
  const resp::Value answer{.type = resp::Value::Type::array, .text = {}, .items = items};
  const std::chrono::nanoseconds now = hours{480'001} + std::chrono::minutes{5};
  const steering::Usage usage = read_usage(answer, windows, now);
  EXPECT_EQ(usage.of(windows[0], now).used, 5U);
  EXPECT_EQ(usage.of(windows[0], now).last, 7U);
  EXPECT_EQ(usage.of(windows[1], now).used, 12U);
  EXPECT_EQ(usage.of(windows[1], now).last, 0U);
  EXPECT_EQ(usage.hours_at(now)[23], 5U);
  EXPECT_EQ(usage.hours_at(now)[22], 7U);
  EXPECT_EQ(usage.hours_at(now)[21], 0U);
}

}  // namespace
}  // namespace weir::server
