#include "core/severity.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;

TEST(Severity, the_order_of_decisions) {
  const auto allowed = [](std::int64_t remaining) {
    return Decision{Verdict::allowed, 10, remaining, std::nullopt, 0s};
  };
  const auto denied = [](std::chrono::nanoseconds wait, std::int64_t remaining) {
    return Decision{Verdict::denied, 10, remaining, wait, 0s};
  };
  // Each decides rather than those after it.
  const auto never = [](std::int64_t remaining) {
    return Decision{Verdict::never, 5, remaining, std::nullopt, 0s};
  };
  const std::vector<Decision> order = {never(5), denied(2s, 3), denied(1s, 0), allowed(0), allowed(9)};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) EXPECT_EQ(decides(order[i], order[j]), i < j) << i << j;
  }
  // Alike: neither, so the first of them decides.
  EXPECT_FALSE(decides(denied(1s, 0), denied(1s, 3)));
  EXPECT_FALSE(decides(denied(1s, 3), denied(1s, 0)));
  EXPECT_FALSE(decides(never(0), never(5)));
  EXPECT_FALSE(decides(never(5), never(0)));
}

}  // namespace
}  // namespace weir::core
