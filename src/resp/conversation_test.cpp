// The conversation without a socket, over the embedded store and over one that answers late. What real
// clients make of it is tested in tests/clients.
#include "resp/conversation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/guesses.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::resp {
namespace {

using namespace std::chrono_literals;

struct Talk {
  explicit Talk(service::ServiceOptions options = {}, core::ClockFunction clock = nullptr)
      : service(with_clock(std::move(options), std::move(clock)), embedded.table()) {}
  service::ServiceOptions with_clock(service::ServiceOptions options, core::ClockFunction clock) {
    options.clock = clock ? std::move(clock) : [this] { return now; };
    options.wall_clock = [] { return 1'700'000'000'123'456'789ns; };
    return options;
  }
  std::string say(const std::string& bytes) {
    std::string out;
    rest += bytes;
    rest.erase(0, conversation.feed(rest, out, {now, now}));
    return out;
  }

  std::chrono::nanoseconds now = 1000s;
  store::EmbeddedStore embedded{1_MiB, WhenFull::deny, {1, 2}};
  service::Service service;
  RespLoop loop{service, embedded};
  Conversation conversation{service, loop, {7, "127.0.0.1"}, [] { FAIL() << "nothing is awaited"; }};
  std::string rest;
};

const std::string kFirst = "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n";

TEST(Conversation, answers_in_order_whatever_is_mixed) {
  Talk talk;
  EXPECT_EQ(
      talk.say(
          "PING\r\nCL.THROTTLE a 15 30 60\r\ncl.throttle b 15 30 60\r\nECHO x\r\nRL.Throttle c 15 30 60\r\n"
          "CL.THROTTLE d 15\r\nGCRA e 15 30 60\r\nNONE\r\nCL.THROTTLE a 15 30 60\r\n"),
      "+PONG\r\n" + kFirst + kFirst + "$1\r\nx\r\n" + kFirst +
          "-ERR wrong number of arguments for 'cl.throttle' command\r\n" + kFirst +
          "-ERR unknown command 'NONE'\r\n*5\r\n:0\r\n:16\r\n:14\r\n:-1\r\n:4\r\n");
}

TEST(Conversation, the_same_however_the_bytes_are_cut) {
  const std::string stream =
      "*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\na\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\nPING\r\n"
      "MULTI\r\nCL.THROTTLE a 15 30 60\r\nPING\r\nEXEC\r\nDEL a a\r\n";
  const std::string whole = Talk().say(stream);
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    Talk talk;
    std::string answer = talk.say(stream.substr(0, cut));
    answer += talk.say(stream.substr(cut));
    EXPECT_EQ(answer, whole) << cut;
  }
}

TEST(Conversation, a_long_pipeline_keeps_its_order) {
  Talk talk;
  std::string stream;
  for (int i = 0; i < 10'000; ++i) stream += "ECHO " + std::to_string(i) + "\r\nCL.THROTTLE k 15 30 60\r\n";
  std::string all;
  for (std::size_t at = 0; at < stream.size();) {
    std::string out;
    at += talk.conversation.feed(std::string_view(stream).substr(at), out, {talk.now, talk.now});
    EXPECT_LT(out.size(), Conversation::kOutputCap + 4096);
    all += out;
  }
  std::size_t at = 0;
  for (int i = 0; i < 10'000; ++i) {
    at = all.find("\r\n" + std::to_string(i) + "\r\n*5\r\n:" + (i < 16 ? "0" : "1"), at == 0 ? 0 : at - 2);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(Conversation, a_quoted_key_is_asked_before_the_parser_forgets_it) {
  const std::string allowed = "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n";
  EXPECT_EQ(Talk().say("CL.THROTTLE \"one\" 0 1 60\r\nCL.THROTTLE \"two\" 0 1 60\r\n"), allowed + allowed);
}

TEST(Throttles, several_limits_are_charged_all_or_none) {
  Talk talk;
  const auto six = [](const std::string& numbers, const std::string& by) {
    return "*6\r\n" + numbers + "$" + std::to_string(by.size()) + "\r\n" + by + "\r\n";
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"WEIR.THROTTLE a 10/s", six(":0\r\n:10\r\n:9\r\n:-1\r\n:100\r\n", "a")},
      {"weir.throttle cost 2 a 10/s b '3/s burst 4'", six(":0\r\n:4\r\n:2\r\n:-1\r\n:667\r\n", "b")},
      {"WEIR.THROTTLE COST 3 a 10/s b '3/s burst 4'", six(":1\r\n:4\r\n:2\r\n:334\r\n:667\r\n", "b")},
      {"WEIR.THROTTLE COST 0 a 10/s", six(":0\r\n:10\r\n:7\r\n:-1\r\n:300\r\n", "a")},
      {"WEIR.THROTTLE COST 5 a 10/s b '3/s burst 4'", six(":1\r\n:4\r\n:2\r\n:-1\r\n:667\r\n", "b")},
      {"CL.THROTTLE a 9 10 1", "*5\r\n:0\r\n:10\r\n:6\r\n:-1\r\n:1\r\n"},
      {"WEIR.THROTTLE f '100/min algorithm=fixed_window' c '5/s algorithm=sliding_window_counter'",
       six(":0\r\n:5\r\n:4\r\n:-1\r\n:877\r\n", "c")},
      {"WEIR.THROTTLE KEYS cost 5/s keys 6/s", six(":0\r\n:5\r\n:4\r\n:-1\r\n:200\r\n", "cost")},
      {"WEIR.THROTTLE COST 1 KEYS keys 6/s", six(":0\r\n:6\r\n:4\r\n:-1\r\n:334\r\n", "keys")},
      {"DEL a b", ":2\r\n"},
  };
  for (const auto& [command, answer] : rows) EXPECT_EQ(talk.say(command + "\r\n"), answer) << command;
  EXPECT_EQ(talk.service.counters.denied.load(), 2U);
}

TEST(Throttles, as_much_as_there_is_is_taken) {
  Talk talk;
  const auto seven = [](const std::string& numbers, const std::string& by, int granted) {
    return "*7\r\n" + numbers + "$" + std::to_string(by.size()) + "\r\n" + by +
           "\r\n:" + std::to_string(granted) + "\r\n";
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"WEIR.THROTTLE COST 50 ATLEAST 1 a 10/s b '3/s burst 4'",
       seven(":0\r\n:4\r\n:0\r\n:-1\r\n:1334\r\n", "b", 4)},
      {"weir.throttle cost 50 atleast 7 KEYS a 10/s", seven(":1\r\n:10\r\n:6\r\n:100\r\n:400\r\n", "a", 0)},
      {"WEIR.THROTTLE COST 50 ATLEAST 11 a 10/s", seven(":1\r\n:10\r\n:6\r\n:-1\r\n:400\r\n", "a", 0)},
      {"WEIR.THROTTLE COST 2 ATLEAST 2 a 10/s", seven(":0\r\n:10\r\n:4\r\n:-1\r\n:600\r\n", "a", 2)},
      {"WEIR.THROTTLE COST 1 KEYS atleast 5/s", "*6\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:200\r\n$7\r\natleast\r\n"},
  };
  for (const auto& [command, answer] : rows) EXPECT_EQ(talk.say(command + "\r\n"), answer) << command;
  EXPECT_EQ(talk.service.counters.denied.load(), 2U);
}

std::string array_of(const std::vector<std::string>& texts) {
  std::string all = "*" + std::to_string(texts.size()) + "\r\n";
  for (const std::string& each : texts) all += "$" + std::to_string(each.size()) + "\r\n" + each + "\r\n";
  return all;
}

TEST(Fields, are_one_more_value_at_the_end) {
  Talk talk;
  const std::string nine =
      array_of({"RateLimit-Policy", "\"limit\";q=10;w=1", "RateLimit", "\"limit\";r=9;t=1"});
  const std::string none_left = array_of(
      {"RateLimit-Policy", "\"limit\";q=4;w=2", "RateLimit", "\"limit\";r=0;t=1", "Retry-After", "1"});
  const std::string decided = ":0\r\n:10\r\n:9\r\n:-1\r\n:100\r\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"WEIR.THROTTLE FIELDS a 10/s", "*7\r\n" + decided + "$1\r\na\r\n" + nine},
      {"weir.throttle cost 1 fields KEYS fields 10/s", "*7\r\n" + decided + "$6\r\nfields\r\n" + nine},
      {"WEIR.THROTTLE KEYS fields 10/s b '3/s burst 4'",
       "*6\r\n:0\r\n:4\r\n:3\r\n:-1\r\n:334\r\n$1\r\nb\r\n"},
      {"WEIR.THROTTLE COST 9 ATLEAST 1 FIELDS c 10/s",
       "*8\r\n:0\r\n:10\r\n:1\r\n:-1\r\n:900\r\n$1\r\nc\r\n:9\r\n" +
           array_of({"RateLimit-Policy", "\"limit\";q=10;w=1", "RateLimit", "\"limit\";r=1;t=1"})},
      {"WEIR.THROTTLE COST 3 ATLEAST 3 FIELDS d '3/s burst 2'",
       "*8\r\n:1\r\n:2\r\n:2\r\n:-1\r\n:0\r\n$1\r\nd\r\n:0\r\n" +
           array_of({"RateLimit-Policy", "\"limit\";q=2;w=1", "RateLimit", "\"limit\";r=2;t=1"})},
      {"WEIR.RESERVE FIELDS MAXWAIT 0 e 10/s",
       "*8\r\n:0\r\n:10\r\n:9\r\n:0\r\n:100\r\n$-1\r\n$1\r\ne\r\n" + nine},
      {"WEIR.RESERVE COST 4 MAXWAIT 0 f '3/s burst 4'",
       "*7\r\n:0\r\n:4\r\n:0\r\n:0\r\n:1334\r\n$-1\r\n$1\r\nf\r\n"},
      {"WEIR.RESERVE MAXWAIT 0 FIELDS KEYS f '3/s burst 4'",
       "*8\r\n:1\r\n:4\r\n:0\r\n:334\r\n:1334\r\n$-1\r\n$1\r\nf\r\n" + none_left},
      {"WEIR.THROTTLE FIELDS f '3/s burst 4'",
       "*7\r\n:1\r\n:4\r\n:0\r\n:334\r\n:1334\r\n$1\r\nf\r\n" + none_left},
      {"WEIR.RESERVE FIELDS FIELDS a 1/s", "-ERR FIELDS is given twice\r\n"},
  };
  for (const auto& [command, answer] : rows) EXPECT_EQ(talk.say(command + "\r\n"), answer) << command;
  EXPECT_EQ(talk.say("MULTI\r\nWEIR.THROTTLE FIELDS m 10/s\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n*1\r\n*7\r\n" + decided + "$1\r\nm\r\n" + nine);
}

TEST(Fields, in_the_form_of_the_option_headers) {
  const std::string decided = "*7\r\n:0\r\n:10\r\n:9\r\n:-1\r\n:100\r\n$1\r\na\r\n";
  Talk none({.headers = "off"});
  EXPECT_EQ(none.say("WEIR.THROTTLE FIELDS a 10/s\r\n"), decided + "*0\r\n");
  Talk x({.headers = "x-ratelimit"});
  EXPECT_EQ(x.say("WEIR.THROTTLE FIELDS a 10/s\r\n"),
            decided + array_of({"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset",
                                "1"}));
}

TEST(Throttles, a_mistake_is_named_and_nothing_is_charged) {
  Talk talk;
  const std::string form =
      "; the form is WEIR.THROTTLE [COST n [ATLEAST m]] [FIELDS] [KEYS] key rule [key rule ...]";
  std::string seventeen;
  for (int i = 0; i < 17; ++i) seventeen += " k" + std::to_string(i) + " 1/s";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a", "wrong number of arguments for 'weir.throttle' command"},
      {"a 1/s b", "missing the rule of key 'b'" + form},
      {"COST 1", "missing a key and its rule" + form},
      {"COST x a 1/s", "COST: 'x' is not an integer from 0 to 9223372036854775807"},
      {"ATLEAST 1 a 1/s", "ATLEAST needs a COST, which is the most"},
      {"COST 3 ATLEAST 0 a 1/s", "ATLEAST: '0' is not an integer from 1 to 3"},
      {"COST 3 ATLEAST 4 a 1/s", "ATLEAST: '4' is not an integer from 1 to 3"},
      {"COST 3 ATLEAST x a 1/s", "ATLEAST: 'x' is not an integer from 1 to 3"},
      {"COST 0 ATLEAST 1 a 1/s", "ATLEAST: a COST of 0 takes nothing"},
      {"COST -1 a 1/s", "COST: '-1' is not an integer from 0 to 9223372036854775807"},
      {"a 1/s a 2/s", "key 'a' is given twice; one call charges each key once"},
      {"a 1/s b 1/x",
       "quota '1/x': the period is not a time such as s, 10s, 250ms, min, h or 1.5d; the form is "
       "COUNT/PERIOD "
       "[burst N], as in 100/min or 5/10s burst 20"},
      {"a '1/s size 3'",
       "limit '1/s size 3': unexpected 'size'; the form is COUNT/PERIOD [burst N] [algorithm=NAME] "
       "[align=clock], as in 10/s burst 50 or 1000/h algorithm=fixed_window"},
      {"a " + std::string(129, '1'), "limit '" + std::string(32, '1') + "...': longer than 128 bytes"},
      {seventeen, "17 keys; one call may have at most 16"},
      {"a '1/s algorithm=sliding_window_log'",
       "sliding_window_log cannot be counted by the table of this process"},
  };
  for (const auto& [words, error] : rows) {
    EXPECT_EQ(talk.say("WEIR.THROTTLE " + words + "\r\nPING\r\n"), "-ERR " + error + "\r\n+PONG\r\n");
  }
  EXPECT_EQ(talk.service.live_keys(), 0U);
}

TEST(Throttles, in_a_pipeline_and_in_multi) {
  Talk talk;
  std::string asked = "MULTI\r\n";
  std::string answer;
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    asked += "WEIR.THROTTLE \"k" + n + "\" 1/s l" + n + " 2/s\r\n";
    answer +=
        "*6\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1000\r\n$" + std::to_string(n.size() + 1) + "\r\nk" + n + "\r\n";
  }
  std::string queued;
  for (int i = 0; i < 200; ++i) queued += "+QUEUED\r\n";
  EXPECT_EQ(talk.say(asked + "EXEC\r\n"), "+OK\r\n" + queued + "*200\r\n" + answer);
  EXPECT_EQ(talk.service.live_keys(), 400U);
}

TEST(Conversation, multi_queues_and_exec_runs) {
  Talk talk;
  EXPECT_EQ(talk.say("MULTI\r\nCL.THROTTLE a 15 30 60\r\nPING\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n" + kFirst + "+PONG\r\n");
  EXPECT_EQ(
      talk.say("MULTI\r\nNONE\r\nPING\r\nEXEC\r\n"),
      "+OK\r\n-ERR unknown command 'NONE'\r\n+QUEUED\r\n-EXECABORT Transaction discarded because of previous "
      "errors.\r\n");
  EXPECT_EQ(
      talk.say("MULTI\r\nCL.THROTTLE a x 30 60\r\nEXEC\r\n"),
      "+OK\r\n+QUEUED\r\n*1\r\n-ERR max_burst: 'x' is not an integer from 0 to 9223372036854775806\r\n");
  EXPECT_EQ(
      talk.say("MULTI\r\nMULTI\r\nDISCARD\r\nDISCARD\r\nEXEC\r\n"),
      "+OK\r\n-ERR MULTI calls can not be nested\r\n+OK\r\n-ERR DISCARD without MULTI\r\n-ERR EXEC without "
      "MULTI\r\n");
}

TEST(Conversation, exec_announces_as_many_replies_as_it_sends) {
  const std::string refused = "-ERR Command not allowed inside a transaction\r\n";
  const std::string aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
  for (const std::string command :
       {"CLIENT REPLY SKIP", "client reply off", "CLIENT REPLY ON", "SHUTDOWN", "shutdown nosave"}) {
    Talk talk;
    EXPECT_EQ(talk.say("MULTI\r\nPING\r\n" + command + "\r\nPING\r\nEXEC\r\nECHO a\r\n"),
              "+OK\r\n+QUEUED\r\n" + refused + "+QUEUED\r\n" + aborted + "$1\r\na\r\n")
        << command;
    EXPECT_FALSE(talk.conversation.closing());
  }
  Talk talk;
  EXPECT_EQ(talk.say("MULTI\r\nCLIENT ID\r\nPING\r\nCLIENT REPLY\r\nDISCARD\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n" + refused + "+OK\r\n");
  EXPECT_EQ(
      talk.say("MULTI\r\nPING\r\nCLIENT ID\r\nCLIENT\r\nDISCARD\r\nCLIENT REPLY SKIP\r\nMULTI\r\nPING\r\n"
               "EXEC\r\nCLIENT REPLY SKIP\r\nEXEC\r\nECHO a\r\n"),
      "+OK\r\n+QUEUED\r\n+QUEUED\r\n-ERR wrong number of arguments for 'client' command\r\n+OK\r\n"
      "+QUEUED\r\n*1\r\n+PONG\r\n$1\r\na\r\n");
}

TEST(Conversation, a_multi_is_bounded_by_its_bytes_on_the_wire) {
  const std::string throttle =
      "*5\r\n$11\r\nCL.THROTTLE\r\n$10\r\nuser:12345\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n";
  const std::size_t most = kMostCommandBytes / throttle.size();
  Talk talk;
  EXPECT_EQ(talk.say("MULTI\r\n"), "+OK\r\n");
  for (std::size_t i = 0; i < most; ++i) ASSERT_EQ(talk.say(throttle), "+QUEUED\r\n") << i;
  EXPECT_EQ(talk.say(throttle), "-ERR too much queued in one MULTI\r\n");
  EXPECT_EQ(talk.say("EXEC\r\n"), "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

TEST(Conversation, quoted_words_in_a_transaction_are_each_their_own) {
  const std::string allowed = "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n";
  EXPECT_EQ(
      Talk().say(
          "MULTI\r\nCL.THROTTLE \"one\" 0 1 60\r\nCL.THROTTLE \"two\" 0 1 60\r\nECHO 'a b'\r\nEXEC\r\n"),
      "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n" + allowed + allowed + "$3\r\na b\r\n");
}

TEST(Conversation, replies_can_be_turned_off) {
  Talk talk;
  EXPECT_EQ(talk.say("CLIENT REPLY OFF\r\nPING\r\nCL.THROTTLE a 15 30 60\r\nCLIENT REPLY ON\r\n"), "+OK\r\n");
  EXPECT_EQ(talk.say("CLIENT REPLY SKIP\r\nPING\r\nPING\r\n"), "+PONG\r\n");
  EXPECT_EQ(talk.say("CLIENT REPLY SKIP\r\nCL.THROTTLE a 15 30 60\r\nCL.THROTTLE a 15 30 60\r\n"),
            "*5\r\n:0\r\n:16\r\n:13\r\n:-1\r\n:6\r\n");
}

TEST(Conversation, a_malformed_frame_gets_one_error_and_the_end) {
  Talk talk;
  EXPECT_EQ(talk.say("PING\r\n*abc\r\nPING\r\n"),
            "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n");
  EXPECT_TRUE(talk.conversation.closing());
}

TEST(Conversation, what_an_error_repeats_of_its_command_controls_no_terminal) {
  Talk talk;
  EXPECT_EQ(talk.say("*1\r\n$12\r\n\x1b[31m\x7f\t\r\n\x9b\xc3\xa9\r\n"),
            "-ERR unknown command '\\x1b[31m\\x7f\\x09  \\x9b\xc3\xa9'\r\n");
  EXPECT_EQ(talk.say("*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$2\r\n\x1b[\r\n$1\r\n1\r\n$1\r\n1\r\n"),
            "-ERR max_burst: '\\x1b[' is not an integer from 0 to 9223372036854775806\r\n");
}

TEST(Conversation, http_at_the_wrong_port_runs_nothing) {
  for (const std::string first : {"POST / HTTP/1.1\r\n", "host: localhost\r\n"}) {
    Talk talk;
    EXPECT_EQ(talk.say(first + "PING\r\n"), "");
    EXPECT_TRUE(talk.conversation.closing());
  }
}

service::ServiceOptions guarded() { return {.user = "app", .password = "secret"}; }

TEST(Conversation, nothing_without_the_password) {
  Talk talk(guarded());
  EXPECT_EQ(talk.say("PING\r\nCL.THROTTLE a 15 30 60\r\nHELLO 3\r\n"),
            "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n-NOAUTH HELLO must be "
            "called with "
            "the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be "
            "used to "
            "authenticate the client and select the RESP protocol version at the same time\r\n");
  for (const std::string guess : {"AUTH secret", "AUTH app wrong", "AUTH app secre"}) {
    EXPECT_EQ(talk.say(guess + "\r\n"), "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  }
  EXPECT_EQ(talk.say("AUTH app secret\r\nPING\r\n"), "+OK\r\n+PONG\r\n");
}

TEST(Conversation, a_wrong_password_is_answered_late_and_nothing_runs_before_that) {
  const std::string wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
  for (const std::string guess : {"AUTH app guess\r\n", "AUTH guess\r\n", "HELLO 3 AUTH app guess\r\n"}) {
    Talk talk(guarded());
    std::vector<std::string> told;
    talk.service.notices.sink = [&](const core::Notices::Report& each) { told.emplace_back(each.client); };
    EXPECT_EQ(talk.say(guess + "AUTH app secret\r\nPING\r\n"), wrong) << guess;
    EXPECT_TRUE(talk.conversation.late());
    EXPECT_TRUE(talk.conversation.busy()) << "the rest is run after it";
    EXPECT_EQ(talk.say(""), "+OK\r\n+PONG\r\n");
    EXPECT_FALSE(talk.conversation.late());
    EXPECT_FALSE(talk.conversation.busy());
    EXPECT_EQ(talk.service.counters.auth_failures.load(), 1U);
    EXPECT_EQ(told, std::vector<std::string>{"127.0.0.1"});
  }
}

TEST(Conversation, wrong_guesses_never_keep_out_the_right_password) {
  Talk talk(guarded());
  // One less than an address may make in a second.
  for (unsigned i = 0; i + 1 < service::Guesses::kASecond; ++i) talk.say("AUTH app guess\r\n");
  EXPECT_EQ(talk.say("AUTH app secret\r\n"), "+OK\r\n");
  EXPECT_FALSE(talk.conversation.late());
}

TEST(Conversation, before_the_password_few_bytes_are_taken) {
  Talk talk(guarded());
  EXPECT_EQ(talk.say("*11\r\n"), "-ERR Protocol error: unauthenticated multibulk length\r\n");
  Talk other(guarded());
  EXPECT_EQ(other.say("*2\r\n$4\r\nAUTH\r\n$16385\r\n"),
            "-ERR Protocol error: unauthenticated bulk length\r\n");
}

TEST(Conversation, hello_chooses_the_protocol) {
  Talk talk;
  EXPECT_EQ(talk.say("HELLO 3\r\n").substr(0, 5), "%11\r\n");
  EXPECT_EQ(talk.say("HELLO 2\r\n").substr(0, 5), "*22\r\n");
  EXPECT_EQ(talk.say("HELLO 4\r\n"), "-NOPROTO unsupported protocol version\r\n");
  EXPECT_EQ(talk.say("HELLO x\r\n"), "-ERR Protocol version is not an integer or out of range\r\n");
  EXPECT_EQ(talk.say("HELLO 3 FOO\r\n"), "-ERR Syntax error in HELLO option 'foo'\r\n");
  EXPECT_EQ(talk.say("HELLO 3 SETNAME me\r\nCLIENT GETNAME\r\n").substr(0, 5), "%11\r\n");
  EXPECT_EQ(talk.say("RESET\r\nCLIENT GETNAME\r\n"), "+RESET\r\n$-1\r\n");
}

TEST(Conversation, a_changed_quota_keeps_the_debt_in_units) {
  Talk talk;
  EXPECT_EQ(talk.say("CL.THROTTLE k 9 10 86400 10\r\n"), "*5\r\n:0\r\n:10\r\n:0\r\n:-1\r\n:86400\r\n");
  // A look changes nothing: the debt still drains as it was charged.
  EXPECT_EQ(talk.say("CL.THROTTLE k 999 1000 1 0\r\n"), "*5\r\n:0\r\n:1000\r\n:990\r\n:-1\r\n:86400\r\n");
  EXPECT_EQ(talk.say("CL.THROTTLE k 999 1000 1\r\n"), "*5\r\n:0\r\n:1000\r\n:989\r\n:-1\r\n:1\r\n");
  EXPECT_EQ(talk.say("CL.THROTTLE j 9 10 10 10\r\n"), "*5\r\n:0\r\n:10\r\n:0\r\n:-1\r\n:10\r\n");
  EXPECT_EQ(talk.say("CL.THROTTLE j 4 5 5\r\n"), "*5\r\n:1\r\n:5\r\n:0\r\n:6\r\n:10\r\n");
}

TEST(Conversation, reset_and_del_forget) {
  Talk talk;
  EXPECT_EQ(
      talk.say("CL.THROTTLE a 0 1 60\r\nWEIR.RESET a\r\nWEIR.RESET a\r\nCL.THROTTLE a 0 1 60\r\nDEL a "
               "b\r\nDBSIZE\r\n"),
      "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n:1\r\n:0\r\n*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n:1\r\n:0\r\n");
}

TEST(Conversation, time_is_the_wall_clocks) {
  EXPECT_EQ(Talk().say("TIME\r\n"), "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n");
}

TEST(Conversation, info_is_made_of_the_metrics) {
  Talk talk({.threads = 3, .memory = 64, .max_connections = 10});
  EXPECT_EQ(talk.say("INFO memory\r\n").substr(6, 25), "# Memory\r\nused_memory:104");
  EXPECT_EQ(talk.say("INFO store\r\n"), "$0\r\n\r\n");
  EXPECT_EQ(talk.say("INFO keyspace\r\n"), "$43\r\n# Keyspace\r\nlive_keys:0\r\ncapacity:49152\r\n\r\n\r\n");
  talk.say("CL.THROTTLE a 15 30 60\r\n");
  EXPECT_EQ(
      talk.say("INFO Keyspace\r\n"),
      "$75\r\n# Keyspace\r\nlive_keys:1\r\ncapacity:49152\r\ndb0:keys=1,expires=1,avg_ttl=0\r\n\r\n\r\n");
  talk.service.metrics.text(service::Section::store, "store", "Where it is",
                            [] { return "redis://somewhere"; });
  talk.service.metrics.text(service::Section::store, "store_error", "What is wrong",
                            [] { return std::nullopt; });
  EXPECT_EQ(talk.say("INFO store\r\n"), "$36\r\n# Store\r\nstore:redis://somewhere\r\n\r\n\r\n");
}

TEST(Conversation, the_count_of_the_denied_is_right) {
  Talk talk;
  talk.say(
      "CL.THROTTLE a 0 1 60\r\nCL.THROTTLE a 0 1 60\r\nCL.THROTTLE a 0 1 60 2\r\nCL.THROTTLE a 0 1 60 0\r\n");
  EXPECT_EQ(talk.service.counters.denied.load(), 2U);
  EXPECT_EQ(talk.service.counters.commands.load(), 4U);
}

TEST(Conversation, a_script_is_answered_with_what_to_send_instead) {
  Talk talk;
  const std::string answer =
      "-ERR weir runs no scripts; a rate limiter that sends one needs Redis itself. Send CL.THROTTLE key "
      "max_burst count period instead: CL.THROTTLE user:42 15 30 60 allows 30 requests a minute and up to 16 "
      "at "
      "once\r\n";
  EXPECT_EQ(talk.say("EVAL x 0\r\nevalsha\r\nEVAL_RO x\r\nEVALSHA_RO x\r\nSCRIPT LOAD x\r\n"),
            answer + answer + answer + answer + answer);
  EXPECT_EQ(talk.say("MULTI\r\nEVAL x 0\r\nEXEC\r\n"),
            "+OK\r\n" + answer + "-EXECABORT Transaction discarded because of previous errors.\r\n");
  EXPECT_EQ(talk.say("COMMAND INFO EVAL\r\nFCALL x 0\r\n"), "*1\r\n*-1\r\n-ERR unknown command 'FCALL'\r\n");
}

// A store that answers when the test says so, what the embedded one would.
class LateStore final : public store::Store {
 public:
  explicit LateStore(store::Store& inner) : inner_(inner) {}

  void submit(std::span<store::Request* const> batch, store::Arrival when) override {
    submits.push_back(batch.size());
    when_ = when;
    for (store::Request* each : batch) {
      keys += each->checks.size();
      if (at_once > 0) {
        --at_once;
        answer(*each);
        continue;
      }
      each->state = store::Request::State::submitted;
      // The keys' bytes and the limits are the store's only until submit() returns.
      Held& held = held_.emplace_back(Held{each, {}, {}});
      for (const store::Check& check : each->checks) {
        held.keys.emplace_back(check.key);
        held.limits.push_back(*check.limit);
      }
    }
  }
  void cancel(store::Request& pending) override {
    ++cancelled;
    std::erase_if(held_, [&pending](const Held& held) { return held.request == &pending; });
  }
  void give_back(const store::Request&, std::chrono::nanoseconds) override {}

  std::size_t open() const { return held_.size(); }
  // The `i`-th of those that are open, in whichever order the test likes.
  void answer_one(std::size_t i = 0) {
    Held held = std::move(held_.at(i));
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<store::Check> asked(held.request->checks.begin(), held.request->checks.end());
    for (std::size_t k = 0; k < held.keys.size(); ++k) {
      held.request->checks[k].key = held.keys[k];
      held.request->checks[k].limit = &held.limits[k];
    }
    if (fault == Fault::none) {
      answer(*held.request);
    } else {
      held.request->state = store::Request::State::answered;
      held.request->fault = fault;
      held.request->why = why;
    }
    for (std::size_t k = 0; k < asked.size(); ++k) {
      held.request->checks[k].key = asked[k].key;
      held.request->checks[k].limit = asked[k].limit;
    }
    held.request->on_answer(*held.request);
  }
  void answer_all() {
    while (open() > 0) answer_one();
  }

  std::vector<std::size_t> submits;
  std::size_t keys = 0;
  std::size_t cancelled = 0;
  std::size_t at_once = 0;  // how many of the next requests are answered inside submit()
  Fault fault = Fault::none;
  std::string why;

 private:
  struct Held {
    store::Request* request;
    std::vector<std::string> keys;
    std::vector<store::Limit> limits;
  };
  void answer(store::Request& request) {
    store::Request* const one = &request;
    inner_.submit({&one, 1}, when_);
  }

  store::Store& inner_;
  store::Arrival when_{};
  std::vector<Held> held_;
};

struct LateTalk : Talk {
  explicit LateTalk(service::ServiceOptions options = {}) : Talk(std::move(options)) {}
  std::string say(const std::string& bytes) {
    std::string out;
    rest += bytes;
    rest.erase(0, late.feed(rest, out, {now, now}));
    return out;
  }
  // What is written until nothing is open and nothing is left to run.
  std::string all(const std::string& bytes) {
    std::string out = say(bytes);
    while (late.waiting() || late.busy()) {
      const std::size_t before = resumed;
      store.answer_all();
      EXPECT_EQ(resumed, before + 1) << "resume is called once";
      EXPECT_TRUE(late.busy());
      out += say("");
    }
    return out;
  }

  LateStore store{embedded};
  std::size_t resumed = 0;
  RespLoop late_shared{service, store};
  Conversation late{service, late_shared, {8, "127.0.0.1"}, [this] { ++resumed; }};
};

TEST(LateStore, gets_what_is_read_together_in_one_call) {
  LateTalk talk;
  EXPECT_EQ(talk.say("CL.THROTTLE a 15 30 60\r\nGCRA b 15 30 60\r\nCL.THROTTLE \"c\" 7 8 9\r\n"), "");
  EXPECT_TRUE(talk.late.waiting());
  EXPECT_FALSE(talk.late.busy());
  EXPECT_EQ(talk.say("PING\r\n"), "") << "nothing is taken while it waits";
  talk.store.answer_one(1);
  talk.store.answer_one(1);
  EXPECT_TRUE(talk.late.waiting());
  EXPECT_EQ(talk.resumed, 0U);
  talk.store.answer_one();
  EXPECT_EQ(talk.resumed, 1U);
  EXPECT_FALSE(talk.late.waiting());
  EXPECT_TRUE(talk.late.busy());
  EXPECT_EQ(talk.say(""), kFirst + kFirst + "*5\r\n:0\r\n:8\r\n:7\r\n:-1\r\n:2\r\n+PONG\r\n");
  EXPECT_FALSE(talk.late.busy());
  EXPECT_EQ(talk.store.submits, (std::vector<std::size_t>{3}));
}

TEST(LateStore, what_is_answered_at_once_is_written_at_once) {
  LateTalk talk;
  talk.store.at_once = 1;
  EXPECT_EQ(talk.say("CL.THROTTLE a 15 30 60\r\nCL.THROTTLE b 15 30 60\r\nCL.THROTTLE c 15 30 60\r\n"),
            kFirst);
  EXPECT_TRUE(talk.late.waiting());
  talk.store.answer_all();
  EXPECT_EQ(talk.say(""), kFirst + kFirst);
  talk.store.at_once = 3;
  EXPECT_EQ(talk.all("CL.THROTTLE d 15 30 60\r\nDEL d\r\nPING\r\n"), kFirst + ":1\r\n+PONG\r\n");
}

TEST(LateStore, replies_are_the_same_as_those_of_the_embedded_store) {
  const std::string stream =
      "PING\r\nCL.THROTTLE a 15 30 60\r\nCL.THROTTLE a 15 30 60\r\nECHO x\r\nCL.THROTTLE a x 30 60\r\n"
      "CL.THROTTLE b 15\r\nNONE\r\nDEL a b\r\nCL.THROTTLE a 15 30 60\r\nMULTI\r\nCL.THROTTLE a 15 30 60\r\n"
      "CL.THROTTLE a 15 30\r\nDISCARD\r\nMULTI\r\nCL.THROTTLE a 15 30 60\r\nPING\r\nCL.THROTTLE a 15 0 60\r\n"
      "WEIR.RESET a\r\nCL.THROTTLE a 15 30 60\r\nEXEC\r\nCLIENT REPLY SKIP\r\nCL.THROTTLE a 15 30 60\r\n"
      "CL.THROTTLE a 15 30 60\r\nCLIENT REPLY OFF\r\nCL.THROTTLE a 15 30 60\r\nDEL b\r\nCLIENT REPLY ON\r\n"
      "CL.THROTTLE a 15 30 60\r\n\"CL.THROTTLE\" \"a\" 15 30 60\r\nECHO end\r\n";
  const std::string whole = Talk().say(stream);
  EXPECT_NE(whole.find("end"), std::string::npos);
  EXPECT_EQ(LateTalk().all(stream), whole);
  for (std::size_t cut = 1; cut < stream.size(); cut += 7) {
    LateTalk talk;
    const std::string first = talk.all(stream.substr(0, cut));
    EXPECT_EQ(first + talk.all(stream.substr(cut)), whole) << cut;
  }
}

TEST(LateStore, a_long_pipeline_is_asked_in_batches_of_64) {
  LateTalk talk;
  std::string stream;
  std::string wanted;
  for (int i = 0; i < 150; ++i) {
    stream += "CL.THROTTLE k" + std::to_string(i) + " 15 30 60\r\n";
    wanted += kFirst;
  }
  EXPECT_EQ(talk.all(stream), wanted);
  EXPECT_EQ(talk.store.submits, (std::vector<std::size_t>{64, 64, 22}));
}

TEST(LateStore, exec_of_many_decisions_is_one_round_trip) {
  LateTalk talk;
  std::string wanted = "+OK\r\n";
  std::string queue = "MULTI\r\n";
  for (int i = 0; i < 16; ++i) {
    queue += "CL.THROTTLE k" + std::to_string(i) + " 15 30 60\r\n";
    wanted += "+QUEUED\r\n";
  }
  EXPECT_EQ(talk.all(queue), wanted);
  wanted = "*16\r\n";
  for (int i = 0; i < 16; ++i) wanted += kFirst;
  EXPECT_EQ(talk.all("EXEC\r\n"), wanted);
  EXPECT_EQ(talk.store.submits, (std::vector<std::size_t>{16}));
  EXPECT_EQ(talk.resumed, 1U);
}

TEST(LateStore, del_of_many_keys_is_one_request) {
  LateTalk talk;
  talk.all("CL.THROTTLE a 15 30 60\r\nCL.THROTTLE b 15 30 60\r\n");
  talk.store.submits.clear();
  talk.store.keys = 0;
  EXPECT_EQ(talk.all("DEL a x b a a\r\n"), ":2\r\n");
  EXPECT_EQ(talk.store.submits, (std::vector<std::size_t>{1}));
  EXPECT_EQ(talk.store.keys, 3U) << "each key once";
}

TEST(LateStore, a_connection_that_goes_cancels_what_is_open) {
  LateTalk talk;
  {
    Conversation gone(talk.service, talk.late_shared, {9, "127.0.0.1"}, [] { FAIL() << "it has gone"; });
    std::string out;
    const std::string asked =
        "CL.THROTTLE a 15 30 60\r\nCL.THROTTLE b 15 30 60\r\nCL.THROTTLE c 15 30 60\r\n";
    gone.feed(asked, out, {talk.now, talk.now});
    talk.store.answer_one();
    EXPECT_EQ(talk.store.open(), 2U);
  }
  EXPECT_EQ(talk.store.open(), 0U);
  EXPECT_EQ(talk.store.cancelled, 2U) << "one was answered";
  EXPECT_EQ(talk.all("CL.THROTTLE d 15 30 60\r\n"), kFirst);
}

TEST(LateStore, the_key_that_decides_is_told_though_its_bytes_have_gone) {
  LateTalk talk;
  EXPECT_EQ(talk.say("WEIR.THROTTLE first 10/s second 1/s\r\nWEIR.THROTTLE second 1/s\r\n"), "");
  EXPECT_EQ(talk.all(""),
            "*6\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1000\r\n$6\r\nsecond\r\n"
            "*6\r\n:1\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n$6\r\nsecond\r\n");
}

TEST(LateStore, connections_wait_independently) {
  LateTalk talk;
  Conversation other(talk.service, talk.late_shared, {9, "127.0.0.1"}, [] {});
  const std::string asked = "CL.THROTTLE other 3 30 60\r\n";
  std::string out;
  EXPECT_EQ(talk.say("CL.THROTTLE a 15 30 60\r\n"), "");
  other.feed(asked, out, {talk.now, talk.now});
  EXPECT_EQ(out, "");
  talk.store.answer_one(1);
  EXPECT_TRUE(talk.late.waiting());
  EXPECT_FALSE(other.waiting());
  other.feed("", out, {talk.now, talk.now});
  EXPECT_EQ(out, "*5\r\n:0\r\n:4\r\n:3\r\n:-1\r\n:2\r\n");
  EXPECT_EQ(talk.all(""), kFirst);
}

TEST(LateStore, what_nobody_could_decide_is_an_error_of_that_command_alone) {
  const std::vector<std::tuple<Fault, std::string, std::string, std::string>> rows = {
      {Fault::foreign_value, "key 1 of this request holds no state of gcra", "CL.THROTTLE a 15 30 60",
       "-WRONGTYPE key 1 of this request holds no state of gcra\r\n"},
      {Fault::unsuitable, "burst: too large", "CL.THROTTLE a 15 30 60", "-ERR burst: too large\r\n"},
      {Fault::store_down, "no answer in time", "DEL a b", "-ERR the store: no answer in time\r\n"},
  };
  for (const auto& [fault, why, command, answer] : rows) {
    LateTalk talk;
    talk.store.fault = fault;
    talk.store.why = why;
    EXPECT_EQ(talk.all(command + "\r\nPING\r\n"), answer + "+PONG\r\n");
    EXPECT_EQ(talk.service.counters.denied.load(), 0U);
    talk.store.fault = Fault::none;
    EXPECT_EQ(talk.all("CL.THROTTLE a 15 30 60\r\n"), kFirst) << "nothing is left of the fault";
  }
}

// Checks that waited, by the last command that did; words of the others, but none that may be a password.
TEST(SlowLog, has_what_waited_for_the_store) {
  LateTalk talk;
  talk.say("CLIENT SETNAME me\r\nCL.THROTTLE secret 15 30 60\r\nGCRA a 15 30 60\r\n");
  talk.now += 9ms;
  talk.all("");
  EXPECT_EQ(talk.say("SLOWLOG LEN\r\n"), ":0\r\n") << "not for long enough";
  talk.say("CL.THROTTLE secret 15 30 60\r\nGCRA a 15 30 60\r\n");
  talk.now += 10ms;
  talk.all("");
  EXPECT_EQ(talk.say("SLOWLOG GET\r\n"),
            "*1\r\n*6\r\n:0\r\n:1700000000\r\n:10000\r\n*2\r\n$4\r\nGCRA\r\n$28\r\n... (and what it waited "
            "for)\r\n$11\r\n127.0.0.1:0\r\n$2\r\nme\r\n");
  EXPECT_EQ(talk.say("SLOWLOG LEN\r\nslowlog reset\r\nSLOWLOG LEN\r\nSLOWLOG GET -1\r\n"),
            ":1\r\n+OK\r\n:0\r\n*0\r\n");
  EXPECT_EQ(
      talk.say("SLOWLOG GET -2\r\nSLOWLOG GET x\r\n"),
      "-ERR count should be greater than or equal to -1\r\n-ERR count should be greater than or equal to "
      "-1\r\n");
}

TEST(SlowLog, tells_what_waited_and_not_what_came_after_it) {
  LateTalk talk;
  talk.say("GCRA a 15 30 60\r\nNOPE\r\n");
  talk.now += 10ms;
  EXPECT_TRUE(talk.all("").ends_with("-ERR unknown command 'NOPE'\r\n"));
  EXPECT_NE(talk.say("SLOWLOG GET\r\n").find("GCRA"), std::string::npos);
  talk.say("NOPE\r\nGCRA a 15 30 60\r\n*1\r\n:1\r\n");
  talk.now += 10ms;
  EXPECT_NE(talk.all("").find("-ERR Protocol error"), std::string::npos);
}

TEST(SlowLog, has_no_password) {
  service::ServiceOptions options;
  options.password = "secret";
  auto time = std::make_shared<std::chrono::nanoseconds>(1s);
  Talk talk(options, [time] { return *time += 20ms; });
  talk.say("AUTH secret\r\nHELLO 3 AUTH default secret\r\nECHO slow\r\n");
  const std::string told = talk.say("SLOWLOG GET\r\n");
  EXPECT_EQ(told.find("secret"), std::string::npos) << told;
  EXPECT_NE(told.find("*2\r\n$4\r\nECHO\r\n$4\r\nslow\r\n"), std::string::npos) << told;
  EXPECT_NE(told.find("*1\r\n$4\r\nAUTH\r\n"), std::string::npos) << told;
}

// Clients that are told of when the test says so.
class LateClients final : public net::Clients {
 public:
  void list(std::function<void(const Rows&)> done) override {
    turns.emplace_back([this, done = std::move(done)] { done(std::make_shared<List>(List{rows})); });
  }
  void end_wait(std::uint64_t, bool, std::function<void(std::size_t)>) override {}
  void close(std::vector<std::uint64_t> ids, std::function<void(std::size_t)> done) override {
    turns.emplace_back([this, ids = std::move(ids), done = std::move(done)] {
      closed.insert(closed.end(), ids.begin(), ids.end());
      done(ids.size());
    });
  }
  void post(std::function<void()> call) override { turns.push_back(std::move(call)); }
  bool turn() {
    if (turns.empty()) return false;
    const auto next = std::move(turns.front());
    turns.erase(turns.begin());
    next();
    return true;
  }

  std::vector<net::ClientInfo> rows;
  std::vector<std::uint64_t> closed;
  std::vector<std::function<void()>> turns;
};

struct ClientTalk : Talk {
  explicit ClientTalk(service::ServiceOptions options = {}) : Talk(std::move(options)) {
    clients.rows = {
        {.peer = {7, "127.0.0.1", 70}, .age = 10s, .name = "me", .user = "default"},
        {.peer = {8, "10.0.0.8", 80}, .age = 90s, .idle = 5s, .memory = 2048, .name = "b", .user = "app"},
        {.peer = {9, "2001:db8::1", 90}, .age = 91s, .user = "default", .queued = 2}};
  }
  std::string say(const std::string& bytes) {
    std::string out;
    rest += bytes;
    rest.erase(0, mine.feed(rest, out, {now, now}));
    return out;
  }
  std::string all(const std::string& bytes) {
    std::string out = say(bytes);
    while (clients.turn()) {
    }
    while (mine.busy()) {
      out += say("");
      while (clients.turn()) {
      }
    }
    return out;
  }
  // The ids in the lines of a list.
  std::string ids(const std::string& command) {
    const std::string text = all(command + "\r\n");
    std::string found;
    for (std::size_t at = text.find("id="); at != std::string::npos; at = text.find("\nid=", at)) {
      at = text.find('=', at) + 1;
      found += text.substr(at, text.find(' ', at) - at) + " ";
    }
    return found;
  }

  LateClients clients;
  std::size_t resumed = 0;
  Conversation mine{service, loop, {7, "127.0.0.1", 70, true}, [this] { ++resumed; }, &clients};
};

TEST(Clients, are_listed_when_every_loop_has_told_and_what_follows_waits) {
  ClientTalk talk;
  EXPECT_EQ(talk.say("PING\r\nCLIENT LIST\r\nPING\r\n"), "+PONG\r\n");
  EXPECT_TRUE(talk.mine.waiting());
  EXPECT_FALSE(talk.mine.busy());
  EXPECT_EQ(talk.say(""), "");
  EXPECT_TRUE(talk.clients.turn());
  EXPECT_EQ(talk.resumed, 1U);
  EXPECT_FALSE(talk.mine.waiting());
  EXPECT_TRUE(talk.mine.busy());
  const std::string said = talk.say("");
  EXPECT_EQ(said.substr(said.find("\r\n") + 2, 13), "id=7 addr=127");
  EXPECT_NE(
      said.find(
          "\nid=8 addr=10.0.0.8:80 name=b age=90 idle=5 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 "
          "qbuf-free=0 argv-mem=0 obl=0 oll=0 omem=0 tot-mem=2048 cmd=NULL user=app resp=0\nid=9 "
          "addr=[2001:db8::1]:90 name= age=91 idle=0 flags=x "),
      std::string::npos)
      << said;
  EXPECT_EQ(said.substr(said.size() - 9), "\r\n+PONG\r\n");
}

TEST(Clients, a_list_shows_those_that_are_asked_for) {
  ClientTalk talk;
  EXPECT_EQ(talk.ids("CLIENT LIST"), "7 8 9 ");
  EXPECT_EQ(talk.ids("client list type NORMAL"), "7 8 9 ");
  EXPECT_EQ(talk.ids("CLIENT LIST TYPE pubsub"), "");
  EXPECT_EQ(talk.ids("CLIENT LIST ID 9 1000 8"), "8 9 ");
  EXPECT_EQ(talk.ids("CLIENT INFO"), "7 ");
  for (const auto& [command, error] : {std::pair{"CLIENT LIST ID", "ERR syntax error"},
                                       {"CLIENT LIST TYPE", "ERR syntax error"},
                                       {"CLIENT LIST BOGUS x", "ERR syntax error"},
                                       {"CLIENT LIST ID x", "ERR client-id should be greater than 0"},
                                       {"CLIENT LIST TYPE bogus", "ERR Unknown client type 'bogus'"}}) {
    EXPECT_EQ(talk.all(std::string(command) + "\r\n"), "-" + std::string(error) + "\r\n");
  }
}

TEST(Clients, are_killed_by_filters_that_must_all_hold) {
  struct Row {
    std::string command;
    std::string reply;
    std::vector<std::uint64_t> closed;
    bool itself = false;
  };
  for (const Row& row : {
           Row{"CLIENT KILL ID 8", ":1", {8}},
           Row{"CLIENT KILL ID 8 USER app", ":1", {8}},
           Row{"CLIENT KILL ID 8 USER default", ":0", {}},
           Row{"CLIENT KILL USER default", ":1", {9}},
           Row{"CLIENT KILL USER default SKIPME no", ":2", {9}, true},
           Row{"CLIENT KILL TYPE normal SKIPME yes", ":2", {8, 9}},
           Row{"CLIENT KILL TYPE pubsub", ":0", {}},
           Row{"CLIENT KILL MAXAGE 90", ":2", {8, 9}},
           Row{"CLIENT KILL ADDR [2001:db8::1]:90", ":1", {9}},
           Row{"CLIENT KILL ADDR 10.0.0.8", ":0", {}},
           Row{"CLIENT KILL 10.0.0.8:80", "+OK", {8}},
           Row{"CLIENT KILL 127.0.0.1:70", "+OK", {}, true},
           Row{"CLIENT KILL 10.0.0.8:81", "-ERR No such client", {}},
           Row{"CLIENT KILL \"\"", "-ERR No such client", {}},
           Row{"CLIENT KILL", "-ERR syntax error", {}},
           Row{"CLIENT KILL ID", "-ERR No such client", {}},
           Row{"CLIENT KILL ID 8 USER", "-ERR syntax error", {}},
           Row{"CLIENT KILL ID 0", "-ERR client-id should be greater than 0", {}},
           Row{"CLIENT KILL BOGUS x", "-ERR syntax error", {}},
           Row{"CLIENT KILL SKIPME maybe", "-ERR syntax error", {}},
       }) {
    ClientTalk talk;
    EXPECT_EQ(talk.all(row.command + "\r\nPING\r\n"), row.reply + "\r\n" + (row.itself ? "" : "+PONG\r\n"))
        << row.command;
    EXPECT_EQ(talk.clients.closed, row.closed) << row.command;
    EXPECT_EQ(talk.mine.closing(), row.itself) << row.command;
  }
}

TEST(Clients, a_list_in_a_transaction_or_without_a_reply_keeps_the_order) {
  ClientTalk talk;
  const std::string said = talk.all("MULTI\r\nPING\r\nCLIENT KILL ID 8\r\nECHO x\r\nEXEC\r\nPING\r\n");
  EXPECT_EQ(said, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+PONG\r\n:1\r\n$1\r\nx\r\n+PONG\r\n");
  EXPECT_EQ(talk.all("CLIENT REPLY SKIP\r\nCLIENT LIST\r\nPING\r\n"), "+PONG\r\n");
  EXPECT_EQ(talk.all("MULTI\r\nCLIENT KILL ID 8\r\nCLIENT REPLY\r\nDISCARD\r\n").substr(0, 5), "+OK\r\n");
}

TEST(Clients, one_that_has_gone_is_told_nothing) {
  LateClients clients;
  Talk talk;
  {
    Conversation gone(talk.service, talk.loop, {9, "127.0.0.1"}, [] { FAIL() << "it has gone"; }, &clients);
    std::string out;
    gone.feed("CLIENT LIST\r\n", out, {talk.now, talk.now});
    EXPECT_TRUE(gone.waiting());
  }
  EXPECT_TRUE(clients.turn());
}

TEST(Clients, nobody_is_listed_to_one_without_the_password) {
  ClientTalk talk(guarded());
  EXPECT_EQ(talk.all("CLIENT LIST\r\nCLIENT KILL TYPE normal\r\n"),
            "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n");
  EXPECT_TRUE(talk.clients.turns.empty());
}

TEST(Shutdown, is_taken_from_this_machine_unless_all_are_allowed) {
  const std::string refused =
      "-NOPERM SHUTDOWN is taken from this machine only; start weir with --allow-shutdown to take it from "
      "others\r\n";
  for (const bool local : {false, true}) {
    for (const bool allowed : {false, true}) {
      service::ServiceOptions options;
      options.allow_shutdown = allowed;
      Talk talk(options);
      int ended = 0;
      talk.service.process.shut_down = [&](bool) { ++ended; };
      Conversation one(talk.service, talk.loop, {9, "x", 1, local}, [] {});
      std::string out;
      one.feed("SHUTDOWN\r\n", out, {talk.now, talk.now});
      EXPECT_EQ(out, local || allowed ? "" : refused);
      EXPECT_EQ(one.closing(), local || allowed);
      EXPECT_EQ(ended, local || allowed ? 1 : 0);
    }
  }
}

TEST(Snapshots, are_begun_and_dated_on_request) {
  service::ServiceOptions options;
  options.snapshots = true;
  Talk talk(options);
  int begun = 0;
  talk.service.process.save_soon = [&] { ++begun; };
  talk.service.process.last_saved = [] { return 1'700'000'000s; };
  EXPECT_EQ(
      talk.say("LASTSAVE\r\nBGSAVE\r\nbgsave schedule\r\nBGSAVE now\r\n"),
      ":1700000000\r\n+Background saving started\r\n+Background saving started\r\n-ERR syntax error\r\n");
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(Talk().say("BGSAVE\r\n"),
            "-ERR there is no snapshot to write: start weir with --snapshot FILE\r\n");
}

}  // namespace
}  // namespace weir::resp
