#include "net/announced_hello.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::inline v0_1::net {
namespace {

using namespace std::string_literals;

std::size_t announced(const std::string& stream, std::size_t piece) {
  AnnouncedHello hello;
  for (std::size_t i = 0; i < stream.size(); i += piece) hello.feed(stream.substr(i, piece));
  return hello.bytes();
}

TEST(AnnouncedHello, is_known_from_the_fourth_byte_of_the_message_however_it_is_cut) {
  struct Row {
    std::string stream;
    std::size_t bytes;
  };
  for (const Row& row : {
           Row{"", 0},
           Row{"\x16\x03\x01\x40\x00\x01\x01\xf0"s, 0},
           Row{"\x16\x03\x01\x40\x00\x01\x01\xf0\x00"s, 0x1f000},
           Row{"\x16\x03\x01\x40\x00\x01\x01\xf0\x00\xff\xff"s, 0x1f000},
           Row{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"s, 508},
           // Its header in records of one byte, one of which is empty.
           Row{"\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x00\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x01\xf0"
               "\x16\x03\x01\x00\x01\x05"s,
               0x1f005},
       }) {
    for (const std::size_t piece : {1U, 2U, 3U, 5U, 7U, 100U})
      EXPECT_EQ(announced(row.stream, piece), row.bytes);
  }
}

}  // namespace
}  // namespace weir::net
