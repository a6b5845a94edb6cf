#include "http/query.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weir::inline v0_1::http {
namespace {

constexpr std::array<std::string_view, 2> kKnown = {"limit", "count"};

TEST(Query, is_decoded) {
  Faults faults;
  const Query query("limit=a%20b+c%2f&count=7&", kKnown, faults);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(*query.find("limit"), "a b c/");
  EXPECT_EQ(query.number("count", 10, 1, 100, faults), 7);
  EXPECT_EQ(Query("", kKnown, faults).number("count", 10, 1, 100, faults), 10);
  EXPECT_TRUE(faults.empty());
}

TEST(Query, says_what_is_wrong) {
  const auto fault = [](std::string_view text) {
    Faults faults;
    (void)Query(text, kKnown, faults).number("count", 10, 1, 100, faults);
    return faults.empty() ? "" : faults.told().front().detail;
  };
  EXPECT_EQ(fault("limits=a"), "query 'limits': unknown; known: limit, count");
  EXPECT_EQ(fault("limit=a&limit=b"), "query 'limit': given twice");
  EXPECT_EQ(fault("limit=%4"), "query 'limit=%4': a percent sign needs two hexadecimal digits after it");
  EXPECT_EQ(fault("count=101"), "query 'count': '101' is not an integer from 1 to 100");
  EXPECT_EQ(fault("count"), "query 'count': '' is not an integer from 1 to 100");
  EXPECT_EQ(fault("count=-1"), "query 'count': '-1' is not an integer from 1 to 100");
}

TEST(Query, a_credential_in_it_is_found_however_it_is_spelled) {
  for (const char* each :
       {"token=x", "a=b&access_token=x", "password", "PASSWORD=x", "%74oken=x", "a&token=%zz"})
    EXPECT_TRUE(has_credential(each)) << each;
  for (const char* each : {"", "tokens=x", "a=token", "a=b&c=password=1", "%zztoken=x", "&&="})
    EXPECT_FALSE(has_credential(each)) << each;
}

}  // namespace
}  // namespace weir::http
