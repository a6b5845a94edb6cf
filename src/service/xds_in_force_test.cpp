#include "service/xds_in_force.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <variant>

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

struct Server {
  std::map<std::string, std::string> rows() const {
    Metrics metrics;
    rates.add_rows(metrics);
    std::map<std::string, std::string> all;
    for (const Metric& each : metrics.rows()) {
      const auto value = each.read().value();
      const auto* const number = std::get_if<std::uint64_t>(&value);
      all[each.name] = number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
    }
    return all;
  }
  Lines take(const std::string& version, const Lines& domains) {
    logged.clear();
    XdsInForce::Sent sent{.version = version, .domains = {}, .errors = {}, .text = version};
    for (const std::string& each : domains)
      sent.domains.push_back({.file = each, .domain = each, .descriptors = {}});
    return rates.take(std::move(sent));
  }

  Lines logged;
  XdsInForce rates{
      {.path = "xds:1",
       .wall_clock = [] { return std::chrono::nanoseconds{1h}; },
       .log = [this](bool warns, const std::string& line) { logged.push_back((warns ? "! " : "") + line); }}};
};

TEST(XdsInForce, goes_by_what_was_sent_last) {
  Server server;
  EXPECT_EQ(server.rates.current(), nullptr);
  EXPECT_EQ(server.take("1", {"one", "two"}), Lines());
  EXPECT_EQ(server.logged, Lines{"rls-xds: 'xds:1' is in force: version '1', 2 domains, 0 limits"});
  EXPECT_NE(server.rates.current()->find("two"), nullptr);
  EXPECT_EQ(server.take("2", {"one"}), Lines());
  EXPECT_EQ(server.rates.current()->find("two"), nullptr);
  EXPECT_EQ(server.take("3", {}), Lines());
  EXPECT_EQ(server.rates.current()->domains(), 0U);
  EXPECT_EQ(server.logged,
            (Lines{"! rls-xds: 'xds:1' has no rate limits, so no domain is known and nothing is limited",
                   "rls-xds: 'xds:1' is in force: version '3', 0 domains, 0 limits"}));
  EXPECT_EQ(server.rows()["rls_reloads"], "2");
}

TEST(XdsInForce, keeps_what_was_when_something_cannot_be_used) {
  Server server;
  const Lines twice = {"one: duplicate domain 'one' in config file; it is in one already"};
  EXPECT_EQ(server.take("0", {"one", "one"}), twice);
  EXPECT_EQ(server.rates.current(), nullptr);
  EXPECT_EQ(server.logged, (Lines{"! " + twice[0], "! rls-xds: version '0' of 'xds:1' is refused"}));
  EXPECT_EQ(server.take("1", {"one"}), Lines());
  EXPECT_EQ(server.take("2", {"two", "one", "one"}), twice);
  EXPECT_EQ(server.logged,
            (Lines{"! " + twice[0], "! rls-xds: 'xds:1' has errors; what was read before stays in force",
                   "! rls-xds: version '2' of 'xds:1' is refused"}));
  EXPECT_EQ(server.rates.current()->find("two"), nullptr);
  auto rows = server.rows();
  EXPECT_EQ(rows["rls_xds_version"], "1");
  EXPECT_EQ(rows["rls_reload_errors"], "2");
  EXPECT_EQ(rows["rls_last_error"], twice[0]);
  EXPECT_EQ(server.rates.take({.version = "3", .domains = {}, .errors = {"unread"}, .text = "3"}),
            Lines{"unread"});
  EXPECT_NE(server.rates.current()->find("one"), nullptr);
  EXPECT_EQ(server.take("4", {"two"}), Lines());
  EXPECT_EQ(server.rows()["rls_last_error"], "");
}

TEST(XdsInForce, tells_of_the_connection) {
  Server server;
  EXPECT_EQ(server.rows()["rls_xds_state"], "connecting");
  server.rates.note(XdsInForce::Link::up);
  server.rates.note(XdsInForce::Link::up);
  auto rows = server.rows();
  EXPECT_EQ(rows["rls_xds_state"] + rows["rls_xds_up"] + rows["rls_xds_connects"], "up11");
  server.rates.note_failure("gone");
  rows = server.rows();
  EXPECT_EQ(rows["rls_xds_state"] + rows["rls_xds_up"] + rows["rls_xds_failures"], "down01");
  EXPECT_EQ(rows["rls_xds_last_failure"], "gone");
}

}  // namespace
}  // namespace weir::service
