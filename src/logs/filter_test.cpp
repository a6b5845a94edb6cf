#include "logs/filter.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace weir::inline v0_1::logs {
namespace {

TEST(FieldCondition, holds_for_a_value) {
  const struct {
    const char* condition;
    const char* value;
    bool holds;
  } rows[] = {
      {"status!=429", "429", false},
      {"status!=429", "200", true},
      {"status!=429", "", true},  // a line without a status
      {"status=4*", "404", true},
      {"status=4*", "200", false},
      {"path=/v1/*", "/v1/items", true},
      {"path=/v1/*", "/v2/items", false},
      {"user=", "", true},
      {"user=", "ann", false},
      {"user!=", "ann", true},
      {"agent=a=b", "a=b", true},
      {"agent=a!=b", "a!=b", true},
      {"bytes>1000", "1000", false},
      {"bytes>1000", "1001", true},
      {"bytes>=1000", "1000", true},
      {"bytes<1e3", "999.5", true},
      {"bytes<=-1", "-1", true},
      {"bytes<1000", "", false},
      {"bytes>=0", "12kB", false},
      {"bytes>=0", "nan", false},
      {"bytes>=0", "inf", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(FieldCondition::parse(row.condition).holds(row.value), row.holds)
        << row.condition << " " << row.value;
  }
}

TEST(FieldCondition, says_what_is_wrong_with_it) {
  const struct {
    const char* condition;
    const char* wrong;
  } rows[] = {
      {"", "where: '': expected a field, one of = != < > <= >=, and a value, as in status!=429"},
      {"status", "where: 'status': expected a field, one of = != < > <= >=, and a value, as in status!=429"},
      {"=429", "where: '=429': expected a field, one of = != < > <= >=, and a value, as in status!=429"},
      {"status!429", "where: 'status!429': missing '=' after '!'"},
      {"status==429", "where: 'status==429': write = once"},
      {"bytes>1 MB", "where: 'bytes>1 MB': '1 MB' is not a number, which < > <= >= compare"},
      {"bytes>=", "where: 'bytes>=': '' is not a number, which < > <= >= compare"},
  };
  for (const auto& row : rows) {
    try {
      FieldCondition::parse(row.condition);
      ADD_FAILURE() << row.condition;
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), row.wrong);
    }
  }
}

TEST(Filter, takes_times_from_since_and_before_until) {
  Filter filter;
  filter.since_ns = 10;
  filter.until_ns = 20;
  std::string taken;
  for (const std::int64_t ns : {9, 10, 19, 20}) taken += filter.takes(ns, {}) ? 'y' : 'n';
  EXPECT_EQ(taken, "nyyn");
}

TEST(Filter, takes_what_every_condition_holds_for) {
  Filter filter;
  filter.where = {FieldCondition::parse("status!=429"), FieldCondition::parse("path=/v1/*")};
  const auto takes = [&filter](std::string_view status, std::string_view path) {
    const std::string_view values[] = {status, path};
    return filter.takes(0, values);
  };
  EXPECT_TRUE(takes("200", "/v1/a"));
  EXPECT_FALSE(takes("429", "/v1/a"));
  EXPECT_FALSE(takes("200", "/a"));
}

}  // namespace
}  // namespace weir::logs
