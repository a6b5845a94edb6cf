// CLIENT UNBLOCK of one whose acquire is answered, while a check before it is not. End to end, of one that
// waits: tests/end_to_end/test_acquire.py.
#include <gtest/gtest.h>

#include <string>

#include "conformance/later.hpp"
#include "resp/conversation.hpp"
#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::end_wait_test {
namespace {

using namespace std::chrono_literals;

TEST(EndWait, of_an_acquire_that_has_its_answer_ends_nothing) {
  std::chrono::nanoseconds now = 1000s;
  store::EmbeddedStore embedded{1_MiB, WhenFull::deny, {1, 2}};
  store::conformance::Later later{embedded};
  waiting::House house{30};
  waiting::AcquiringStore acquiring{embedded, house, [&now] { return now; }, [] {}, [] {}};
  service::ServiceOptions options;
  options.clock = [&now] { return now; };
  service::Service service{options, embedded.table()};
  resp::RespLoop loop{service, later, &acquiring};
  int resumed = 0;
  resp::Conversation conversation{service, loop, {7, "127.0.0.1"}, [&resumed] { ++resumed; }};

  const std::string asked = "CL.THROTTLE k 0 1 1\r\nWEIR.ACQUIRE MAXWAIT 1000 j 1/s\r\n";
  std::string out;
  EXPECT_EQ(conversation.feed(asked, out, {now, now}), asked.size());
  EXPECT_EQ(out, "") << "the check has no answer yet";
  EXPECT_FALSE(conversation.end_wait(false));
  later.run();
  EXPECT_EQ(resumed, 1);
}

}  // namespace
}  // namespace weir::end_wait_test
