// Lines as each program's documentation shows them, and lines that are almost that.
#include <gtest/gtest.h>

#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

const std::string kHttp =
    "192.0.2.1:40312 [21/Nov/2026:05:49:47.250] web app/a1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 ";
const std::string kTcp =
    "2001:db8::1:40312 [21/Nov/2026:05:49:47.250] in back/b1 0/1/95 212 -- 1/1/1/0/0 0/0";
const std::string kAlb =
    "h2 2026-11-21T05:49:47.593000Z app/lb/50dc 192.0.2.1:2817 10.0.0.66:9000 0.000 0.001 0.000 429 200 34 "
    "366 "
    "\"GET https://www.example.org:443/v1/a?b HTTP/2.0\" \"curl/7.46.0\" ECDHE TLSv1.2 arn:aws:x "
    "\"Root=1-58\" "
    "\"www.example.org\" \"arn:aws:y\" 0 2026-11-21T05:49:47.250000Z \"forward\" \"-\" \"-\" "
    "\"10.0.0.66:9000\" "
    "\"200\" \"-\" \"-\" TID_1";
const std::string kElb =
    "2026-11-21T05:49:47.945958Z my-lb [2001:db8::1]:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 "
    "29 "
    "\"GET http://www.example.org:80/x HTTP/1.1\" \"curl/7.38.0\" - -";
const std::string kEnvoy =
    "[2026-11-21T05:49:47.310Z] \"POST /api/v1/x HTTP/2\" 204 - 154 0 226 100 \"198.51.100.2, 192.0.2.1\" "
    "\"nsq2http\" \"cc21d9b0\" \"example.org\" \"10.0.0.1:80\"";
const std::string kIstio =
    "[2026-11-21T05:49:47.409Z] \"GET /status/418 HTTP/1.1\" 418 - via_upstream - \"-\" 0 135 3 1 \"-\" "
    "\"curl/7.73\" \"84961386\" \"httpbin:8000\" \"127.0.0.1:80\" inbound|8000|| 127.0.0.1:41854 "
    "10.44.1.27:80 "
    "192.0.2.1:37652 outbound_.8000_._.httpbin default";
const std::string kSquid =
    "1795240187.075    146 192.0.2.1 TCP_MISS/200 1234 GET http://example.org/x - HIER_DIRECT/10.0.0.1 "
    "text/html";
const std::string kCombined = "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512";

TEST(Formats, fields_by_name) {
  struct {
    const char* format;
    std::string line;
    const char* key;
    const char* answer;
  } const rows[] = {
      {"haproxy", kHttp + "{shop|curl/8} {} \"GET /a?b HTTP/1.1\"",
       "ip,client_port,frontend,backend,server,status,bytes", "192.0.2.1|40312|web|app|a1|200|512"},
      {"haproxy", kHttp + "{shop|curl/8} {} \"GET /a?b HTTP/1.1\"",
       "method,path,protocol,request_headers[1],termination", "GET|/a?b|HTTP/1.1|curl/8|----"},
      {"haproxy", kHttp + "\"GET /cut", "ip,path", "192.0.2.1|/cut"},
      {"haproxy", kTcp, "ip,server,bytes,termination", "2001:db8::1|b1|212|--"},
      {"alb", kAlb, "ip,status,method,path,agent,host",
       "192.0.2.1|429|GET|/v1/a?b|curl/7.46.0|www.example.org"},
      {"alb", kAlb, "request_creation_time,conn_trace_id", "2026-11-21T05:49:47.250000Z|TID_1"},
      {"elb", kElb, "ip,path,status,bytes", "2001:db8::1|/x|200|29"},
      {"envoy", kEnvoy, "ip,xff[0],path,status,host", "192.0.2.1|198.51.100.2|/api/v1/x|204|example.org"},
      {"istio", kIstio, "ip,path,status,route_name", "192.0.2.1|/status/418|418|default"},
      {"squid", kSquid, "ip,status,method,path,bytes", "192.0.2.1|200|GET|http://example.org/x|1234"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(fields(row.format, row.line, row.key), row.answer) << row.line;
  }
}

// The layout that a line is found to have, its client and its milliseconds; or what is wrong.
std::string found(const std::vector<std::string>& lines, const char* key = "ip") {
  std::vector<std::string> padded;
  for (const std::string& line : lines) padded.push_back(line + std::string(64, '\0'));
  std::vector<std::string_view> views;
  for (const std::string& line : padded) views.push_back(std::string_view(line).substr(0, line.size() - 64));
  const Found layout = layout_of(views, {});
  std::string text = name_of(layout.layout) + (layout.guessed ? "?" : "") + ":";
  LineParser parser(layout.layout, wanted(key), views[layout.line]);
  for (const std::string& line : lines) text += " " + read(parser, line);
  return text;
}

TEST(Formats, are_found) {
  EXPECT_EQ(found({kHttp + "\"GET / HTTP/1.1\""}), "haproxy: 192.0.2.1 at +250 ms costs 1");
  EXPECT_EQ(found({kTcp}), "haproxy: 2001:db8::1 at +250 ms costs 1");
  EXPECT_EQ(found({kAlb}), "alb: 192.0.2.1 at +593 ms costs 1");
  EXPECT_EQ(found({kElb}), "elb: 2001:db8::1 at +945 ms costs 1");
  EXPECT_EQ(found({kEnvoy}), "envoy: 192.0.2.1 at +310 ms costs 1");
  EXPECT_EQ(found({kIstio}), "istio: 192.0.2.1 at +409 ms costs 1");
  EXPECT_EQ(found({kSquid}), "squid: 192.0.2.1 at +75 ms costs 1");
  EXPECT_EQ(
      found({"#Version: 1.0", "#Fields: date time c-ip sc-status", "2026-11-21\t05:49:47\t192.0.2.1\t200"}),
      "w3c: a header a header 192.0.2.1 at +0 ms costs 1");
  EXPECT_EQ(found({"#Fields: date time c-ip", "{", "2026-11-21\t05:49:47\t192.0.2.1"}),
            "w3c: a header the line has not as many fields as were named 192.0.2.1 at +0 ms costs 1");
  EXPECT_EQ(
      found({"#Software: IIS", "#Fields: time c-ip date", "05:49:48 192.0.2.1 2026-11-21", "x",
             "#Fields: date time s-ip c-ip", "2026-11-21 05:49:49 10.0.0.1 192.0.2.2"}),
      "w3c: a header a header 192.0.2.1 at +1000 ms costs 1 the line has not as many fields as were named "
      "a header 192.0.2.2 at +2000 ms costs 1");
  EXPECT_EQ(found({"#Fields: date time  c-ip", "2026-11-21   05:49:47 192.0.2.1  ",
                   "2026-11-21 05:49:48  192.0.2.2"}),
            "w3c: a header 192.0.2.1 at +0 ms costs 1 192.0.2.2 at +1000 ms costs 1");
  EXPECT_EQ(found({"#separator \\x09", "#fields\tts\tuid\tid.orig_h", "1795240187.250000\tC1\t192.0.2.1"}),
            "zeek: a header a header 192.0.2.1 at +250 ms costs 1");
}

TEST(Wrappers, are_taken_off) {
  const std::string answer = " 192.0.2.1 at +0 ms costs 1";
  for (const char* head : {"<190>Nov 21 05:49:47 web nginx: ", "Nov  1 05:49:47 web nginx[812]: ",
                           "<13>Nov 21 05:49:47 nginx: ", "2026-11-21T05:49:47.123456+00:00 web nginx: ",
                           "<134>", "<190>1 2026-11-21T05:49:47Z web nginx 812 - - ",
                           "<190>1 2026-11-21T05:49:47Z web nginx - - [a b=\"c\\]d\"][e] \xEF\xBB\xBF"}) {
    EXPECT_EQ(found({head + kCombined}), "combined in syslog:" + answer) << head;
  }
  EXPECT_EQ(found({"2026-11-21T05:49:47.123456789Z stdout F " + kCombined}), "combined in cri:" + answer);
  EXPECT_EQ(found({"{\"log\":\"192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \\\"GET / HTTP/1.1\\\" 200 "
                   "512\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-21T05:49:48.1Z\"}"}),
            "combined in docker:" + answer);
  EXPECT_EQ(found({"2026-11-21T05:49:47Z stderr F {\"ip\":\"192.0.2.1\"}"}, "ip"), "jsonl in cri:" + answer);
  EXPECT_EQ(found({"<190>1 2026-11-21T05:49:47Z web nginx - - - {\"ip\":\"192.0.2.1\"}"}, "syslog.host"),
            "jsonl in syslog: web at +0 ms costs 1");
  EXPECT_EQ(found({"Nov 21 05:49:47 lb haproxy[14389]: " + kHttp + "\"GET / HTTP/1.1\""}),
            "haproxy in syslog: 192.0.2.1 at +250 ms costs 1");
}

TEST(Wrappers, what_docker_escapes_is_text_again) {
  const auto user_of = [](const std::string& user) {
    return found(
        {R"({"log":"192.0.2.1 - )" + user +
         R"( [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512\n","stream":"stdout","time":"x"})"},
        "user");
  };
  const std::string before = "combined in docker: ";
  const std::string after = " at +0 ms costs 1";
  for (const auto& [escaped, text] : std::vector<std::pair<std::string, std::string>>{
           {R"(\"\\\/)", "\"\\/"},
           {R"(\\\"\\n)", "\\\"\\n"},
           {R"(a\b\f\n\r\tz)", "a\b\f\n\r\tz"},
           {R"(\u003cb\u003e\u00e9\ud83d\ude00\")", "<b>\xc3\xa9\xf0\x9f\x98\x80\""},
           {"\xc3\xa9", "\xc3\xa9"}}) {
    EXPECT_EQ(user_of(escaped), before + text + after);
  }
  for (const char* wrong : {R"(\x)", R"(\u12)", R"(\ud83d)", "\x01"})
    EXPECT_FALSE(user_of(wrong).starts_with(before)) << wrong;
}

TEST(Wrappers, pieces_of_long_lines_are_joined) {
  const std::string head = "2026-11-21T05:49:47.1Z stdout ";
  EXPECT_EQ(
      found({head + "F " + kCombined, head + "P " + kCombined.substr(0, 30),
             "2026-11-21T05:49:47.1Z stderr F oh no", head + "F " + kCombined.substr(30)}),
      "combined in cri: 192.0.2.1 at +0 ms costs 1 a header there is no time in [brackets] 192.0.2.1 at +0 "
      "ms costs 1");
}

TEST(Wrappers, a_log_of_pieces_alone_is_found) {
  const std::string line = kCombined + " \"-\" \"curl\" rt=0.25";
  const std::string head = "2026-11-21T05:49:47.1Z stdout ";
  EXPECT_EQ(
      found({"2026-11-21T05:49:47.1Z stderr F oh no", head + "P " + line.substr(0, 20),
             "2026-11-21T05:49:47.1Z stderr P oh ", head + "P " + line.substr(20, 30),
             head + "F " + line.substr(50)},
            "rt"),
      "combined in cri: there is no time in [brackets] a header a header a header 0.25 at +0 ms costs 1");
  const auto piece = [](const std::string& text) {
    return R"({"log":")" + text + R"(","stream":"stdout","time":"2026-11-21T05:49:48.1Z"})";
  };
  EXPECT_EQ(
      found({piece("192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] "), piece(R"(\"GET / HTTP/1.1\" 200 512\n)")}),
      "combined in docker: a header 192.0.2.1 at +0 ms costs 1");
}

// Whatever is almost a format's line is unreadable as that, and is not found.
TEST(Formats, lines_that_are_almost_it_are_unreadable) {
  const std::pair<const char*, std::string> rows[] = {
      {"haproxy",
       "192.0.2.1 [21/Nov/2026:05:49:47.250] web app/a1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 \"GET"},
      {"haproxy",
       "192.0.2.1:40312 [21/Nov/2026:05:49:47.250] web app 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 \"G"},
      {"haproxy",
       "192.0.2.1:40312 [21/Nov/2026:05:49:47.250] web app/a1 0/0/1/2 200 512 - - ---- 1/1/0/0/0 0/0 \"G"},
      {"haproxy", kHttp + "GET / HTTP/1.1"},
      {"haproxy", "Connect from 192.0.2.1:40312 to 10.0.0.1:80 (web/HTTP)"},
      {"alb", kElb},
      {"alb", kAlb.substr(0, 60)},
      {"elb", kAlb},
      {"elb", "2026-11-21T05:49:47Z stdout F " + kCombined},
      {"envoy", kIstio},
      {"envoy", "[2026-11-21 05:49:47] \"GET / HTTP/1.1\" 200 - 1 2 3 4 \"a\" \"b\" \"c\" \"d\" \"e\""},
      {"istio", kEnvoy},
      {"squid", "1795240187 146 192.0.2.1 TCP_MISS/200 1234 GET http://x/ - HIER_DIRECT/10.0.0.1 text/html"},
      {"squid", "1795240187.075 146 192.0.2.1 miss 1234 GET http://x/ - HIER_DIRECT/10.0.0.1 text/html"},
  };
  for (const auto& [format, line] : rows) {
    std::string padded = line + std::string(64, '\0');
    EXPECT_FALSE(find_format(format)->fits(std::string_view(padded).substr(0, line.size())))
        << format << line;
  }
}

}  // namespace
}  // namespace weir::logs
