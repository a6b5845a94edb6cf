#include "server/log_line.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <ctime>

namespace weir::inline v0_1::server {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::system_clock::time_point kNoon{1'790'000'000'007ms};

class LogLineTest : public testing::Test {
 protected:
  LogLineTest() { zone("UTC0"); }
  ~LogLineTest() override {
    unsetenv("TZ");
    tzset();
  }
  static void zone(const char* name) {
    setenv("TZ", name, 1);
    tzset();
  }
};

TEST_F(LogLineTest, time_has_milliseconds_and_a_zone) {
  const struct {
    const char* zone;
    const char* text;
  } rows[] = {{"UTC0", "2026-09-21T14:13:20.007Z"},
              {"XXX-1", "2026-09-21T15:13:20.007+01:00"},
              {"XXX3:30", "2026-09-21T10:43:20.007-03:30"},
              {"XXX-12:45", "2026-09-22T02:58:20.007+12:45"}};
  for (const auto& row : rows) {
    zone(row.zone);
    EXPECT_EQ(log_time(kNoon), row.text);
  }
}

TEST_F(LogLineTest, text) {
  EXPECT_EQ(text_line({kNoon, LogLevel::warning, "store: \x1b[31m\nready"}, false),
            "[2026-09-21T14:13:20.007Z] [warning] store: \\x1b[31m\\x0aready\n");
  EXPECT_EQ(text_line({kNoon, LogLevel::error, "x"}, true),
            "[2026-09-21T14:13:20.007Z] [\x1b[31;1merror\x1b[0m] x\n");
}

TEST_F(LogLineTest, json_is_valid_whatever_the_message) {
  EXPECT_EQ(json_line({kNoon, LogLevel::info, "stopped"}),
            R"({"time":"2026-09-21T14:13:20.007Z","level":"info","message":"stopped"})"
            "\n");
  const std::array<LogField, 2> fields = {{{"client", "10.0.0.7\""}, {"times", std::uint64_t{12}}}};
  EXPECT_EQ(json_line({kNoon, LogLevel::error, "a \"b\" \\ \xff\n", fields}),
            R"({"time":"2026-09-21T14:13:20.007Z","level":"error","message":"a \"b\" \\ \\xff\\x0a",)"
            R"("client":"10.0.0.7\"","times":12})"
            "\n");
}

}  // namespace
}  // namespace weir::server
