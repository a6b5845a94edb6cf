#include "redis/script.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/simulated_redis_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// The words of what was appended, with a space between them and without the two that are always the same.
std::string words(const std::string& bytes, const std::string& sha = check_sha()) {
  std::string_view rest = bytes;
  const auto number = [&rest](char type) {
    EXPECT_EQ(rest.front(), type);
    const std::size_t end = rest.find("\r\n");
    const auto value = std::stoul(std::string(rest.substr(1, end - 1)));
    rest.remove_prefix(end + 2);
    return value;
  };
  std::string all;
  const std::size_t count = number('*');
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = number('$');
    const std::string_view word = rest.substr(0, length);
    EXPECT_EQ(rest.substr(length, 2), "\r\n");
    rest.remove_prefix(length + 2);
    if (i < 2) {
      EXPECT_EQ(word, i == 0 ? "EVALSHA" : sha);
      continue;
    }
    all += (i > 2 ? "|" : "") + std::string(word);
  }
  EXPECT_EQ(rest, "");
  return all;
}

TEST(Script, its_name_is_the_sha1_of_its_text) {
  EXPECT_TRUE(check_script().starts_with("\nlocal call = redis.call\n"));
  EXPECT_TRUE(check_script().ends_with("return answer\n"));
  EXPECT_EQ(check_sha().size(), 40U);
  EXPECT_EQ(check_sha().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Script, what_is_sent) {
  const struct {
    const char* rule;
    std::uint64_t cost;
    const char* words;  // T, burst x T, cost x T
  } rows[] = {
      {"10/s", 1, "gcra|100000000|1000000000|100000000"},
      {"10/s", 10, "gcra|100000000|1000000000|1000000000"},
      {"10/s", 0, "gcra|100000000|1000000000|0"},
      {"10/s", 11, "gcra|100000000|1000000000|1100000000"},
      {"10/s", ~std::uint64_t{0}, "gcra|100000000|1000000000|1100000000"},
      {"1/2s burst 3", 1, "gcra|2000000000|6000000000|2000000000"},
      {"1/9223372036854775807ns", 1, "gcra|9223372036854775807|9223372036854775807|9223372036854775807"},
      {"1/9223372036854775807ns", 2, "gcra|9223372036854775807|9223372036854775807|18446744073709551614"},
      {"1000000000/s", 1, "gcra|1|1000000000|1"},
      {"100/min algorithm=fixed_window", 7, "fixed_window|7|100|60000000000"},
      {"100/min algorithm=fixed_window align=clock", 0, "fixed_window_clock|0|100|60000000000"},
      {"100/min algorithm=sliding_window_log", 101, "sliding_window_log|101|100|60000000000"},
      {"100/min algorithm=sliding_window_counter", 500, "sliding_window_counter|101|100|60000000000"},
  };
  for (const auto& row : rows) {
    const core::Rule asked = rule(row.rule);
    std::string bytes;
    append_check(bytes, std::array{ScriptCheck{&asked, "k", Cost{row.cost}}});
    EXPECT_EQ(words(bytes), "1|k|" + std::string(row.words)) << row.rule << " cost " << row.cost;
  }
}

// The window that runs at the time that it is there, about; until when its state is kept; its number.
TEST(Script, a_window_of_the_calendar_is_sent_as_it_runs) {
  const core::Rule asked = rule("9/month align=calendar");
  ScriptCheck ask{&asked, "k", Cost{2}};
  ask.utc = std::chrono::sys_days{std::chrono::year{2026} / 11 / 24}.time_since_epoch();
  std::string bytes;
  append_check(bytes, std::array{ask});
  EXPECT_EQ(words(bytes),
            "1|k|calendar|2|9|1793491200000000000 1796083200000000000 1796176800000000000 21489");
  bytes.clear();
  ask.utc += std::chrono::days{7};
  append_look(bytes, std::array{ask});
  EXPECT_EQ(words(bytes),
            "1|k|look calendar|2|9|1796083200000000000 1798761600000000000 1798855200000000000 21519");
}

TEST(Script, what_is_sent_of_classes_guarantees_and_shadows) {
  core::Rule bulk = rule("10/s");
  bulk.kept = 250ms;
  const core::Rule window = rule("9/min algorithm=fixed_window");
  std::array asks = {ScriptCheck{&window, "a", Cost{1}}, ScriptCheck{&bulk, "b", Cost{1}},
                     ScriptCheck{&bulk, "c", Cost{11}}};
  asks[0].shadow = true;
  asks[1].inside = 0;
  asks[2].shadow = true;
  asks[2].inside = 0;
  const std::string keys = "3|a|b|c|";
  std::string check;
  append_check(check, asks);
  EXPECT_EQ(words(check), keys +
                              "shadow fixed_window|1|9|60000000000|"
                              "inside 1 1000000000 burst 10 gcra|100000000|750000000|100000000|"
                              "shadow inside 1 1000000000 burst 10 gcra|100000000|750000000|1100000000");
  std::string look;
  append_look(look, std::span(asks).first(1));
  EXPECT_EQ(words(look), "1|a|look shadow fixed_window|1|9|60000000000");
  // A guarantee changes nothing for what keeps nothing free, nor a class for a request alone.
  const core::Rule critical = rule("10/s");
  asks[1].rule = &critical;
  std::string plain;
  append_check(plain, std::span(asks).subspan(1, 1));
  EXPECT_EQ(words(plain), "1|b|gcra|100000000|1000000000|100000000");
  plain.clear();
  append_check(plain, std::array{ScriptCheck{&bulk, "b", Cost{1}}});
  EXPECT_EQ(words(plain), "1|b|burst 10 gcra|100000000|750000000|100000000");
}

TEST(Script, keys_come_first_then_the_limits_and_the_time_for_tests) {
  const core::Rule first = rule("10/s");
  const core::Rule second = rule("5/min algorithm=fixed_window");
  const std::array asks = {ScriptCheck{&first, "a b\r\n", Cost{1}}, ScriptCheck{&second, "", Cost{2}}};
  std::string bytes = "PING\r\n";
  append_check(bytes, asks, 1'732'147'200'123'456'789ns);
  ASSERT_TRUE(bytes.starts_with("PING\r\n*14\r\n$7\r\nEVALSHA\r\n$40\r\n"));
  EXPECT_EQ(words(bytes.substr(6)),
            "2|a b\r\n||gcra|100000000|1000000000|100000000|fixed_window|2|5|60000000000|"
            "1732147200 123456");
}

// Of each limit last: at_most, the key's length and the limit's id, whether an actual without a name is its
// own, and when those in line have acted.
TEST(Script, a_reservation_says_what_it_may_take_of_each_limit) {
  core::Rule first = rule("10/s");
  const core::Rule second = rule("5/min");
  first.kept = 300ms;
  const std::array asks = {ReserveAsk{.ask = {&first, "w:a", Cost{1}},
                                      .holding = {.settles = false},
                                      .limit_id = 7,
                                      .key_size = 1,
                                      .line = {3ns, 4ns}},
                           ReserveAsk{.ask = {&second, "w:b", Cost{2}}, .key_size = 1}};
  std::string bytes;
  append_reserve(bytes, "w:", asks, {.record = "r", .id = "i", .max_wait = 5ns, .hold = 6ns}, 1'732'147'200s);
  EXPECT_EQ(words(bytes, reserve_sha()), "5|r|w:a|" + line_in_redis("w:", "w:a") + "|w:b|" +
                                             line_in_redis("w:", "w:b") +
                                             "|reserve|1732147200 0|i|5|6|86400000000000|"
                                             "|100000000|700000000|100000000|10| 1 7 1 3 4|"
                                             "|12000000000|60000000000|24000000000|5|any 1 0 1 0 0");
}

TEST(Script, a_reservation_of_one_in_line_says_how_long_it_has_stood) {
  const core::Rule first = rule("10/s");
  const std::array asks = {ReserveAsk{.ask = {&first, "w:a", Cost{1}}, .key_size = 1}};
  std::string bytes;
  append_reserve(bytes, "w:", asks, {.record = "r", .id = "i", .max_wait = 5ns, .stood = 7ns},
                 1'732'147'200s);
  EXPECT_EQ(words(bytes, reserve_sha()), "3|r|w:a|" + line_in_redis("w:", "w:a") +
                                             "|plan|1732147200 0|i|5|0|86400000000000|"
                                             "|100000000|1000000000|100000000|10|any 1 0 1 0 0|7");
  const std::string before = std::exchange(bytes, {});
  append_reserve(bytes, "w:", asks,
                 {.record = "r", .id = "i", .max_wait = 5ns, .stood = 7ns, .follows = true}, 1'732'147'200s);
  EXPECT_EQ(words(bytes, reserve_sha()), words(before, reserve_sha()) + "|follows");
}

TEST(Script, a_reset_names_its_keys) {
  std::string bytes;
  append_reset(bytes, std::array<std::string, 2>{"weir:a b", "weir:"}, std::array<std::string, 1>{"line"});
  EXPECT_EQ(words(bytes), "3|weir:a b|weir:|line|reset|1");
}

TEST(Script, what_it_does_not_count_exactly_is_said) {
  const struct {
    core::Rule rule;
    const char* sentence;
  } rows[] = {
      {rule("10/s"), nullptr},
      {rule("1/9223372036854775807ns"), nullptr},
      {{Quota::make({1, 1ns}, 9'000'000'000'000'000).value()}, nullptr},
      {{Quota::make({1, 1ns}, 9'000'000'000'000'001).value()},
       "burst: 9000000000000001 is above the most that gcra counts in Redis (9000000000000000)"},
      {{Quota::make({9'000'000'000'000'001, 9'000'000'000'000'001ns}).value(), Algorithm::fixed_window},
       "count: 9000000000000001 is above the most that fixed_window counts in Redis (9000000000000000)"},
      {rule("1/1ns algorithm=fixed_window"), nullptr},
      {rule("1/1ns algorithm=sliding_window_log"), nullptr},
      {rule("4294967295/1h algorithm=sliding_window_log"), nullptr},
      {rule("1/2us algorithm=fixed_window align=clock"), nullptr},
      {rule("1/1999ns algorithm=fixed_window align=clock"),
       "period: 1999 ns is below the least that fixed_window align=clock has in Redis (2000 ns)"},
      {rule("1/1us algorithm=sliding_window_counter"),
       "period: 1000 ns is below the least that sliding_window_counter has in Redis (2000 ns)"},
      {rule("90000000/99999999s algorithm=sliding_window_counter"), nullptr},
      {rule("90000001/99999999s algorithm=sliding_window_counter"),
       "count: 90000001 is above the most that sliding_window_counter counts in Redis (90000000) with a "
       "period of 100000000 s"},
  };
  for (const auto& row : rows) {
    const std::optional<std::string> sentence = unsuitable(row.rule);
    EXPECT_EQ(sentence.value_or("suitable"), row.sentence != nullptr ? row.sentence : "suitable");
  }
}

// The answer that Redis sends, parsed, and read for one limit.
struct Read {
  tl::expected<bool, std::string> charged = false;
  Decision decision;
};

Read read(const std::string& bytes, const core::Rule& asked, std::uint64_t cost) {
  resp::ReplyParser parser;
  const resp::Parsed parsed = parser.parse(bytes);
  EXPECT_EQ(parsed.status, resp::Parsed::Status::value) << bytes << parsed.why;
  Read result;
  result.charged = read_check(parsed.value, std::array{ScriptCheck{&asked, "k", Cost{cost}}},
                              std::span(&result.decision, 1));
  return result;
}

// At 1732147200.5 s.
std::string answer(int charged, const std::string& state) {
  return "*4\r\n:" + std::to_string(charged) + "\r\n" + bulk("1732147200") + bulk("500000") + state;
}

TEST(Script, the_decision_is_made_of_the_state_before) {
  const core::Rule gcra = rule("10/s");
  const std::string live = "1732147201000000000";  // 5 units ahead
  Read got = read(answer(1, "$-1\r\n"), gcra, 1);
  EXPECT_EQ(got.charged, true);
  EXPECT_EQ(got.decision, (Decision{Verdict::allowed, 10, 9, {}, 100ms}));
  got = read(answer(1, "_\r\n"), gcra, 1);  // as RESP3 says it
  EXPECT_EQ(got.decision.remaining, 9);
  got = read(answer(1, bulk("weir1g " + live + " 100000000")), gcra, 5);
  EXPECT_EQ(got.charged, true);
  EXPECT_EQ(got.decision, (Decision{Verdict::allowed, 10, 0, {}, 1s}));
  got = read(answer(0, bulk("weir1g " + live + " 100000000")), gcra, 6);
  EXPECT_EQ(got.charged, false);
  EXPECT_EQ(got.decision, (Decision{Verdict::denied, 10, 5, 100ms, 500ms}));
  got = read(answer(0, bulk("weir1g " + live + " 100000000")), gcra, 11);
  EXPECT_EQ(got.decision, (Decision{Verdict::never, 10, 5, {}, 500ms}));
  got = read(answer(1, bulk("weir1g 5 0")), gcra, 1);  // long ago: the T says nothing
  EXPECT_EQ(got.decision.remaining, 9);

  const core::Rule window = rule("10/s algorithm=fixed_window");
  got = read(answer(0, bulk("weir1f " + live + " 9")), window, 2);
  EXPECT_EQ(got.decision, (Decision{Verdict::denied, 10, 1, 500ms, 500ms}));
  const core::Rule counter = rule("10/s algorithm=sliding_window_counter");
  got = read(answer(1, bulk("weir1c 1732147202000000000 4 7")), counter, 1);
  EXPECT_EQ(got.decision, (Decision{Verdict::allowed, 10, 0, {}, 1'375'000'001ns}));
  const core::Rule log = rule("10/s algorithm=sliding_window_log");
  got = read(answer(1, "$-1\r\n"), log, 3);
  EXPECT_EQ(got.decision, (Decision{Verdict::allowed, 10, 7, {}, 1s}));
  got = read(answer(0, "*3\r\n:9\r\n" + bulk("1732147200400000000") + bulk("1732147199700000000")), log, 2);
  EXPECT_EQ(got.decision, (Decision{Verdict::denied, 10, 1, 200ms, 900ms}));
  got = read(answer(1, "*3\r\n:9\r\n" + bulk("1732147200400000000") + bulk("1732147200400000000")), log, 1);
  EXPECT_EQ(got.decision, (Decision{Verdict::allowed, 10, 0, {}, 1s}));
}

TEST(Script, all_limits_have_to_allow) {
  const core::Rule gcra = rule("10/s");
  const core::Rule window = rule("10/s algorithm=fixed_window");
  const std::array asks = {ScriptCheck{&gcra, "a", Cost{1}}, ScriptCheck{&window, "b", Cost{2}}};
  resp::ReplyParser parser;
  const std::string bytes =
      "*5\r\n:0\r\n" + bulk("1732147200") + bulk("0") + "$-1\r\n" + bulk("weir1f 1732147201000000000 9");
  std::array<Decision, 2> decisions;
  EXPECT_EQ(read_check(parser.parse(bytes).value, asks, decisions), false);
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_EQ(decisions[1].verdict, Verdict::denied);
}

TEST(Script, what_is_not_its_answer_is_an_error) {
  const std::string foreign = "the store's answer is not that of weir's script";
  const std::string state = bulk("weir1g 1732147201000000000 100000000");
  const std::string time = bulk("1732147200") + bulk("500000");
  const struct {
    const char* rule;
    std::string bytes;
    std::string why;
  } rows[] = {
      {"10/s", "-NOSCRIPT No matching script. Please use EVAL.\r\n",
       "NOSCRIPT No matching script. Please use EVAL."},
      {"10/s", "-WRONGTYPE key 1 of this request holds no state of gcra\r\n",
       "WRONGTYPE key 1 of this request holds no state of gcra"},
      {"10/s", "+OK\r\n", foreign},
      {"10/s", "$-1\r\n", foreign},
      {"10/s", ":1\r\n", foreign},
      {"10/s", "*0\r\n", foreign},
      {"10/s", ">4\r\n:1\r\n" + time + "$-1\r\n", foreign},
      {"10/s", "*3\r\n:1\r\n" + time, foreign},
      {"10/s", "*5\r\n:1\r\n" + time + "$-1\r\n$-1\r\n", foreign},
      {"10/s", "*4\r\n+1\r\n" + time + "$-1\r\n", foreign},
      {"10/s", "*4\r\n:1\r\n:1732147200\r\n:500000\r\n$-1\r\n", foreign},
      {"10/s", "*4\r\n:1\r\n" + bulk("x") + bulk("5") + "$-1\r\n", foreign},
      {"10/s", "*4\r\n:1\r\n" + bulk("1732147200 1") + bulk("5") + "$-1\r\n", foreign},
      {"10/s", "*4\r\n:1\r\n" + bulk("9223372036") + bulk("854776") + "$-1\r\n", foreign},
      {"10/s", "*4\r\n:1\r\n" + bulk("1732147200") + bulk("1000000") + "$-1\r\n", foreign},
      {"10/s", "*4\r\n:1\r\n" + bulk("1732147200") + bulk("-1") + "$-1\r\n", foreign},
      {"10/s", answer(1, ":5\r\n"), foreign},
      {"10/s", answer(1, bulk("")), foreign},
      {"10/s", answer(1, bulk("hello")), foreign},
      {"10/s", answer(1, bulk("weir1g ")), foreign},
      {"10/s", answer(1, bulk("weir1g 1")), foreign},
      {"10/s", answer(1, bulk("weir1g 1 2 3")), foreign},
      {"10/s", answer(1, bulk("weir1g 1  2")), foreign},
      {"10/s", answer(1, bulk("weir1g 1 2 ")), foreign},
      {"10/s", answer(1, bulk("weir1g 1 2\n")), foreign},
      {"10/s", answer(1, bulk("weir1g -1 2")), foreign},
      {"10/s", answer(1, bulk("weir1g 1 18446744073709551616")), foreign},
      {"10/s", answer(0, bulk("weir1g 1732147201000000000 0")), foreign},
      {"10/s", answer(0, bulk("weir1g 18446744073709551615 100000000")), foreign},
      {"10/s", answer(0, bulk("1732147201000000000 100000000")), foreign},
      {"10/s", answer(0, bulk("1732147201000000000")), foreign},
      {"10/s", answer(0, bulk("weir2g 1732147201000000000 100000000")), foreign},
      {"10/s", answer(0, bulk("weir1f 1732147201000000000 100000000")), foreign},
      {"10/s algorithm=fixed_window", answer(1, bulk("weir1f 1732147201000000000")), foreign},
      {"10/s algorithm=fixed_window", answer(1, bulk("weir1g 1732147201000000000 1")), foreign},
      {"10/day align=calendar", answer(1, bulk("weir1d 1732147201000000000 21489")), foreign},
      {"10/day align=calendar", answer(1, bulk("weir1d 1732147201000000000 134217728 1")), foreign},
      {"10/day align=calendar", answer(1, bulk("weir1d 1732147201000000000 21489 68719476736")), foreign},
      {"10/s algorithm=sliding_window_counter", answer(1, bulk("weir1c 1732147201000000000 1")), foreign},
      {"10/s algorithm=sliding_window_counter", answer(1, bulk("weir1c 1732147201000000000 4294967296 1")),
       foreign},
      {"10/s algorithm=sliding_window_counter", answer(1, bulk("weir1c 1732147201000000000 1 4294967296")),
       foreign},
      {"10/s algorithm=sliding_window_log", answer(1, state), foreign},
      {"10/s algorithm=sliding_window_log", answer(1, "*2\r\n:1\r\n" + bulk("1732147200400000000")), foreign},
      {"10/s algorithm=sliding_window_log",
       answer(1, "*3\r\n:0\r\n" + bulk("1732147200400000000") + bulk("1732147200400000000")), foreign},
      {"10/s algorithm=sliding_window_log", answer(1, "*3\r\n:1\r\n" + bulk("1732147200400000000") + "_\r\n"),
       foreign},
      {"10/s algorithm=sliding_window_log",
       answer(1, "*3\r\n:1\r\n" + bulk("1732147200400000000") + bulk("1732147199400000000")), foreign},
      {"10/s algorithm=sliding_window_log",
       answer(1, "*3\r\n:1\r\n" + bulk("9223372036854775808") + bulk("1732147200400000000")), foreign},
      {"10/s", answer(0, state), "weir's script and weir disagree: it did not charge what is allowed"},
      {"5/s", answer(1, bulk("weir1g 1732147202000000000 200000000")),
       "weir's script and weir disagree: it charged what is denied"},
  };
  for (const auto& row : rows) {
    const Read got = read(row.bytes, rule(row.rule), 1);
    ASSERT_FALSE(got.charged) << row.bytes;
    EXPECT_EQ(got.charged.error(), row.why) << row.bytes;
  }
}

}  // namespace
}  // namespace weir::redis
