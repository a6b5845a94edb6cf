// How many questions a node may owe an answer to, by how long its answers took.
#include "redis/send_window.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Of each 64 answers, all decided 2 ms after they were asked for, one is read at once and the others when the
// process runs again. Asking for less would not make it run more often; without the node's time it looks so.
TEST(SendWindow, an_answer_that_lay_unread_is_not_a_queue) {
  for (const bool tells_time : {false, true}) {
    SendWindow window;
    window.timed(1ms);
    nanoseconds now = 1000s;
    for (int turn = 0; turn < 200; ++turn, now += 25ms) {
      for (int i = 0; i < 64; ++i) {
        const nanoseconds read = now + (i == 0 ? 3ms : 24ms);
        const nanoseconds decided = now + 2ms + 5h;  // its clock is another
        window.answered({now, read, 50ms, window.size(),
                         tells_time ? std::optional<nanoseconds>(decided) : std::nullopt});
      }
    }
    if (tells_time) {
      EXPECT_GE(window.size(), 1000U);
    } else {
      EXPECT_LE(window.size(), 50U);
    }
  }
}

// Each call takes the node 100 us, so 100 or so are answered within a quarter of 50 ms. That they are then
// read a little late hides none of it.
TEST(SendWindow, a_queue_at_the_node_is_one_however_late_its_answer_is_read) {
  SendWindow window;
  window.timed(1ms);
  nanoseconds now = 1000s;
  for (int turn = 0; turn < 200; ++turn, now += 50ms) {
    const nanoseconds decided = now + 1ms + 100us * static_cast<int>(window.size());
    for (int i = 0; i < 64; ++i)
      window.answered({now, decided + (i == 0 ? 0ms : 10ms), 50ms, window.size(), decided + 5h});
  }
  EXPECT_GE(window.size(), 60U);
  EXPECT_LE(window.size(), 160U);
}

}  // namespace
}  // namespace weir::redis
