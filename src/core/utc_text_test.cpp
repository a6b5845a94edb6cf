#include "core/utc_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace weir::inline v0_1::core {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(UtcText, is_the_second_that_a_moment_is_in) {
  EXPECT_EQ(utc_text(1795240187 * kSecond + 999'999'999), "2026-11-21T05:49:47Z");
  EXPECT_EQ(utc_ms_text(1795240187 * kSecond + 7'999'999), "2026-11-21T05:49:47.007Z");
  EXPECT_EQ(utc_ms_text(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(utc_text(std::numeric_limits<std::int64_t>::max()), "2262-04-11T23:47:16Z");
}

}  // namespace
}  // namespace weir::core
