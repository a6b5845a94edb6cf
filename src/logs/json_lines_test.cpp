#include "logs/json_lines.hpp"

#include <gtest/gtest.h>

#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

struct JsonRow {
  const char* key;
  const char* cost;
  std::string line;
  const char* answer;
};

TEST(JsonLines, members_by_name) {
  const JsonRow rows[] = {
      {"ip", "", R"({"time":"2026-11-21T05:49:47Z","client_ip":"192.0.2.1"})", "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", R"( { "client_ip" : "192.0.2.1" , "msec" : 1795240187.250 } )",
       "192.0.2.1 at +250 ms costs 1"},
      {"ip", "",
       R"({"ts":1795240187.5,"request":{"remote_ip":"::ffff:192.0.2.1","headers":{"a":[1]}},"size":3})",
       "192.0.2.1 at +500 ms costs 1"},
      {"ip", "", R"({"remote_addr":"192.0.2.2","time":1795240187,"client":"192.0.2.1"})",
       "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", R"({"client":"shop","remote_addr":"192.0.2.2","time":1795240187,"client_ip":"192.0.2.1"})",
       "192.0.2.1 at +0 ms costs 1"},
      {"ip", "", R"({"remote_addr":"192.0.2.2","time":1795240187,"client":"shop"})",
       "192.0.2.2 at +0 ms costs 1"},
      {"ip", "", R"({"time":1795240187,"client":"shop"})", "shop at +0 ms costs 1"},
      {"client", "", R"({"time":1795240187,"client":"shop","client_ip":"192.0.2.1"})",
       "shop at +0 ms costs 1"},
      {"user.id", "", R"({"time":1795240187,"user":{"id":17}})", "17 at +0 ms costs 1"},
      {"user.id", "", R"({"time":1795240187,"user.id":"a\u00e9\n"})", "a\xC3\xA9\n at +0 ms costs 1"},
      {"flag", "", R"({"time":1795240187,"flag":true})", "true at +0 ms costs 1"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":42})", "192.0.2.1 at +0 ms costs 42"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":"42"})", "192.0.2.1 at +0 ms costs 42"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":-1})",
       "the cost is not a whole number below 2^63"},
      {"ip", "size", R"({"time":1795240187,"ip":"192.0.2.1","size":null})",
       "there is no field size (--cost chooses another); the fields are time, ip"},
      {"user", "", R"({"time":1795240187,"ip":"192.0.2.1"})",
       "there is no field user (--key chooses another); the fields are time, ip"},
      {"ip", "", R"({"ip":"192.0.2.1"})",
       "there is no field time (--time chooses another); the fields are ip"},
      {"path", "", R"({"time":1795240187,"request":"GET /a?b HTTP/1.1"})", "/a?b at +0 ms costs 1"},
      {"method", "", R"({"request":"GET /a?b HTTP/1.1","time":1795240187,"path":"/"})",
       "GET at +0 ms costs 1"},
      {"path", "", R"({"request":"GET /a?b HTTP/1.1","time":1795240187,"uri":"/"})", "/ at +0 ms costs 1"},
      {"method", "", R"({"time":1795240187,"request":{"remote_ip":"192.0.2.1"}})",
       "there is no field method (--key chooses another); the fields are time, request.remote_ip"},
      {"user", "", "{\"time\":1795240187,\"user\":\"a\xE9\xC3\xA9\xFF\"}",
       "a\\xe9\xC3\xA9\\xff at +0 ms costs 1"},
      {"user", "", "{\"time\":1795240187,\"user\":\"a\"}\xFF", "the line is not a JSON object"},
      {"ip", "", R"({"time":1795240187,"ip":"192.0.2.1")", "the line is not a JSON object"},
      {"ip", "", R"({"time":1795240187,"ip":"192.0.2.1"} x)", "the line is not a JSON object"},
      {"ip", "", R"([1])", "the line is not a JSON object"},
      {"ip", "", R"(nonsense)", "the line is not a JSON object"},
  };
  for (const JsonRow& row : rows) {
    LineParser parser = parser_of("jsonl", wanted(row.key, row.cost), row.line);
    EXPECT_EQ(read(parser, row.line), row.answer) << row.line;
  }
}

}  // namespace
}  // namespace weir::logs
