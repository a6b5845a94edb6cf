#include "logs/line_parser.hpp"

#include <gtest/gtest.h>

#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr const char* kLine =
    "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"curl\"";

TEST(LineParser, refuses_unknown_fields) {
  EXPECT_EQ(
      refusal([] { parser_of("combined", wanted("usr"), kLine); }),
      "there is no field usr (--key chooses another); the fields are client, ident, user, time, request, "
      "method, path, protocol, status, bytes, vhost, referer, agent");
  EXPECT_EQ(
      refusal([] { parser_of("combined", wanted("ip", "", "ts"), kLine); }),
      "there is no field ts (--time chooses another); the fields are client, ident, user, time, request, "
      "method, path, protocol, status, bytes, vhost, referer, agent");
  EXPECT_EQ(refusal([] { parser_of("csv", wanted("user"), "time,ip"); }),
            "there is no field user (--key chooses another); the fields are time, ip");
  EXPECT_EQ(refusal([] { parser_of("csv", wanted("ip"), "time,\"ip"); }),
            "the header line has an unclosed quote");
}

}  // namespace
}  // namespace weir::logs
