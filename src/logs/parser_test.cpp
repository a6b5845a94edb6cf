#include "logs/parser.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace weir::logs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTime = 1795240187 * kSecond;

// "KEY at SECONDS costs N", or what is wrong.
std::string read(Parser& parser, std::string line, std::size_t parts = 1) {
  Record record{};
  std::string key;
  const std::size_t size = line.size();
  line.append(64, '\0');
  const std::string_view fault = parser.parse(std::string_view(line).substr(0, size), record, key);
  if (!fault.empty()) return std::string(fault);
  return shown(key, parts) + " at +" + std::to_string((record.ns - kTime) / 1'000'000) + " ms costs " +
         std::to_string(record.cost);
}

Wanted wanted(const char* key, const char* cost = "", const char* time = "") {
  Wanted made;
  made.set_key(key);
  made.cost = cost;
  made.time = time;
  return made;
}

struct Row {
  const char* key;
  const char* cost;
  std::string line;
  const char* answer;
};

TEST(Combined, lines_as_servers_write_them) {
  const std::string time = "[21/Nov/2026:05:49:47 +0000]";
  const std::string tail = " \"GET /a?b=c HTTP/1.1\" 200 512";
  const Row rows[] = {
      {"ip", "", "192.0.2.1 - - " + time + tail, "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", "192.0.2.1 - ann " + time + tail + " \"-\" \"curl/8\" 0.005 extra",
       "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", "192.0.2.1 - - [21/Nov/2026:05:49:47.250000]" + tail, "192.0.2.1 at +250 ms costs 1"},
      {"ip", "", "::ffff:192.0.2.1 - - " + time, "192.0.2.1 at +0 ms costs 1"},
      {"ip/64", "", "2001:db8::9 - - " + time, "2001:db8::/64 at +0 ms costs 1"},
      {"ip", "", "crawler.example.org - - " + time, "crawler.example.org at +0 ms costs 1"},
      {"ip", "", "example.org:443 192.0.2.1 - - " + time + tail, "192.0.2.1 at +0 ms costs 1"},
      {"vhost", "", "example.org:443 192.0.2.1 - - " + time + tail, "example.org:443 at +0 ms costs 1"},
      {"vhost", "", "192.0.2.1 - - " + time + tail, "- at +0 ms costs 1"},
      {"user", "", "192.0.2.1 - John [x] Smith " + time + tail, "John [x] Smith at +0 ms costs 1"},
      {"ident", "", "192.0.2.1 id - " + time + tail, "id at +0 ms costs 1"},
      {"path", "", "192.0.2.1 - - " + time + tail, "/a?b=c at +0 ms costs 1"},
      {"method", "", "192.0.2.1 - - " + time + tail, "GET at +0 ms costs 1"},
      {"protocol", "", "192.0.2.1 - - " + time + tail, "HTTP/1.1 at +0 ms costs 1"},
      {"request", "", "192.0.2.1 - - " + time + " \"GET /\\\"x\\\" HTTP/1.1\" 200 1",
       "GET /\\\"x\\\" HTTP/1.1 at +0 ms costs 1"},
      {"status", "", "192.0.2.1 - - " + time + tail, "200 at +0 ms costs 1"},
      {"status", "", "192.0.2.1 - - " + time + " - 408 -", "408 at +0 ms costs 1"},
      {"ip", "bytes", "192.0.2.1 - - " + time + tail, "192.0.2.1 at +0 ms costs 512"},
      {"ip", "bytes", "192.0.2.1 - - " + time + " \"HEAD / HTTP/1.1\" 304 -", "192.0.2.1 at +0 ms costs 0"},
      {"referer", "", "192.0.2.1 - - " + time + tail + " \"http://x/\" \"a b\"",
       "http://x/ at +0 ms costs 1"},
      {"agent", "", "192.0.2.1 - - " + time + tail + " \"-\" \"a \\\" b\"", "a \\\" b at +0 ms costs 1"},
      {"ip,path", "", "192.0.2.1 - - " + time + tail, "192.0.2.1 /a?b=c at +0 ms costs 1"},
      // Rubbish in a field that is not used does no harm.
      {"ip", "", "192.0.2.1 - - " + time + " \"\\x16\\x03\xff\x01 [ \" 400", "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", "192.0.2.1 - - " + time + " \"GET / unclosed", "192.0.2.1 at +0 ms costs 1"},
      {"path", "", "192.0.2.1 - - " + time + " \"GET / unclosed", "unclosed quote"},
      {"agent", "", "192.0.2.1 - - " + time + tail, "the line ends before its agent"},
      {"ip", "bytes", "192.0.2.1 - - " + time + " \"GET / HTTP/1.1\" 200 12.5",
       "the cost is not a whole number below 2^63"},
      {"ip", "bytes", "192.0.2.1 - - " + time + " \"GET / HTTP/1.1\" 200 9223372036854775808",
       "the cost is not a whole number below 2^63"},
      {"ip", "", "192.0.2.1 - - no time", "there is no time in [brackets]"},
      {"ip", "", "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000", "the bracket of the time is not closed"},
      {"ip", "", "192.0.2.1 - - [21/Nix/2026:05:49:47 +0000]", "the time does not exist"},
      {"ip", "", time, "there is no client before the time"},
  };
  for (const Row& row : rows) {
    const auto parser = Parser::make(Format::combined, wanted(row.key, row.cost), "");
    EXPECT_EQ(read(*parser, row.line, std::string_view(row.key) == "ip,path" ? 2 : 1), row.answer)
        << row.line;
  }
}

TEST(JsonLines, members_by_name) {
  const Row rows[] = {
      {"ip", "", R"({"time":"2026-11-21T05:49:47Z","client_ip":"192.0.2.1"})", "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", R"( { "client_ip" : "192.0.2.1" , "msec" : 1795240187.250 } )",
       "192.0.2.1 at +250 ms costs 1"},
      {"ip", "",
       R"({"ts":1795240187.5,"request":{"remote_ip":"::ffff:192.0.2.1","headers":{"a":[1]}},"size":3})",
       "192.0.2.1 at +500 ms costs 1"},
      {"ip", "", R"({"remote_addr":"192.0.2.2","time":1795240187,"client":"192.0.2.1"})",
       "192.0.2.1 at +0 ms costs 1"},
      {"user.id", "", R"({"time":1795240187,"user":{"id":17}})", "17 at +0 ms costs 1"},
      {"user.id", "", R"({"time":1795240187,"user.id":"a\u00e9\n"})", "a\xC3\xA9\n at +0 ms costs 1"},
      {"flag", "", R"({"time":1795240187,"flag":true})", "true at +0 ms costs 1"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":42})", "192.0.2.1 at +0 ms costs 42"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":"42"})", "192.0.2.1 at +0 ms costs 42"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":-1})",
       "the cost is not a whole number below 2^63"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":null})",
       "there is no field size (--cost chooses another)"},
      {"user", "", R"({"time":1795240187,"ip":"192.0.2.1"})",
       "there is no field user (--key chooses another)"},
      {"ip", "", R"({"ip":"192.0.2.1"})",
       "there is no field time, timestamp, @timestamp, ts, time_iso8601, time_local, msec, date, datetime "
       "(--time chooses another)"},
      {"ip", "", R"({"time":1795240187,"ip":"192.0.2.1")", "the line is not a JSON object"},
      {"ip", "", R"({"time":1795240187,"ip":"192.0.2.1"} x)", "the line is not a JSON object"},
      {"ip", "", R"([1])", "the line is not a JSON object"},
      {"ip", "", R"(nonsense)", "the line is not a JSON object"},
  };
  for (const Row& row : rows) {
    const auto parser = Parser::make(Format::jsonl, wanted(row.key, row.cost), row.line);
    EXPECT_EQ(read(*parser, row.line), row.answer) << row.line;
  }
}

TEST(Columns, by_the_header) {
  struct {
    const char* header;
    const char* key;
    const char* cost;
    const char* line;
    const char* answer;
  } const rows[] = {
      {"time,ip", "ip", "", "1795240187,192.0.2.1", "192.0.2.1 at +0 ms costs 1"},
      {"ip,n,time", "ip", "n", "192.0.2.1,7,1795240187", "192.0.2.1 at +0 ms costs 7"},
      {"\"time\",\"a \"\"b\"\"\"", "a \"b\"", "", "1795240187,\"x,\"\"y\"\"\"", "x,\"y\" at +0 ms costs 1"},
      {"time,user,ip", "user", "", "1795240187,,192.0.2.1", " at +0 ms costs 1"},
      {"time,user", "user", "", "1795240187", "the line has too few columns"},
      {"time,user", "user", "", "1795240187,\"ann",
       "a quote is not closed, or is followed by something other than a separator"},
      {"time,user", "user", "", "1795240187,\"ann\"x",
       "a quote is not closed, or is followed by something other than a separator"},
      {"time,user,x", "user", "", "1795240187,ann,\"never looked at", "ann at +0 ms costs 1"},
  };
  for (const auto& row : rows) {
    const auto parser = Parser::make(Format::csv, wanted(row.key, row.cost), row.header);
    EXPECT_EQ(read(*parser, row.line), row.answer) << row.line;
  }
  const auto tabs = Parser::make(Format::tsv, wanted("ip"), "ip\ttime");
  EXPECT_EQ(read(*tabs, "192.0.2.1\t1795240187"), "192.0.2.1 at +0 ms costs 1");
}

TEST(Parser, tells_the_format_by_the_first_line) {
  EXPECT_EQ(Parser::guess(R"({"time":1})"), Format::jsonl);
  EXPECT_EQ(Parser::guess("time,ip"), Format::csv);
  EXPECT_EQ(Parser::guess("time\tip"), Format::tsv);
  EXPECT_EQ(Parser::guess("192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET /a,b HTTP/1.1\" 200 1"),
            Format::combined);
  EXPECT_EQ(Parser::guess("anything"), Format::combined);
}

// The message of `make` or `set_key`.
template <class Act>
std::string refusal(Act act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Parser, refuses_unknown_fields) {
  EXPECT_EQ(refusal([] { Parser::make(Format::combined, wanted("usr"), ""); }),
            "unknown field 'usr'; a combined log has ip, client, ident, user, time, request, method, path, "
            "protocol, status, bytes, referer, agent, vhost (use --format for another log)");
  EXPECT_EQ(refusal([] { Parser::make(Format::combined, wanted("ip", "", "ts"), ""); }),
            "time: a combined log has its time in [brackets]; use --format for another log");
  EXPECT_EQ(refusal([] { Parser::make(Format::csv, wanted("user"), "time,ip"); }),
            "there is no field user (--key chooses another); the columns are time, ip");
  EXPECT_EQ(refusal([] { Parser::make(Format::csv, wanted("ip"), "time,\"ip"); }),
            "the header line has an unclosed quote");
}

TEST(Wanted, refuses_malformed_keys) {
  const char* const bits =
      "': expected a number of bits after ip/: ip/64 for IPv6, ip/24 for IPv4, ip/24/64 for both";
  for (const char* key : {"ip/", "ip/x", "ip/129", "ip/-1", "ip/64/24", "ip/24/64/8", "ip/24/"}) {
    EXPECT_EQ(refusal([&] { wanted(key); }), "key: '" + std::string(key) + bits);
  }
  for (const char* key : {"", "ip,", ",user"}) {
    EXPECT_EQ(refusal([&] { wanted(key); }),
              "key: '" + std::string(key) + "' is neither a field nor fields separated by commas");
  }
}

TEST(Wanted, parts_of_a_key_do_not_run_together) {
  const auto parser = Parser::make(Format::csv, wanted("a,b"), "time,a,b");
  Record record{};
  std::string one;
  std::string other;
  ASSERT_EQ(parser->parse("0,x,yz", record, one), "");
  ASSERT_EQ(parser->parse("0,xy,z", record, other), "");
  EXPECT_NE(one, other);
}

// The values of four fields, of which a line may lack some; "none" is one that it lacks.
std::string values(Format format, const std::string& header, std::string line) {
  Wanted made;
  made.may_lack = true;
  made.key = {{"ip", false, {}, {}},
              {"user", false, {}, {}},
              {"path", false, {}, {"uri"}},
              {"header.referer", false, {}, {"referer"}}};
  const auto parser = Parser::make(format, made, header);
  Record record{};
  std::string key;
  const std::size_t size = line.size();
  line.append(64, '\0');
  if (const auto fault = parser->parse(std::string_view(line).substr(0, size), record, key); !fault.empty())
    return std::string(fault);
  std::string text;
  for (const std::string_view value : values_of(key, made.key.size()))
    text += (text.empty() ? "" : " ") + (value.data() == nullptr ? "none" : std::string(value));
  return text;
}

TEST(Wanted, a_path_has_one_spelling_when_asked) {
  Wanted made = wanted("path");
  made.key[0].path = true;
  const auto parser = Parser::make(Format::combined, made, "");
  const auto path_of = [&](const std::string& target) {
    const std::string told =
        read(*parser, "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET " + target + " HTTP/1.1\" 200 512");
    return told.substr(0, told.find(" at +"));
  };
  EXPECT_EQ(path_of("/v1//x/../%63hat?q=1"), "/v1/chat");
  EXPECT_EQ(path_of("/a%2fb/./c"), "/a%2fb/c");
}

TEST(Wanted, a_line_may_lack_fields_when_asked) {
  const std::string combined = "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET /a HTTP/1.1\" 200 5";
  EXPECT_EQ(values(Format::combined, combined, combined + " \"-\" \"curl\""), "192.0.2.1 none /a none");
  EXPECT_EQ(values(Format::combined, combined,
                   "192.0.2.1 - ann [21/Nov/2026:05:49:47 +0000] \"\" 400 5 \"http://x/\" \"curl\""),
            "192.0.2.1 ann none http://x/");
  EXPECT_EQ(values(Format::jsonl, "{", R"({"ts":1795240187,"uri":"/b","user":"ann"})"), "none ann /b none");
  EXPECT_EQ(values(Format::jsonl, "{", R"({"ts":1795240187,"header":{"referer":"r"},"user":null})"),
            "none none none r");
  EXPECT_EQ(values(Format::csv, "time,path,ip", "2026-11-21T05:49:47Z,/c,192.0.2.1"),
            "192.0.2.1 none /c none");
  EXPECT_EQ(values(Format::csv, "time,user,ip", "2026-11-21T05:49:47Z,,-"), "none none none none");
}

TEST(Wanted, further_fields_are_told_of_each_line) {
  Wanted made = wanted("ip");
  made.also = {{"status", false, {}, {}}, {"path", false, {}, {"uri"}, true}, {"nobody", false, {}, {}}};
  const auto told = [&](Format format, const std::string& header, std::string line) {
    const auto parser = Parser::make(format, made, header);
    Record record{};
    std::string key;
    const std::size_t size = line.size();
    line.append(64, '\0');
    std::string text(parser->parse(std::string_view(line).substr(0, size), record, key));
    text += key + " |";
    for (const std::string_view value : parser->also())
      text += " " + (value.data() == nullptr ? "none" : std::string(value));
    return text;
  };
  EXPECT_EQ(
      told(Format::combined, "", "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET /a//b?c HTTP/1.1\" 429 5"),
      "192.0.2.1 | 429 /a/b none");
  EXPECT_EQ(told(Format::jsonl, "{", R"({"ts":1795240187,"uri":"/a","ip":"192.0.2.1"})"),
            "192.0.2.1 | none /a none");
  EXPECT_EQ(told(Format::csv, "time,ip,status", "2026-11-21T05:49:47Z,192.0.2.1,200"),
            "192.0.2.1 | 200 none none");
}

TEST(Wanted, a_line_never_lacks_its_time) {
  EXPECT_EQ(values(Format::jsonl, "{", R"({"user":"ann"})").substr(0, 23), "there is no field time,");
}

}  // namespace
}  // namespace weir::logs
