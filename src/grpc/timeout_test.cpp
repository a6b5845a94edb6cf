#include "grpc/timeout.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::grpc {
namespace {

using namespace std::chrono_literals;

TEST(Timeout, has_up_to_eight_digits_and_a_unit) {
  EXPECT_EQ(read_timeout("20m"), 20ms);
  EXPECT_EQ(read_timeout("1H"), 1h);
  EXPECT_EQ(read_timeout("2M"), 2min);
  EXPECT_EQ(read_timeout("3S"), 3s);
  EXPECT_EQ(read_timeout("99999999u"), 99999999us);
  EXPECT_EQ(read_timeout("0n"), 0ns);
  EXPECT_EQ(read_timeout("99999999H"), 24h * 365 * 100);  // as much as a count of nanoseconds holds
  for (const char* wrong : {"", "m", "20", "20 m", "-1m", "+1m", "1.5S", "123456789m", "20ms", "0x1S"})
    EXPECT_EQ(read_timeout(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace weir::grpc
