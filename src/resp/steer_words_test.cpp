#include "resp/steer_words.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "resp/commands.hpp"

namespace weir::inline v0_1::resp {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string_view>;

constexpr SteerForm kSome{.command = "WEIR.BAN", .ends = true, .selects = true, .reasons = true};
constexpr SteerForm kRated{
    .command = "WEIR.RAISE", .ends = true, .rates = true, .selects = true, .reasons = true};
constexpr SteerForm kSwitched{.command = "WEIR.SHADOW", .ends = true, .switches = true, .reasons = true};

std::string wrong(const Words& words, const SteerForm& form = kSome) {
  service::WantedOverride wanted;
  std::string error;
  const bool right = read_steer_words(words, form, wanted, error);
  EXPECT_EQ(right, error.empty());
  return error;
}

TEST(SteerWords, may_come_in_any_order_and_case) {
  service::WantedOverride wanted;
  std::string error;
  ASSERT_TRUE(read_steer_words(Words{"rate", "1/s", "reason", "a b", "Until", "2026-12-01", "RATE", "2/min",
                                     "limit", "user", "as", "user=4=2", "ip=10.0.0.0/8"},
                               kRated, wanted, error));
  EXPECT_EQ(wanted.limit, "user");
  EXPECT_EQ(wanted.rates, (std::vector<std::string>{"1/s", "2/min"}));
  EXPECT_EQ(wanted.reason, "a b");
  EXPECT_FALSE(wanted.lasts);
  EXPECT_EQ(wanted.until, limits::Time(std::chrono::sys_days{std::chrono::year{2026} / 12 / 1}));
  EXPECT_EQ(wanted.when, (steering::Selector{{"user", "4=2"}, {"ip", "10.0.0.0/8"}}));
}

TEST(SteerWords, all_is_everybody) {
  for (const Words& words : {Words{"LIMIT", "l", "FOR", "1000", "REASON", "r", "ALL"},
                             Words{"LIMIT", "l", "FOR", "1000", "REASON", "r", "AS", "all"}}) {
    service::WantedOverride wanted;
    std::string error;
    ASSERT_TRUE(read_steer_words(words, kSome, wanted, error)) << error;
    EXPECT_TRUE(wanted.when.empty());
    EXPECT_EQ(wanted.lasts, 1s);
  }
}

TEST(SteerWords, of_a_shadow) {
  service::WantedOverride wanted;
  std::string error;
  ASSERT_TRUE(
      read_steer_words(Words{"LIMIT", "l", "off", "FOR", "1000", "REASON", "r"}, kSwitched, wanted, error));
  EXPECT_EQ(wanted.what, limits::Steer::shadow_off);
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "REASON", "r"}, kSwitched),
            "ERR missing ON or OFF; " + command_form("WEIR.SHADOW"));
  EXPECT_EQ(wrong({"LIMIT", "l", "ON", "off"}, kSwitched), "ERR ON and OFF: say one of them, once");
  EXPECT_EQ(wrong({"LIMIT", "l", "ON", "AS", "a=b"}, kSwitched),
            "ERR unknown option 'AS'; " + command_form("WEIR.SHADOW"));
}

TEST(SteerWords, say_what_is_wrong) {
  EXPECT_EQ(wrong({}), "ERR missing LIMIT; " + command_form("WEIR.BAN"));
  EXPECT_EQ(wrong({"LIMIT"}), "ERR missing the value of LIMIT");
  EXPECT_EQ(wrong({"LIMIT", "l"}), "ERR missing FOR or UNTIL; " + command_form("WEIR.BAN"));
  EXPECT_EQ(wrong({"LIMIT", "l", "limit", "m"}), "ERR limit is given twice");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000"}), "ERR missing REASON; " + command_form("WEIR.BAN"));
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "REASON", "r"}),
            "ERR missing AS and whom it concerns; " + command_form("WEIR.BAN"));
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "REASON", "r", "AS"}),
            "ERR AS: name at least one attribute=value; ALL in its place is everybody");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "REASON", "r", "AS", "user"}),
            "ERR missing '=' after 'user'");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "REASON", "r", "AS", "=1"}),
            "ERR missing a name before '=1'");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "REASON", "r", "ALL", "a=1"}),
            "ERR nothing follows ALL, which is everybody");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "999"}), "ERR FOR: '999' is not an integer from 1000 to 31622400000");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "31622400001"}),
            "ERR FOR: '31622400001' is not an integer from 1000 to 31622400000");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1h"}), "ERR FOR: '1h' is not an integer from 1000 to 31622400000");
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "UNTIL", "2027-01-01"}),
            "ERR FOR and UNTIL: say one of them");
  EXPECT_EQ(wrong({"LIMIT", "l", "UNTIL", "soon"}),
            "ERR UNTIL: 'soon' is not a date or a time of RFC 3339; write 2026-12-01, which is its midnight "
            "in UTC, "
            "or 2026-12-01T12:00:00Z");
  EXPECT_EQ(wrong({"LIMIT", "l", "RATE", "1/s"}), "ERR unknown option 'RATE'; " + command_form("WEIR.BAN"));
  EXPECT_EQ(wrong({"LIMIT", "l", "FOR", "1000", "REASON", "r", "ALL"}, kRated),
            "ERR missing RATE; " + command_form("WEIR.RAISE"));
}

TEST(SteerWords, an_error_names_the_word) {
  using service::NotSteered;
  EXPECT_EQ(error_of({NotSteered::Why::words, "has a control character", "reason"}),
            "ERR REASON: has a control character");
  EXPECT_EQ(error_of({NotSteered::Why::words, "unknown limit 'x'", "limit"}), "ERR unknown limit 'x'");
}

}  // namespace
}  // namespace weir::resp
