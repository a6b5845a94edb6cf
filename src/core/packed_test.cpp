#include "core/packed.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace weir::inline v0_1::core {
namespace {

TEST(Packed, what_is_packed_comes_out) {
  Packing out;
  out.number(7);
  out.text("a\0b" + std::string(1, '\0'));
  out.number(std::numeric_limits<std::uint64_t>::max());
  out.text("");
  const std::string bytes = out.take();
  Unpacking in(bytes);
  EXPECT_EQ(in.number(), 7U);
  EXPECT_EQ(in.text(), "a\0b" + std::string(1, '\0'));
  EXPECT_EQ(in.number(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(in.is_whole());
  EXPECT_EQ(in.text(), "");
  EXPECT_TRUE(in.is_whole());
}

TEST(Packed, what_is_cut_short_is_not_good) {
  Packing out;
  out.number(1);
  out.text("text");
  const std::string bytes = out.take();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Unpacking in(std::string_view(bytes).substr(0, size));
    in.number();
    EXPECT_EQ(in.text(), "") << size;
    EXPECT_FALSE(in.good()) << size;
    EXPECT_EQ(in.number(), 0U) << size;
  }
}

TEST(Packed, no_count_is_beyond_the_bytes) {
  Packing out;
  out.number(2);
  out.number(0);
  const std::string bytes = out.take();
  Unpacking in(bytes);
  EXPECT_EQ(in.count(), 0U);
  EXPECT_FALSE(in.good());
}

}  // namespace
}  // namespace weir::core
