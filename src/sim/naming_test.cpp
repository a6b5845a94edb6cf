#include "sim/naming.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::sim {
namespace {

TEST(Naming, only_addresses_are_shown) {
  struct Row {
    const char* name;
    Naming naming;
    const char* called;
  };
  const Row rows[] = {
      {"sk_live_4711", Naming::as_is, "sk_live_4711"},
      {"sk_live_4711", Naming::addresses, "client 7"},
      {"192.0.2.1", Naming::addresses, "192.0.2.1"},
      {"192.0.2.0/24", Naming::addresses, "192.0.2.0/24"},
      {"2001:db8::/64", Naming::addresses, "2001:db8::/64"},
      {"ip=192.0.2.1", Naming::addresses, "ip=192.0.2.1"},
      {"192.0.2.1", Naming::none, "client 7"},
      {"192.0.2.1 /v1/reset?token=x", Naming::addresses, "client 7"},
      {"192.0.2.1/secret", Naming::addresses, "client 7"},
      {"ip=secret", Naming::addresses, "client 7"},
      {"3735928559", Naming::addresses, "client 7"},
      {"example.com", Naming::addresses, "client 7"},
      {"", Naming::addresses, "client 7"},
  };
  for (const Row& row : rows) EXPECT_EQ(called(row.name, 6, row.naming), row.called) << row.name;
}

TEST(Naming, the_names_file_has_one_line_for_each_whatever_the_name) {
  EXPECT_EQ(names_line("a\nb\tc", 0), "client 1\ta\\x0ab\\x09c\n");
  EXPECT_EQ(names_line("user=anna", 2, "user key"), "user key 3\tuser=anna\n");
}

TEST(Naming, a_report_for_others_has_no_text_of_strangers) {
  ReplayReport report;
  report.log.files = {"/home/anna/access.log"};
  report.log.stats.examples.push_back({"/home/anna/access.log", 7, "no time", "GET /?key=secret"});
  report.log.stats.broken = {"/home/anna/access.log: truncated"};
  report.file = FileTotals{"/etc/weir/limits.yaml", 0, 1, "cost: 'secret' is not a number"};
  LimitReport limit;
  limit.limit = "user";
  limit.worst.push_back({"user=secret", 4, 9, 4, 0, std::nullopt});
  limit.longest_locked_out_client = "user=secret";
  limit.longest_locked_out_number = 4;
  report.limits = {limit, limit};
  const std::string json = json_of(with_names(report, Naming::addresses));
  EXPECT_EQ(json.find("secret"), std::string::npos) << json;
  EXPECT_EQ(json.find("/home/"), std::string::npos) << json;
  EXPECT_EQ(json.find("/etc/"), std::string::npos) << json;
  EXPECT_NE(json.find("\"client\":\"client 5\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"client\":\"user key 5\""), std::string::npos) << json;
  EXPECT_NE(json_of(with_names(report, Naming::as_is)).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace weir::sim
