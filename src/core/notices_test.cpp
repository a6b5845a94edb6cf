#include "core/notices.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;

struct World {
  std::chrono::nanoseconds now = 1s;
  Notices notices{[this] { return now; }};
  std::vector<std::string> lines;

  World() {
    notices.sink = [this](const Notices::Report& told) {
      lines.push_back(std::to_string(static_cast<int>(told.notice)) + " x" + std::to_string(told.times) +
                      " " + std::string(told.client) + " " + std::string(told.detail));
    };
  }
};

TEST(Notices, each_is_told_at_once_and_then_at_intervals_with_its_number) {
  World world;
  world.notices.tell(Notice::cannot_accept, "", "Too many open files");
  world.notices.tell(Notice::wrong_password, "10.0.0.7");
  for (int i = 0; i < 90; ++i) {
    world.now += 100ms;
    world.notices.tell(Notice::wrong_password, "10.0.0.8");
  }
  world.now += 1s;
  world.notices.tell(Notice::wrong_password, "10.0.0.9");
  EXPECT_EQ(world.lines,
            (std::vector<std::string>{"0 x1  Too many open files", "4 x1 10.0.0.7 ", "4 x91 10.0.0.9 "}));
}

TEST(Notices, what_stays_so_is_told_once) {
  World world;
  for (int i = 0; i < 1'000; ++i) {
    world.now += 1s;
    world.notices.tell_once(Notice::gate_untrusted_proxy, "127.0.0.1", "a");
    world.notices.tell_once(Notice::gate_untrusted_proxy, "127.0.0.1", "b" + std::to_string(i));
  }
  EXPECT_EQ(world.lines.size(), 64U);
  EXPECT_EQ(world.lines.front(), "11 x1 127.0.0.1 a");
}

TEST(Notices, the_last_ones_are_told_of_too) {
  World world;
  world.notices.tell(Notice::table_full, "", "", 7);
  world.notices.tell(Notice::table_full, "", "", 30);
  world.notices.tell_rest();
  EXPECT_EQ(world.lines, (std::vector<std::string>{"8 x7  "}));
  world.now += 10s;
  world.notices.tell_rest();
  world.notices.tell_rest();
  EXPECT_EQ(world.lines, (std::vector<std::string>{"8 x7  ", "8 x30  "}));
}

}  // namespace
}  // namespace weir::core
