// What is asked in the toy protocol of line_protocol.hpp is answered as RESP answers it, embedded and late,
// by the same counters.
#include "asking/line_protocol.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "limits/read.hpp"
#include "resp/conversation.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;

struct Talk {
  std::string say(net::Conversation& to, const std::string& bytes) {
    std::string out;
    EXPECT_EQ(to.feed(bytes, out, {now, now}), bytes.size());
    return out;
  }
  std::string line(const std::string& text) { return say(lines, text + "\n"); }

  std::chrono::nanoseconds now = 1000s;
  store::EmbeddedStore embedded{1_MiB, WhenFull::deny, {1, 2}};
  service::Service service{{.clock = [this] { return now; }, .wall_clock = [] { return 1'700'000'000s; }},
                           embedded.table()};
  service::Asker asker{service, embedded};
  line_protocol::Conversation lines{asker, 1, [] {}};
  resp::RespLoop shared{service, embedded};
  resp::Conversation resp{service, shared, {7, "127.0.0.1"}, [] {}};
};

TEST(LineProtocol, asks_all_that_RESP_asks) {
  Talk talk;
  EXPECT_EQ(talk.line("check 1/s a"), "yes 0\n");
  EXPECT_EQ(talk.line("check 1/s a"), "no a 1000\n");
  EXPECT_EQ(talk.say(talk.resp, "WEIR.THROTTLE a 1/s\r\n"),
            "*6\r\n:1\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n$1\r\na\r\n");
  EXPECT_EQ(talk.line("look 1/s b"), "yes 1\n");
  const std::string reserved = talk.line("reserve 5000 1/s a");
  ASSERT_TRUE(reserved.starts_with("yes 0 in 1000 as ")) << reserved;
  const std::string id = reserved.substr(17, reserved.size() - 18);
  EXPECT_EQ(talk.say(talk.resp, "WEIR.CANCEL " + id + "\r\n"), ":1\r\n");
  EXPECT_EQ(talk.line("cancel " + id), "0\n");
  EXPECT_EQ(talk.line("settle " + id + " 3"), "never\n");
  EXPECT_EQ(talk.line("forget a b"), "1\n");
  EXPECT_EQ(talk.line("check 1/s a"), "yes 0\n");
}

TEST(LineProtocol, is_refused_in_a_sentence) {
  Talk talk;
  EXPECT_EQ(talk.line("check user=42"), "error there is no limits file: start weir with --limits FILE\n");
  EXPECT_TRUE(talk.line("check 1/x a").starts_with("error quota '1/x': the period is not a time"));
  EXPECT_EQ(talk.line("dance a b"), "error the form is VERB ...\n");
}

TEST(LineProtocol, decisions_of_all_protocols_are_counted_alike) {
  Talk talk;
  talk.line("check 1/s a");
  talk.line("check 1/s a");
  talk.line("look 1/s a");
  talk.say(talk.resp, "WEIR.THROTTLE a 1/s\r\n");
  service::DecisionCounts::Total lines;
  talk.asker.counts().add_to(lines);
  EXPECT_EQ(lines.inline_limits.decisions[0][0], 1U);
  EXPECT_EQ(lines.inline_limits.decisions[1][0], 1U);
  EXPECT_EQ(talk.service.counters.denied.load(), 2U);
}

}  // namespace
}  // namespace weir
