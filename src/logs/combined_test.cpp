#include "logs/combined.hpp"

#include <gtest/gtest.h>

#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

struct CombinedRow {
  const char* key;
  const char* cost;
  std::string line;
  const char* answer;
};

TEST(Combined, lines_as_servers_write_them) {
  const std::string time = "[21/Nov/2026:05:49:47 +0000]";
  const std::string tail = " \"GET /a?b=c HTTP/1.1\" 200 512";
  const CombinedRow rows[] = {
      {"ip", "", "192.0.2.1 - - " + time + tail, "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", "192.0.2.1 - ann " + time + tail + " \"-\" \"curl/8\" 0.005 extra",
       "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", "192.0.2.1 - - [21/Nov/2026:05:49:47.250000]" + tail, "192.0.2.1 at +250 ms costs 1"},
      {"ip", "", "::ffff:192.0.2.1 - - " + time + tail, "192.0.2.1 at +0 ms costs 1"},
      {"ip/64", "", "2001:db8::9 - - " + time + tail, "2001:db8::/64 at +0 ms costs 1"},
      {"ip", "", "crawler.example.org - - " + time + tail, "crawler.example.org at +0 ms costs 1"},
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
      {"status", "", "192.0.2.1 - - " + time + " \"-\" 408 -", "408 at +0 ms costs 1"},
      {"ip", "bytes", "192.0.2.1 - - " + time + tail, "192.0.2.1 at +0 ms costs 512"},
      {"ip", "bytes", "192.0.2.1 - - " + time + " \"HEAD / HTTP/1.1\" 304 -", "192.0.2.1 at +0 ms costs 0"},
      {"referer", "", "192.0.2.1 - - " + time + tail + " \"http://x/\" \"a b\"",
       "http://x/ at +0 ms costs 1"},
      {"agent", "", "192.0.2.1 - - " + time + tail + " \"-\" \"a \\\" b\"", "a \\\" b at +0 ms costs 1"},
      {"ip,path", "", "192.0.2.1 - - " + time + tail, "192.0.2.1 /a?b=c at +0 ms costs 1"},
      // Rubbish in a field that is not used does no harm.
      {"ip", "", "192.0.2.1 - - " + time + " \"\\x16\\x03\xff\x01 [ \" 400 0", "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", "192.0.2.1 - - " + time + tail + " \"-\" \"cut o", "192.0.2.1 at +0 ms costs 1"},
      {"agent", "", "192.0.2.1 - - " + time + tail + " \"-\" \"cut o", "unclosed quote"},
      {"ip", "", "192.0.2.1 - - " + time + " \"GET / unclosed", "unclosed quote"},
      {"agent", "", "192.0.2.1 - - " + time + tail,
       "there is no field agent (--key chooses another); the fields are client, ident, user, time, request, "
       "method, path, "
       "protocol, status, bytes, vhost"},
      {"ip", "bytes", "192.0.2.1 - - " + time + " \"GET / HTTP/1.1\" 200 12.5",
       "no number of bytes follows the status"},
      {"ip", "bytes", "192.0.2.1 - - " + time + " \"GET / HTTP/1.1\" 200 9223372036854775808",
       "the cost is not a whole number below 2^63"},
      {"ip", "", "192.0.2.1 - - no time", "there is no time in [brackets]"},
      {"ip", "", "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000", "the bracket of the time is not closed"},
      {"ip", "", "192.0.2.1 - - [21/Nix/2026:05:49:47 +0000]" + tail, "the time does not exist"},
      {"ip", "", " " + time + tail, "there is no client before the time"},
  };
  for (const CombinedRow& row : rows) {
    LineParser parser = parser_of("combined", wanted(row.key, row.cost), row.line);
    EXPECT_EQ(read(parser, row.line, std::string_view(row.key) == "ip,path" ? 2 : 1), row.answer) << row.line;
  }
}

// Each was read once, with what the comment says as its client.
TEST(Combined, lines_that_are_almost_it_are_unreadable) {
  const std::string time = "[21/Nov/2026:05:49:47 +0000]";
  const std::string tail = " \"GET / HTTP/1.1\" 200 512 \"-\" \"curl/8\"";
  const std::string whole = "192.0.2.1 - - " + time + tail;
  const char* const front = "before the time are not a client, an identity and a user";
  const std::pair<std::string, const char*> rows[] = {
      // HAProxy: the address with its port
      {"192.0.2.1:40312 [21/Nov/2026:05:49:47.123] web app/a1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 \"GET "
       "/ "
       "HTTP/1.1\"",
       front},
      {"Nov 21 05:49:47 web nginx: " + whole, front},  // Nov
      {"<190>Nov 21 05:49:47 web nginx: " + whole,
       "the client is neither an address nor the name of a host"},  // <190>Nov
      {"2026-11-21T05:49:47.123456+00:00 web nginx: " + whole,
       "the client is neither an address nor the name of a host"},  // the time stamp
      {"2026-11-21T05:49:47.123456789Z stdout F " + whole, front},  // the time stamp
      {"192.0.2.1 - " + time + tail, front},                        // a word is missing
      {"192.0.2.1, 198.51.100.2 - - " + time + tail,
       "the client is neither an address nor the name of a host"},
      {"192.0.2.1 - - " + time + " GET / HTTP/1.1 200 512", "no quoted request follows the time"},
      {"192.0.2.1 - - " + time, "no quoted request follows the time"},
      {"192.0.2.1 - - " + time + " \"GET / HTTP/1.1\" 200", "no number of bytes follows the status"},
      {"192.0.2.1 - - " + time + " \"GET / HTTP/1.1\" 0.003 200 512", "no status follows the request"},
      {"192.0.2.1 - - " + time + " \"GET / HTTP/1.1\" 200 0.003", "no number of bytes follows the status"},
  };
  for (const auto& [line, answer] : rows) EXPECT_EQ(fields("combined", line, "ip"), answer) << line;
}

TEST(Combined, further_fields_have_numbers_and_names) {
  const std::string line =
      "192.0.2.1 - - [2026-11-21T05:49:47+00:00] \"GET / HTTP/1.1\" 200 512 \"-\" \"curl\" "
      "\"198.51.100.2:5, [2001:db8::1]:80\" 0.005 rt=0.25 up=\"a b\" [x]";
  EXPECT_EQ(fields("combined", line, "extra[0]"), "198.51.100.2:5, [2001:db8::1]:80");
  EXPECT_EQ(fields("combined", line, "extra[1],extra[2],extra[4]"), "0.005|rt=0.25|[x]");
  EXPECT_EQ(fields("combined", line, "rt,up"), "0.25|a b");
  EXPECT_EQ(fields("combined", line, "xff[0]"), "198.51.100.2");
  EXPECT_EQ(fields("combined", line, "xff[-1]/32/64"), "2001:db8::/64");
  EXPECT_EQ(fields("combined", line, "extra[0][1],ip"), "[2001:db8::1]:80|192.0.2.1");
  EXPECT_EQ(
      fields("combined", line, "xff[2]"),
      "there is no field xff[2] (--key chooses another); the fields are client, ident, user, time, request, "
      "method, path, protocol, status, bytes, vhost, referer, agent, xff, extra[0], extra[1], extra[2], "
      "extra[3], extra[4], rt, up");
  // Without a referer and an agent, what follows the bytes is a further field.
  EXPECT_EQ(fields("combined", "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512 1234",
                   "extra[0]"),
            "1234");
}

}  // namespace
}  // namespace weir::logs
