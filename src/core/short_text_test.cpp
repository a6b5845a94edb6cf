#include "core/short_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::inline v0_1::core {
namespace {

TEST(ShortText, is_the_same_when_every_byte_is) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string text = std::string("abcdefghijklmnopqrstuvwxyz0123456789ABCDEF").substr(0, size);
    EXPECT_TRUE(same_text(text, std::string(text))) << size;
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = text;
      other[i] = '\0';
      EXPECT_FALSE(same_text(text, other)) << size << ' ' << i;
    }
    EXPECT_FALSE(same_text(text, text + "a")) << size;
  }
}

TEST(ShortText, is_copied_whole_and_nothing_beside_it_is_touched) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string text = std::string("abcdefghijklmnopqrstuvwxyz0123456789ABCDEF").substr(0, size);
    std::string room(size + 2, '.');
    EXPECT_EQ(copy_text(text, room.data() + 1), room.data() + 1 + size);
    EXPECT_EQ(room, "." + text + ".");
  }
}

}  // namespace
}  // namespace weir::core
