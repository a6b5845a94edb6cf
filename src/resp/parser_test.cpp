#include "resp/parser.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace weir::inline v0_1::resp {
namespace {

using namespace std::string_literals;
constexpr std::size_t kRoom = kKiB * kKiB - 32;  // for words, in a mebibyte
constexpr std::size_t kParsers = 10000;

using Command = std::vector<std::string>;

std::string command(const Command& words) {
  std::string wire = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) wire += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return wire;
}

// What a connection makes of a stream: its commands, without the empty ones, and how it ended.
struct Heard {
  std::vector<Command> commands;
  std::string error;     // empty, or the one error line
  std::string leftover;  // an unfinished command

  bool operator==(const Heard&) const = default;
};

// Feeds the pieces as a server would: everything not yet consumed, each time at a fresh address of exactly
// its size, so that the address sanitizer sees a single byte read too far.
Heard hear(std::initializer_list<std::string_view> pieces, const Bounds& bounds = {}) {
  Heard heard;
  CommandParser parser;
  for (const std::string_view piece : pieces) {
    heard.leftover += piece;
    const std::vector<char> buffer(heard.leftover.begin(), heard.leftover.end());
    std::string_view input(buffer.data(), buffer.size());
    CommandParser::Status status;
    while ((status = parser.next(input, bounds)) == CommandParser::Status::complete) {
      const auto args = parser.args();
      if (!args.empty()) heard.commands.emplace_back(args.begin(), args.end());
      input.remove_prefix(parser.consumed());
    }
    heard.leftover = input;
    if (status == CommandParser::Status::malformed) {
      heard.error = parser.error();
      heard.leftover.clear();
      break;
    }
    EXPECT_LE(heard.leftover.size(), bounds.command_bytes);
  }
  return heard;
}

Heard hear(std::string_view stream, const Bounds& bounds = {}) { return hear({stream}, bounds); }

Heard commands(std::vector<Command> expected) { return {std::move(expected), "", ""}; }

// Readable when a table row fails.
std::ostream& operator<<(std::ostream& out, const Heard& heard) {
  for (const Command& words : heard.commands) out << testing::PrintToString(words) << ' ';
  return out << "error: '" << heard.error << "' leftover: " << testing::PrintToString(heard.leftover);
}

TEST(CommandParser, words_are_any_bytes) {
  const Command rows[] = {
      {"PING"},
      {"CL.THROTTLE", "key:000000000001", "15", "30", "60"},
      {"GET", ""},
      {"GET", "\0"s},
      {"GET", "a\r\nb"},
      {"GET", "\r\n"},
      {"GET", "\xff\xfe\0\x80"s},
      {"GET", "*1\r\n$4\r\nPING\r\n"},
      {"GET", std::string(9, 'x'), std::string(10, 'x'), std::string(99, 'x'), std::string(100, 'x')},
      {"GET", std::string(999, 'x'), std::string(1000, 'x'), std::string(512 * kKiB, 'x')},
      Command(9, "nine"),
      Command(10, "ten"),
      Command(16, "sixteen"),
      Command(17, "seventeen"),
      Command(5000, "five thousand"),
  };
  for (const Command& row : rows) EXPECT_EQ(hear(command(row)), commands({row}));
}

TEST(CommandParser, what_carries_no_command_is_ignored) {
  for (const std::string_view nothing : {"*0\r\n", "*-1\r\n", "*-10\r\n", "*-9223372036854775808\r\n", "\r\n",
                                         "\n", "   \r\n", " \t \n", "\r\r\n"}) {
    CommandParser parser;
    EXPECT_EQ(parser.next(nothing, {}), CommandParser::Status::complete) << nothing;
    EXPECT_TRUE(parser.args().empty()) << nothing;
    EXPECT_EQ(parser.consumed(), nothing.size()) << nothing;
    EXPECT_EQ(hear(std::string(nothing) + command({"PING"})), commands({{"PING"}})) << nothing;
  }
}

// The texts are Redis 7.0.15's, measured, but for the ones marked "ours".
TEST(CommandParser, what_is_not_a_command_gets_one_error) {
  const struct {
    std::string stream;
    std::string_view error;
  } rows[] = {
      {"*3000000000\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*262145\r\n", "ERR Protocol error: invalid multibulk length"},  // ours: Redis 7 goes to 2^31 - 1
      {"*abc\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*+1\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*01\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*-0\r\n", "ERR Protocol error: invalid multibulk length"},
      {"* 1\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*/\r\n", "ERR Protocol error: invalid multibulk length"},  // the characters around the digits
      {"*:\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*:" + command(Command(10, "w")).substr(3), "ERR Protocol error: invalid multibulk length"},
      {"*1\r\n$:\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$1/\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$10:\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\n", "ERR Protocol error: invalid multibulk length"},            // ours: Redis waits for a CR
      {"*1\n\n", "ERR Protocol error: invalid multibulk length"},          // ours
      {"*1\n$4\nPING\n", "ERR Protocol error: invalid multibulk length"},  // ours: Redis waits for a CR
      {"*1\rX", "ERR Protocol error: invalid multibulk length"},           // ours: Redis skips the X
      {"*1\r\n$-10\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$2e9\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$abc\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$+4\r\nPING\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$04\r\nPING\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$ 4\r\nPING\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$600000000\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$524289\r\n", "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$4\nPING\n", "ERR Protocol error: invalid bulk length"},         // ours
      {"*1\r\n$4\r\nPINGXX", "ERR Protocol error: expected CRLF after bulk"},  // ours: Redis skips two bytes
      {"*1\r\n$4\r\nPIN\r\n\r\n", "ERR Protocol error: expected CRLF after bulk"},  // ours
      {"*1\r\n:1\r\n", "ERR Protocol error: expected '$', got ':'"},
      {"*1\r\n*1\r\n$4\r\nPING\r\n", "ERR Protocol error: expected '$', got '*'"},
      {"*2\r\n$4\r\nPING\r\n+OK\r\n", "ERR Protocol error: expected '$', got '+'"},
      {"*1\r\n\r\n", "ERR Protocol error: expected '$', got ' '"},
      {"*1\r\n\n\r\n", "ERR Protocol error: expected '$', got ' '"},
      {"*1\r\n\0"s, "ERR Protocol error: expected '$', got '\\x00'"},   // ours: Redis sends the byte itself
      {"*1\r\n\x1b", "ERR Protocol error: expected '$', got '\\x1b'"},  // ours
      {"*1\r\n\xff", "ERR Protocol error: expected '$', got '\\xff'"},  // ours
      {"*" + std::string(65536, '1'), "ERR Protocol error: too big mbulk count string"},
      {"*1\r\n$" + std::string(65536, '1'), "ERR Protocol error: too big bulk count string"},
      {std::string(65537, 'A'), "ERR Protocol error: too big inline request"},
      {std::string(65537, 'A') + "\r\n", "ERR Protocol error: too big inline request"},
      {"ECHO \"a\r\n", "ERR Protocol error: unbalanced quotes in request"},
      {"ECHO 'a\r\n", "ERR Protocol error: unbalanced quotes in request"},
      {"ECHO \"a\"b\r\n", "ERR Protocol error: unbalanced quotes in request"},
      {"ECHO 'a'b\r\n", "ERR Protocol error: unbalanced quotes in request"},
      {"ECHO a'b\r\n", "ERR Protocol error: unbalanced quotes in request"},
      {"ECHO \"a\\\r\n", "ERR Protocol error: unbalanced quotes in request"},
      {"ECHO \"a\\\"\r\n", "ERR Protocol error: unbalanced quotes in request"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(hear(row.stream), (Heard{{}, std::string(row.error), ""})) << row.stream.substr(0, 60);
    // A command before it is still run, and the answer is the same for a client that writes slowly.
    const std::string after_one = command({"PING"}) + row.stream;
    EXPECT_EQ(hear(after_one), (Heard{{{"PING"}}, std::string(row.error), ""})) << row.stream.substr(0, 60);
    const std::string_view view = after_one;
    for (std::size_t cut = 1; cut < view.size(); cut += 1 + view.size() / 64) {
      EXPECT_EQ(hear({view.substr(0, cut), view.substr(cut)}), hear(after_one))
          << row.stream.substr(0, 60) << cut;
    }
  }
}

TEST(CommandParser, stays_in_error) {
  CommandParser parser;
  EXPECT_EQ(parser.next("*x\r\n", {}), CommandParser::Status::malformed);
  EXPECT_EQ(parser.next(command({"PING"}), {}), CommandParser::Status::malformed);
  EXPECT_EQ(parser.error(), "ERR Protocol error: invalid multibulk length");
  EXPECT_TRUE(parser.args().empty());
  EXPECT_EQ(parser.consumed(), 0U);
}

TEST(CommandParser, inline_lines_are_split_as_redis_splits_them) {
  const struct {
    std::string line;
    Command words;
  } rows[] = {
      {"PING\r\n", {"PING"}},
      {"PING\n", {"PING"}},
      {"  ECHO\t a  \r\n", {"ECHO", "a"}},
      {"\v\fECHO a\vb\n", {"ECHO", "a\vb"}},
      {"ECHO a\rb\r\n", {"ECHO", "a", "b"}},
      {"ECHO a\\nb\n", {"ECHO", "a\\nb"}},
      {"ECHO \"a b\"\n", {"ECHO", "a b"}},
      {"ECHO 'a b'\n", {"ECHO", "a b"}},
      {"ECHO \"\"\n", {"ECHO", ""}},
      {"ECHO '' \"\" x\n", {"ECHO", "", "", "x"}},
      {"ECHO \"it's\" 'say \"hi\"'\n", {"ECHO", "it's", "say \"hi\""}},
      {"ECHO key\"one two\"\n", {"ECHO", "keyone two"}},
      {"ECHO \"a\"\vb\n", {"ECHO", "a", "b"}},
      {R"(ECHO "\n\r\t\b\a\\\"\q")"
       "\n",
       {"ECHO", "\n\r\t\b\a\\\"q"}},
      {R"(ECHO "\x41\xfF\x00")"
       "\n",
       {"ECHO", "A\xff\0"s}},
      {R"(ECHO "\x4" "\xZZ" "\x")"
       "\n",
       {"ECHO", "x4", "xZZ", "x"}},
      {R"(ECHO 'it\'s' '\n\\ ')"
       "\n",
       {"ECHO", "it's", "\\n\\\\ "}},
      {"ECHO a\0b \xff\n"s, {"ECHO", "a\0b"s, "\xff"}},  // ours: Redis never finds the end of a line with NUL
      {"$-10\r\n", {"$-10"}},
      {"a b c d e f g h i j k l m n o p q r \"s\"\n",
       {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s"}},
  };
  for (const auto& row : rows) EXPECT_EQ(hear(row.line), commands({row.words})) << row.line;
}

TEST(CommandParser, the_longest_inline_line_and_one_byte_more) {
  const std::string longest(64 * kKiB, 'A');
  EXPECT_EQ(hear(longest + "\n"), commands({{longest}}));
  EXPECT_EQ(hear(longest).leftover.size(), longest.size());
  EXPECT_EQ(hear(longest + "A").error, "ERR Protocol error: too big inline request");
}

// Everything at once: pipelined, binary, empty, inline, quoted, ignored, more words than fit in the
// parser itself.
std::string varied_stream() {
  return command({"CL.THROTTLE", "key:000000000001", "15", "30", "60"}) + command({"GET", "a\r\n\0\xff"s}) +
         "*0\r\n" + "PING\r\n" + command({"SET", "", "x"}) + "\r\n" + "ECHO \"a \\x41\" 'b'\n" +
         command(Command(17, "w")) + "*-1\r\n" + command({"WEIR.CHECK", std::string(130, 'k')}) +
         "get  a\r\n" + command({"QUIT"});
}

std::vector<Command> varied_commands() {
  return {{"CL.THROTTLE", "key:000000000001", "15", "30", "60"},
          {"GET", "a\r\n\0\xff"s},
          {"PING"},
          {"SET", "", "x"},
          {"ECHO", "a A", "b"},
          Command(17, "w"),
          {"WEIR.CHECK", std::string(130, 'k')},
          {"get", "a"},
          {"QUIT"}};
}

TEST(CommandParser, a_stream_cut_anywhere_holds_the_same_commands) {
  const std::string stream = varied_stream();
  const std::string_view view = stream;
  const Heard expected = commands(varied_commands());
  ASSERT_EQ(hear(stream), expected);
  for (std::size_t cut = 0; cut <= view.size(); ++cut) {
    ASSERT_EQ(hear({view.substr(0, cut), view.substr(cut)}), expected) << "cut at " << cut;
  }
}

TEST(CommandParser, a_stream_cut_at_any_two_places_holds_the_same_commands) {
  const std::string stream = command({"GET", "a\r\n"}) + "*0\r\nECHO \"\\x41\"\r\n\r\n" +
                             command({"SET", "", std::string(12, 'v')}) + "P\n";
  const std::string_view view = stream;
  const Heard expected =
      commands({{"GET", "a\r\n"}, {"ECHO", "A"}, {"SET", "", std::string(12, 'v')}, {"P"}});
  for (std::size_t first = 0; first <= view.size(); ++first) {
    for (std::size_t second = first; second <= view.size(); ++second) {
      ASSERT_EQ(hear({view.substr(0, first), view.substr(first, second - first), view.substr(second)}),
                expected)
          << "cut at " << first << " and " << second;
    }
  }
}

TEST(CommandParser, every_prefix_of_a_command_is_unfinished) {
  for (const std::string& wire : {command({"CL.THROTTLE", "key", "15", "30", "60"}),
                                  command(Command(20, "word")), "ECHO \"a b\" c\r\n"s}) {
    for (std::size_t size = 0; size < wire.size(); ++size) {
      CommandParser parser;
      ASSERT_EQ(parser.next(std::string_view(wire).substr(0, size), {}), CommandParser::Status::incomplete)
          << size;
      ASSERT_TRUE(parser.args().empty());
      ASSERT_EQ(parser.consumed(), 0U);
    }
  }
}

// Looking again from the front at every byte would read 5 * 10^11 bytes of each: 5 s or more even for memchr.
TEST(CommandParser, a_mebibyte_sent_byte_by_byte_is_parsed_once) {
  const std::string streams[] = {
      command({"SET", std::string(kRoom / 2, 'a'), std::string(kRoom / 2 - 32, 'b')}),
      command(Command(kRoom / 7, "w")),  // seven bytes a word
      std::string(kRoom, 'A') + "\n",
  };
  const Bounds bounds{.inline_bytes = kKiB * kKiB};
  const auto started = std::chrono::steady_clock::now();
  for (const std::string& stream : streams) {
    CommandParser parser;
    for (std::size_t size = 1; size < stream.size(); ++size) {
      ASSERT_EQ(parser.next({stream.data(), size}, bounds), CommandParser::Status::incomplete);
    }
    ASSERT_EQ(parser.next(stream, bounds), CommandParser::Status::complete);
    EXPECT_EQ(parser.consumed(), stream.size());
  }
  const std::string header = "*" + std::string(kRoom, '1');
  CommandParser parser;
  for (std::size_t size = 1; size < header.size(); ++size) {
    ASSERT_EQ(parser.next({header.data(), size}, bounds), CommandParser::Status::incomplete);
  }
  // Were it parsed from its beginning for each byte, it would take hours.
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::minutes(2));
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(CommandParser, ten_thousand_promises_of_a_million_words_cost_nothing) {
  EXPECT_LE(sizeof(CommandParser), 512U);
  const std::size_t before = resident_bytes();
  std::vector<CommandParser> parsers(kParsers);
  for (CommandParser& parser : parsers) {
    ASSERT_EQ(parser.next("*262144\r\n$524288\r\n", {}), CommandParser::Status::incomplete);
  }
  // The parsers themselves, and 16 MiB for the test's own allocator: one vector of a million words
  // would take 8 MiB.
  EXPECT_LE(resident_bytes(), before + kParsers * sizeof(CommandParser) + 16 * kKiB * kKiB);
}

TEST(CommandParser, a_command_is_bounded_as_a_whole) {
  const Bounds bounds{.args = 100, .bulk_bytes = 100, .inline_bytes = 100, .command_bytes = 64};
  // "*1\r\n$52\r\n" and the CRLF after the word are eleven bytes.
  EXPECT_EQ(hear(command({std::string(53, 'x')}), bounds), commands({{std::string(53, 'x')}}));
  const struct {
    std::string stream;
    std::string_view error;
  } rows[] = {
      {"*1\r\n$54\r\n", "ERR Protocol error: too big request"},  // at the announcement, before the bytes
      {command(Command(100, "w")), "ERR Protocol error: too big request"},
      {"*" + std::string(63, '1'), "ERR Protocol error: too big request"},
      {std::string(64, 'A'), "ERR Protocol error: too big inline request"},
  };
  for (const auto& row : rows) EXPECT_EQ(hear(row.stream, bounds).error, row.error) << row.stream;
}

TEST(CommandParser, bounds_hold_for_commands_that_arrive_whole) {
  const Bounds bounds{.args = 3, .bulk_bytes = 20, .inline_bytes = 32, .command_bytes = 48};
  const struct {
    Command words;
    std::string_view error;
  } rows[] = {
      {{"a", "b", "c"}, ""},
      {{"a", "b", "c", "d"}, "ERR Protocol error: invalid multibulk length"},
      {{std::string(20, 'x')}, ""},
      {{std::string(21, 'x')}, "ERR Protocol error: invalid bulk length"},
      {{std::string(20, 'x'), std::string(10, 'x')}, ""},                                     // 48 bytes
      {{std::string(20, 'x'), std::string(11, 'x')}, "ERR Protocol error: too big request"},  // 49 bytes
  };
  for (const auto& row : rows) EXPECT_EQ(hear(command(row.words), bounds).error, row.error);
}

TEST(CommandParser, a_bound_is_met_at_the_same_byte_however_the_input_is_cut) {
  const Bounds bounds{.args = 5, .bulk_bytes = 60, .inline_bytes = 32, .command_bytes = 64};
  const struct {
    std::string_view rest;  // what follows the first of two words
    std::size_t longest;    // first word for which this is not an error
  } rows[] = {
      {"", 51},  // 62 bytes, after which two more are allowed
      {"$1\r\ny\r\n", 46},
      {"!", 0},
      {"$1\n", 0},
      {"\r\n", 0},
      {"$111111111111111111111111111111111111", 0},
  };
  for (const auto& row : rows) {
    for (std::size_t length = 30; length <= 60; ++length) {
      const std::string wire =
          "*2\r\n" + command({std::string(length, 'x')}).substr(4) + std::string(row.rest);
      const std::string_view view = wire;
      const Heard expected = hear(wire, bounds);
      EXPECT_EQ(expected.error.empty(), length <= row.longest) << length << row.rest << expected.error;
      for (std::size_t cut = 0; cut <= view.size(); ++cut) {
        ASSERT_EQ(hear({view.substr(0, cut), view.substr(cut)}, bounds), expected)
            << length << row.rest << cut;
      }
    }
  }
}

TEST(CommandParser, without_a_password_little_is_accepted) {
  EXPECT_EQ(hear(command(Command(10, "w")), kUnauthenticated), commands({Command(10, "w")}));
  EXPECT_EQ(hear(command({std::string(16000, 'x')}), kUnauthenticated),
            commands({{std::string(16000, 'x')}}));
  const struct {
    std::string stream;
    std::string_view error;
  } rows[] = {
      {"*11\r\n", "ERR Protocol error: unauthenticated multibulk length"},
      {"*1\r\n$16385\r\n", "ERR Protocol error: unauthenticated bulk length"},
      {"*1\r\n$16384\r\n", "ERR Protocol error: too big request"},
      {"*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length"},
      {"*2\r\n$9000\r\n" + std::string(9000, 'x') + "\r\n$9000\r\n", "ERR Protocol error: too big request"},
      // Beyond what Redis allows to anybody, it does not mention the password.
      {"*3000000000\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*1\r\n$600000000\r\n", "ERR Protocol error: invalid bulk length"},
      {"a b c d e f g h i j k\r\n", "ERR Protocol error: too big inline request"},
      {std::string(16385, 'A'), "ERR Protocol error: too big inline request"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(hear(row.stream, kUnauthenticated).error, row.error) << row.stream.substr(0, 40);
  }
}

TEST(CommandParser, words_are_views_into_the_input_unless_they_were_quoted) {
  const struct {
    std::string stream;
    bool in_input;
  } rows[] = {
      {command({"ECHO", "a"}), true}, {command(Command(17, "w")), true},         {"ECHO a\n", true},
      {"ECHO \"a\" b\n", false},      {command({"ECHO", "after quotes"}), true}, {"ECHO \"\"\n", true},
  };
  CommandParser parser;
  for (const auto& row : rows) {
    ASSERT_EQ(parser.next(row.stream, {}), CommandParser::Status::complete);
    EXPECT_EQ(parser.args_in_input(), row.in_input) << row.stream;
    for (const std::string_view word : parser.args()) {
      const bool inside = word.data() >= row.stream.data() &&
                          word.data() + word.size() <= row.stream.data() + row.stream.size();
      EXPECT_TRUE(inside || !row.in_input) << row.stream;
    }
  }
}

TEST(CommandParser, moving_it_keeps_its_words_and_its_progress) {
  for (const std::string& stream : {command({"ECHO", "a"}), command(Command(20, "w")), "ECHO \"a\"\n"s,
                                    "ECHO 'a longer word than fits inside'\n"s}) {
    auto first = std::make_unique<CommandParser>();
    ASSERT_EQ(first->next(std::string_view(stream).substr(0, 7), {}), CommandParser::Status::incomplete);
    auto second = std::make_unique<CommandParser>(std::move(*first));
    first.reset();
    ASSERT_EQ(second->next(stream, {}), CommandParser::Status::complete);
    const auto args = second->args();
    const Command words(args.begin(), args.end());
    const CommandParser third(std::move(*second));
    second.reset();
    EXPECT_EQ(Command(third.args().begin(), third.args().end()), words);
  }
}

TEST(CommandParser, a_browser_at_the_wrong_port_is_recognised) {
  const struct {
    std::string_view line;
    bool http;
  } rows[] = {
      {"POST / HTTP/1.1\r\n", true},
      {"post / HTTP/1.1\r\n", true},
      {"Host: 127.0.0.1:6390\r\n", true},
      {"HOST: x\n", true},
      {"*1\r\n$5\r\nhOsT:\r\n", true},
      {"GET / HTTP/1.1\r\n", false},
      {"Host x\r\n", false},
      {"POSTS\r\n", false},
      {"PING POST\r\n", false},
      {"\r\n", false},
  };
  for (const auto& row : rows) {
    CommandParser parser;
    ASSERT_EQ(parser.next(row.line, {}), CommandParser::Status::complete);
    EXPECT_EQ(looks_like_http(parser.args()), row.http) << row.line;
  }
}

}  // namespace
}  // namespace weir::resp
