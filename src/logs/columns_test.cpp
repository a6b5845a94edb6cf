#include "logs/columns.hpp"

#include <gtest/gtest.h>

#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

TEST(Columns, by_the_header) {
  struct {
    const char* header;
    const char* key;
    const char* cost;
    const char* line;
    const char* answer;
  } const rows[] = {
      {"time,ip", "ip", "", "1795240187,192.0.2.1", "192.0.2.1 at +0 ms costs 1"},
      {"time,client,client_ip", "ip", "", "1795240187,shop,192.0.2.1", "192.0.2.1 at +0 ms costs 1"},
      {"client_ip,time,client", "ip", "", "192.0.2.1,1795240187,192.0.2.2:80", "192.0.2.2 at +0 ms costs 1"},
      {"client_ip,time,client", "client", "", "192.0.2.1,1795240187,shop", "shop at +0 ms costs 1"},
      {"time,client,user", "ip", "", "1795240187,shop,ann", "shop at +0 ms costs 1"},
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
    LineParser parser = parser_of("csv", wanted(row.key, row.cost), row.header);
    EXPECT_EQ(read(parser, row.line), row.answer) << row.line;
  }
  LineParser tabs = parser_of("tsv", wanted("ip"), "ip\ttime");
  EXPECT_EQ(read(tabs, "192.0.2.1\t1795240187"), "192.0.2.1 at +0 ms costs 1");
}

}  // namespace
}  // namespace weir::logs
