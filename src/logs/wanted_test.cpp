#include "logs/wanted.hpp"

#include <gtest/gtest.h>

#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

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
  LineParser parser = parser_of("csv", wanted("a,b"), "time,a,b");
  LogRecord record{};
  std::string one;
  std::string other;
  ASSERT_EQ(parser.parse("1795240187,x,yz", record, one), "");
  ASSERT_EQ(parser.parse("1795240187,xy,z", record, other), "");
  EXPECT_NE(one, other);
}

// The values of four fields, of which a line may lack some; "none" is one that it lacks.
std::string values(const char* format, const std::string& header, std::string line) {
  Wanted made;
  made.may_lack = true;
  made.key = {{"ip", false, {}, {}},
              {"user", false, {}, {}},
              {"path", false, {}, {"uri"}},
              {"header.referer", false, {}, {"referer"}}};
  LineParser parser = parser_of(format, made, header);
  LogRecord record{};
  std::string key;
  const std::size_t size = line.size();
  line.append(64, '\0');
  if (const auto fault = parser.parse(std::string_view(line).substr(0, size), record, key); !fault.empty())
    return std::string(fault);
  std::string text;
  for (const std::string_view value : values_of(key, made.key.size()))
    text += (text.empty() ? "" : " ") + (value.data() == nullptr ? "none" : std::string(value));
  return text;
}

TEST(Wanted, a_path_has_one_spelling_when_asked) {
  Wanted made = wanted("path");
  made.key[0].path = true;
  LineParser parser =
      parser_of("combined", made, "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512");
  const auto path_of = [&](const std::string& target) {
    const std::string told =
        read(parser, "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET " + target + " HTTP/1.1\" 200 512");
    return told.substr(0, told.find(" at +"));
  };
  EXPECT_EQ(path_of("/v1//x/../%63hat?q=1"), "/v1/chat");
  EXPECT_EQ(path_of("/a%2fb/./c"), "/a%2fb/c");
}

TEST(Wanted, a_line_may_lack_fields_when_asked) {
  const std::string combined = "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET /a HTTP/1.1\" 200 5";
  EXPECT_EQ(values("combined", combined, combined + " \"-\" \"curl\""), "192.0.2.1 none /a none");
  EXPECT_EQ(values("combined", combined,
                   "192.0.2.1 - ann [21/Nov/2026:05:49:47 +0000] \"\" 400 5 \"http://x/\" \"curl\""),
            "192.0.2.1 ann none http://x/");
  EXPECT_EQ(values("jsonl", "{", R"({"ts":1795240187,"uri":"/b","user":"ann"})"), "none ann /b none");
  EXPECT_EQ(values("jsonl", "{", R"({"ts":1795240187,"header":{"referer":"r"},"user":null})"),
            "none none none r");
  EXPECT_EQ(values("csv", "time,path,ip", "2026-11-21T05:49:47Z,/c,192.0.2.1"), "192.0.2.1 none /c none");
  EXPECT_EQ(values("csv", "time,user,ip", "2026-11-21T05:49:47Z,,-"), "none none none none");
}

TEST(Wanted, further_fields_are_told_of_each_line) {
  Wanted made = wanted("ip");
  made.also = {{"status", false, {}, {}}, {"path", false, {}, {"uri"}, true}, {"nobody", false, {}, {}}};
  const auto told = [&](const char* format, const std::string& header, std::string line) {
    LineParser parser = parser_of(format, made, header);
    LogRecord record{};
    std::string key;
    const std::size_t size = line.size();
    line.append(64, '\0');
    std::string text(parser.parse(std::string_view(line).substr(0, size), record, key));
    text += key + " |";
    for (const std::string_view value : parser.also())
      text += " " + (value.data() == nullptr ? "none" : std::string(value));
    return text;
  };
  EXPECT_EQ(told("combined", "", "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET /a//b?c HTTP/1.1\" 429 5"),
            "192.0.2.1 | 429 /a/b none");
  EXPECT_EQ(told("jsonl", "{", R"({"ts":1795240187,"uri":"/a","ip":"192.0.2.1"})"),
            "192.0.2.1 | none /a none");
  EXPECT_EQ(told("csv", "time,ip,status", "2026-11-21T05:49:47Z,192.0.2.1,200"), "192.0.2.1 | 200 none none");
}

TEST(Wanted, a_line_never_lacks_its_time) {
  EXPECT_EQ(values("jsonl", "{", R"({"user":"ann"})").substr(0, 23), "there is no field time ");
}

}  // namespace
}  // namespace weir::logs
