#include "http/prefer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weir::inline v0_1::http {
namespace {

std::int64_t wait_of(const std::vector<Field>& fields) {
  Message message;
  message.fields = fields;
  const auto wait = preferred_wait(message);
  return wait ? wait->count() : -1;
}

TEST(PreferTest, the_first_wait_is_what_is_preferred) {
  struct Row {
    std::string_view value;
    std::int64_t wait;
  };
  constexpr std::array kRows{
      Row{"wait=10", 10},
      Row{"WAIT = 10", 10},
      Row{"wait=\"10\"", 10},
      Row{"respond-async, wait=10", 10},
      Row{"respond-async; wait=10", -1},  // a parameter of another
      Row{"return=minimal; foo=\"a,wait=3\", wait=10; x", 10},
      Row{"return=\"\\\", wait=3\", wait=10", 10},
      Row{"wait=0", 0},
      Row{"wait=10, wait=20", 10},
      Row{"wait=x, wait=20", -1},
      Row{"wait", -1},
      Row{"wait=", -1},
      Row{"wait=-1", -1},
      Row{"wait=+1", -1},
      Row{"wait=1.5", -1},
      Row{"wait=99999999999999999999", 1'000'000'000},
      Row{"waiting=10", -1},
      Row{",, ,wait=7", 7},
      Row{"\"wait=7", -1},
      Row{"a=\"\\", -1},
      Row{"", -1},
  };
  for (const Row& row : kRows) EXPECT_EQ(wait_of({{"Prefer", row.value}}), row.wait) << row.value;
}

TEST(PreferTest, it_may_come_in_several_fields) {
  EXPECT_EQ(wait_of({{"Prefer", "respond-async"}, {"Host", "wait=3"}, {"prefer", "wait=4"}}), 4);
  EXPECT_EQ(wait_of({}), -1);
}

}  // namespace
}  // namespace weir::http
