// The conversation without a socket. What real clients make of it is tested in tests/clients.
#include "server/resp_front.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::server {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds fake_now = 1000s;

struct Talk {
  explicit Talk(Settings with = {}) : settings(std::move(with)), service(small(settings), {1, 2}) {
    service.now = [] { return fake_now; };
  }
  static Settings& small(Settings& settings) {
    settings.memory = 1_MiB;
    return settings;
  }
  std::string say(const std::string& bytes) {
    std::string out;
    rest += bytes;
    rest.erase(0, front.feed(rest, out, fake_now, fake_now));
    return out;
  }

  Settings settings;
  Service service;
  RespFront::Scratch scratch;
  RespFront front{service, scratch, 7, "127.0.0.1"};
  std::string rest;
};

const std::string kFirst = "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n";

TEST(RespFront, answers_in_order_whatever_is_mixed) {
  Talk talk;
  EXPECT_EQ(
      talk.say(
          "PING\r\nCL.THROTTLE a 15 30 60\r\ncl.throttle b 15 30 60\r\nECHO x\r\nRL.Throttle c 15 30 60\r\n"
          "CL.THROTTLE d 15\r\nGCRA e 15 30 60\r\nNONE\r\nCL.THROTTLE a 15 30 60\r\n"),
      "+PONG\r\n" + kFirst + kFirst + "$1\r\nx\r\n" + kFirst +
          "-ERR wrong number of arguments for 'cl.throttle' command\r\n" + kFirst +
          "-ERR unknown command 'NONE'\r\n*5\r\n:0\r\n:16\r\n:14\r\n:-1\r\n:4\r\n");
}

TEST(RespFront, the_same_however_the_bytes_are_cut) {
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

TEST(RespFront, a_long_pipeline_keeps_its_order) {
  Talk talk;
  std::string stream;
  for (int i = 0; i < 10'000; ++i) stream += "ECHO " + std::to_string(i) + "\r\nCL.THROTTLE k 15 30 60\r\n";
  std::string all;
  for (std::size_t at = 0; at < stream.size();) {
    std::string out;
    at += talk.front.feed(std::string_view(stream).substr(at), out, fake_now, fake_now);
    EXPECT_LT(out.size(), RespFront::kOutputCap + 4096);
    all += out;
  }
  std::size_t at = 0;
  for (int i = 0; i < 10'000; ++i) {
    at = all.find("\r\n" + std::to_string(i) + "\r\n*5\r\n:" + (i < 16 ? "0" : "1"), at == 0 ? 0 : at - 2);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(RespFront, multi_queues_and_exec_runs) {
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

TEST(RespFront, replies_can_be_turned_off) {
  Talk talk;
  EXPECT_EQ(talk.say("CLIENT REPLY OFF\r\nPING\r\nCL.THROTTLE a 15 30 60\r\nCLIENT REPLY ON\r\n"), "+OK\r\n");
  EXPECT_EQ(talk.say("CLIENT REPLY SKIP\r\nPING\r\nPING\r\n"), "+PONG\r\n");
  EXPECT_EQ(talk.say("CLIENT REPLY SKIP\r\nCL.THROTTLE a 15 30 60\r\nCL.THROTTLE a 15 30 60\r\n"),
            "*5\r\n:0\r\n:16\r\n:13\r\n:-1\r\n:6\r\n");
}

TEST(RespFront, a_malformed_frame_gets_one_error_and_the_end) {
  Talk talk;
  EXPECT_EQ(talk.say("PING\r\n*abc\r\nPING\r\n"),
            "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n");
  EXPECT_TRUE(talk.front.closing());
}

TEST(RespFront, http_at_the_wrong_port_runs_nothing) {
  for (const std::string first : {"POST / HTTP/1.1\r\n", "host: localhost\r\n"}) {
    Talk talk;
    EXPECT_EQ(talk.say(first + "PING\r\n"), "");
    EXPECT_TRUE(talk.front.closing());
  }
}

Settings guarded() {
  Settings settings;
  settings.user = "app";
  settings.password = "secret";
  return settings;
}

TEST(RespFront, nothing_without_the_password) {
  Talk talk(guarded());
  EXPECT_EQ(talk.say("PING\r\nCL.THROTTLE a 15 30 60\r\nHELLO 3\r\n"),
            "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n-NOAUTH HELLO must be "
            "called with "
            "the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be "
            "used to "
            "authenticate the client and select the RESP protocol version at the same time\r\n");
  EXPECT_EQ(talk.say("AUTH secret\r\nAUTH app wrong\r\nAUTH app secre\r\nAUTH app secret\r\nPING\r\n"),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n+OK\r\n+PONG\r\n");
}

TEST(RespFront, guessing_the_password_is_limited) {
  Talk talk(guarded());
  std::string answers;
  for (int i = 0; i < 20; ++i) answers += talk.say("AUTH app guess" + std::to_string(i) + "\r\n");
  EXPECT_NE(answers.find("-ERR too many failed AUTH attempts from this address, try again in a second\r\n"),
            std::string::npos);
}

TEST(RespFront, who_is_not_trusted_may_say_little) {
  Talk talk(guarded());
  EXPECT_EQ(talk.say("*11\r\n"), "-ERR Protocol error: unauthenticated multibulk length\r\n");
  Talk other(guarded());
  EXPECT_EQ(other.say("*2\r\n$4\r\nAUTH\r\n$16385\r\n"),
            "-ERR Protocol error: unauthenticated bulk length\r\n");
}

TEST(RespFront, hello_chooses_the_protocol) {
  Talk talk;
  EXPECT_EQ(talk.say("HELLO 3\r\n").substr(0, 4), "%7\r\n");
  EXPECT_EQ(talk.say("HELLO 2\r\n").substr(0, 5), "*14\r\n");
  EXPECT_EQ(talk.say("HELLO 4\r\n"), "-NOPROTO unsupported protocol version\r\n");
  EXPECT_EQ(talk.say("HELLO x\r\n"), "-ERR Protocol version is not an integer or out of range\r\n");
  EXPECT_EQ(talk.say("HELLO 3 FOO\r\n"), "-ERR Syntax error in HELLO option 'foo'\r\n");
  EXPECT_EQ(talk.say("HELLO 3 SETNAME me\r\nCLIENT GETNAME\r\n").substr(0, 4), "%7\r\n");
  EXPECT_EQ(talk.say("RESET\r\nCLIENT GETNAME\r\n"), "+RESET\r\n$-1\r\n");
}

// Pitfalls S15 to S17, through the wire.
TEST(RespFront, a_changed_quota_keeps_the_debt_in_units) {
  Talk talk;
  EXPECT_EQ(talk.say("CL.THROTTLE k 9 10 86400 10\r\n"), "*5\r\n:0\r\n:10\r\n:0\r\n:-1\r\n:86400\r\n");
  EXPECT_EQ(talk.say("CL.THROTTLE k 999 1000 1 0\r\n"), "*5\r\n:0\r\n:1000\r\n:990\r\n:-1\r\n:1\r\n");
  EXPECT_EQ(talk.say("CL.THROTTLE k 999 1000 1\r\n"), "*5\r\n:0\r\n:1000\r\n:989\r\n:-1\r\n:1\r\n");
  EXPECT_EQ(talk.say("CL.THROTTLE j 9 10 10 10\r\n"), "*5\r\n:0\r\n:10\r\n:0\r\n:-1\r\n:10\r\n");
  EXPECT_EQ(talk.say("CL.THROTTLE j 4 5 5\r\n"), "*5\r\n:1\r\n:5\r\n:0\r\n:6\r\n:10\r\n");
}

TEST(RespFront, reset_and_del_forget) {
  Talk talk;
  EXPECT_EQ(
      talk.say("CL.THROTTLE a 0 1 60\r\nWEIR.RESET a\r\nWEIR.RESET a\r\nCL.THROTTLE a 0 1 60\r\nDEL a "
               "b\r\nDBSIZE\r\n"),
      "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n:1\r\n:0\r\n*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n:1\r\n:0\r\n");
}

}  // namespace
}  // namespace weir::server
