#include "limits/envoy_file.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "limits/envoy_test.hpp"
#include "limits/yaml_tree.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr const char* kNotWhole = " is a number that is not whole or above 2^63 - 1; a text is put in quotes";

TEST(EnvoyFile, what_is_wrong_is_told_in_the_words_of_envoyproxy_ratelimit) {
  struct Row {
    const char* text;
    std::string errors;  // of a file called f.yaml, without that
  };
  const std::string loading = "error loading config file: yaml: ";
  const std::string types = loading + "unmarshal errors: cannot unmarshal ";
  const Row rows[] = {
      {"", "config file cannot have empty domain"},
      {"# nothing\n", "config file cannot have empty domain"},
      {"---\n", "config file cannot have empty domain (line 2, column 1)"},
      {"domain: ~", "config file cannot have empty domain (line 1, column 1)"},
      {"domain: d\ndescriptors:\n- value: x", "descriptor has empty key (line 3, column 3)"},
      {"domain: d\ndescriptors: [{key: a, value: b}, {key: a_b}]",
       "duplicate descriptor composite key 'd.a_b'; the first is in f.yaml, line 2, column 15 (line 2, "
       "column 35)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: {unit: fortnight}}]",
       "invalid rate limit unit 'fortnight'; it is one of second, minute, hour, day, week, month and year "
       "(line 2, "
       "column 43)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: {requests_per_unit: 1}}]",
       "invalid rate limit unit ''; it is one of second, minute, hour, day, week, month and year (line 2, "
       "column 36)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, unlimited: true}}]",
       "should not specify rate limit unit when unlimited (line 2, column 43)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, name: n, replaces: [{name: n}]}}]",
       "replaces should not contain name of same descriptor (line 2, column 67)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, replaces: [{name: ''}]}}]",
       "should not have an empty replaces entry (line 2, column 58)"},
      {"domain: d\ndescriptors: [{key: a, value: b, share_threshold: true}]",
       "share_threshold can only be used with wildcard values (containing '*'), but found key 'a_b' (line 2, "
       "column "
       "15)"},
      {"domain: d\ndescriptors: [{key: a, ratelimit: {}}]",
       "config error, unknown key 'ratelimit'; did you mean rate_limit? (line 2, column 24)"},
      {"domain: d\n0.25: x", "config error, key is not of type string: 0.25 (line 2, column 1)"},
      {"domain: d\nyes: x", "config error, key is not of type string: true (line 2, column 1)"},
      {"domain: d\n'yes': x",
       "config error, unknown key 'yes'; known: domain, key, value, descriptors, rate_limit, unit, "
       "shadow_mode, "
       "quota_mode, name, replaces, detailed_metric, requests_per_unit, unlimited, metadata, "
       "value_to_metric, "
       "share_threshold (line 2, column 1)"},
      {"domain: d\ndescriptors: [a]",
       "config error, yaml file contains list of type other than map: a (line 2, column 15)"},
      {"domain: d\ndescriptors: [{key: 1.5}]",
       std::string("error checking config: '1.5' of key") + kNotWhole + " (line 2, column 21)"},
      {"domain: d\nname: 18446744073709551615",
       std::string("error checking config: '18446744073709551615' of name") + kNotWhole +
           " (line 2, column 7)"},
      {"[]", types + "!!seq into map[interface {}]interface {} (line 1, column 1)"},
      {"a text", types + "!!str `a text` into map[interface {}]interface {} (line 1, column 1)"},
      {"domain: {key: a}", types + "!!map into string (line 1, column 9)"},
      {"domain: d\ndescriptors: a long text",
       types + "!!str `a long ...` into []config.YamlDescriptor (line 2, column 14)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: 5}]",
       types + "!!int `5` into config.YamlRateLimit (line 2, column 36)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: '5'}}]",
       types + "!!str `5` into uint32; it is a whole number from 0 to 4294967295, without quotes (line 2, "
               "column 67)"},
      {"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: -1}}]",
       types + "!!int `-1` into uint32; it is a whole number from 0 to 4294967295, without quotes (line 2, "
               "column "
               "67)"},
      {"domain: d\ndescriptors: [{key: a, shadow_mode: 'true'}]",
       types + "!!str `true` into bool; it is true or false, without quotes (line 2, column 37)"},
      {"domain: d\ndescriptors: [{key: a, metadata: [x]}]",
       types + "!!seq into map[string]interface {} (line 2, column 34)"},
      {"domain: 'd",
       loading + "found unexpected end of stream while scanning a quoted scalar (line 1, column 11)"},
      {"domain: *a", loading + "unknown anchor 'a' referenced (line 1, column 9)"},
      {"domain: &a\n  key: *a", loading + "anchor 'a' value contains itself (line 2, column 8)"},
      {"domain: d\n<<: 5",
       loading + "map merge requires map or sequence of maps as the value (line 2, column 5)"},
      {"domain: d\ndomain: e", loading + "key 'domain' already set in map, on line 1 (line 2, column 1)"},
      {"domain: d\n---\ndomain: e", loading + "a second document; a file has one (line 2, column 1)"},
      {"domain: !!int 5", loading + "the tag 'tag:yaml.org,2002:int'; none is needed (line 1, column 9)"},
      {"domain: \xFF", loading + "invalid leading UTF-8 octet (line 1, column 1)"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(made_of({{"f.yaml", row.text}}).errors, "f.yaml: " + row.errors + "\n") << row.text;
}

TEST(EnvoyFile, all_that_is_wrong_is_told_at_once) {
  const MadeOfTexts made =
      made_of({{"one", "domian: d\nunti: x"}, {"two", "domain: ["}, {"three", "domain: d"}});
  EXPECT_EQ(made.errors,
            "one: config error, unknown key 'domian'; did you mean domain? (line 1, column 1)\n"
            "one: config error, unknown key 'unti'; did you mean unit? (line 2, column 1)\n"
            "two: error loading config file: yaml: did not find expected node content while parsing a flow "
            "node (line "
            "1, column 1)\n");
}

TEST(EnvoyFile, scalars_are_those_of_yaml_1_1) {
  const auto limit = [](const std::string& number, const std::string& switched, const std::string& value) {
    const MadeOfTexts made = made_of(
        {{"f", "domain: d\ndescriptors:\n- key: k\n  value: " + value + "\n  shadow_mode: " + switched +
                   "\n  rate_limit: { unit: DAY, requests_per_unit: " + number + " }\n"}});
    if (!made.set) return made.errors;
    DescriptorMatch match;
    const std::string text = met(*made.set, "d", {{"k", "yes"}}, match);
    return text + (match.shadow_mode ? " shadow" : "");
  };
  EXPECT_EQ(limit("010", "yes", "yes"), "8/DAY d.k_yes 1:d1:k3:yes shadow");
  EXPECT_EQ(limit("0x1F", "On", "'yes'"), "31/DAY d.k_yes 1:d1:k3:yes shadow");
  EXPECT_EQ(limit("1_000", "n", "\"yes\""), "1000/DAY d.k_yes 1:d1:k3:yes");
  EXPECT_EQ(limit("0b11", "OFF", "~"), "3/DAY d.k 1:d1:k3:yes");
  EXPECT_EQ(limit("+7", "~", "! yes"), "7/DAY d.k_yes 1:d1:k3:yes");
  EXPECT_EQ(limit("0o17", "", "!!str yes"), "15/DAY d.k_yes 1:d1:k3:yes");
  EXPECT_EQ(limit("~", "false", ""), "0/DAY d.k 1:d1:k3:yes");
  EXPECT_EQ(limit("4294967295", "False", "NULL"), "4294967295/DAY d.k 1:d1:k3:yes");
  struct Row {
    std::string_view text;
    YamlScalar value;
  };
  const Row rows[] = {
      {"08", 8.0},
      {"1.", 1.0},
      {".5e1", 5.0},
      {"-1_0.5", -10.5},
      {"1e999", "1e999"},
      {"1e-999", 0.0},
      {"-0x10", -16L},
      {"1:30", "1:30"},
      {"0x", "0x"},
      {"-", "-"},
      {".", "."},
      {"1e", "1e"},
      {"2026-11-25", "2026-11-25"},
      {"+.inf", std::numeric_limits<double>::infinity()},
      {"tRUE", "tRUE"},
      {"yeS", "yeS"},
      {"9223372036854775807", 9'223'372'036'854'775'807L},
      {"9223372036854775808", 9'223'372'036'854'775'808UL},
      {"-9223372036854775808", INT64_MIN},
      {"-9223372036854775809", -9223372036854775808.0},
      {"Null", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(scalar_of(row.text), row.value) << row.text;
}

// As yaml.v2 does it, and not as YAML says it: what comes later is laid over what came before.
TEST(EnvoyFile, anchors_and_merge_keys_are_laid_over_each_other_in_order) {
  const MadeOfTexts made = made_of({{"f", R"(
domain: d
descriptors:
- &a { key: a, rate_limit: &five { unit: minute, requests_per_unit: 5 }, shadow_mode: true }
- { <<: *a, key: b, rate_limit: { requests_per_unit: 6 } }
- { key: c, <<: [{ rate_limit: { unit: hour } }, *a], value: x }
- { key: d, rate_limit: *five }
- key: e
  rate_limit: { unit: day, <<: *five }
)"}});
  ASSERT_EQ(made.errors, "");
  EXPECT_EQ(met(*made.set, "d", {{"a", "x"}}), "5/HOUR d.a_x 1:d1:a1:x") << "the merged key came later";
  EXPECT_EQ(met(*made.set, "d", {{"c", "x"}}), "none");
}

TEST(EnvoyFile, a_limit_is_merged_member_by_member) {
  const MadeOfTexts made = made_of({{"f", R"(
domain: d
descriptors:
- &a { key: a, rate_limit: &five { unit: minute, requests_per_unit: 5 }, shadow_mode: true }
- { <<: *a, key: b, rate_limit: { requests_per_unit: 6 } }
- { <<: [{ rate_limit: { unit: hour } }, *a], key: c }
- { key: d, rate_limit: *five }
- key: e
  rate_limit: { unit: day, <<: *five }
- { <<: *a, key: f, rate_limit: ~ }
)"}});
  ASSERT_EQ(made.errors, "");
  DescriptorMatch match;
  const auto told = [&](const char* key) {
    const std::string text = met(*made.set, "d", {{key, "x"}}, match);
    return text.substr(0, text.find(' ')) + (match.shadow_mode ? " shadow" : "");
  };
  EXPECT_EQ(told("b"), "6/MINUTE shadow");
  EXPECT_EQ(told("c"), "5/HOUR shadow");
  EXPECT_EQ(told("d"), "5/MINUTE");
  EXPECT_EQ(told("e"), "5/MINUTE");
  EXPECT_EQ(told("f"), "none");
}

std::string shown(const Metadata& value) {
  using Kind = Metadata::Kind;
  if (value.kind == Kind::null) return "null";
  if (value.kind == Kind::boolean) return value.boolean ? "true" : "false";
  if (value.kind == Kind::number) return std::to_string(value.number);
  if (value.kind == Kind::text) return "'" + value.text + "'";
  std::string text;
  for (const Metadata& each : value.list) text += shown(each) + " ";
  for (const Metadata& each : value.fields) text += each.name + "=" + shown(each) + " ";
  return value.kind == Kind::list ? "[" + text + "]" : "{" + text + "}";
}

TEST(EnvoyFile, metadata_keeps_its_types) {
  const MadeOfTexts made = made_of({{"f", R"(
domain: d
descriptors:
- key: k
  rate_limit: { unit: day, requests_per_unit: 1 }
  metadata: { z: 1, b: true, yes: text, ~: 1.5, n: ~, list: [1, { x: y }], deep: { 0x10: a, yes: b, ~: c, 1e21: d }, '5': "5" }
- { key: none, rate_limit: { unit: day, requests_per_unit: 1 }, metadata: {} }
)"}});
  ASSERT_EQ(made.errors, "");
  DescriptorMatch match;
  met(*made.set, "d", {{"k", ""}}, match);
  EXPECT_EQ(
      shown(*match.metadata),
      "{=1.500000 5='5' b=true deep={16='a' 1e+21='d' <nil>='c' true='b' } list=[1.000000 {x=true } ] n=null "
      "yes='text' z=1.000000 }");
  met(*made.set, "d", {{"none", ""}}, match);
  EXPECT_EQ(match.metadata, nullptr);
}

TEST(EnvoyFile, what_a_hostile_file_says_has_bounds) {
  const auto error_of = [](const std::string& text) {
    const std::string errors = made_of({{"f", text}}).errors;
    return errors.substr(0, errors.find('\n'));
  };
  std::string laughs = "domain: d\nmetadata:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "  a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int times = 1; times < 10; ++times) laughs += ", " + before;
    laughs += "]\n";
  }
  EXPECT_EQ(error_of(laughs + "descriptors: [{ key: k, metadata: { x: *a8 } }]"),
            "f: error loading config file: yaml: document contains excessive aliasing: more than 100000 "
            "values (line "
            "3, column 39)");
  EXPECT_EQ(
      error_of("domain: " + std::string(300, '[')),
      "f: error loading config file: yaml: maps and lists in each other, more than 200 deep (line 1, column "
      "209)");
  std::string deep = "domain: d\nmetadata:\n  a0: &a0 [x]\n";
  for (int i = 1; i < 150; ++i)
    deep += "  a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_EQ(
      error_of(deep + "descriptors: [{ key: k, metadata: { x: *a149 } }]").substr(0, 114),
      "f: error loading config file: yaml: maps and lists in each other, more than 200 deep, as aliases are "
      "counted (line");
  EXPECT_EQ(
      error_of("domain: " + std::string((64 << 10) + 1, 'd')),
      "f: error loading config file: yaml: a text of 65537 bytes; at most 65536 are read (line 1, column 9)");
  EXPECT_EQ(error_of(std::string((8 << 20) + 1, '#')),
            "f: error loading config file: yaml: more than 8388608 bytes (8 MiB) are not read");
  std::string nested = "domain: d\ndescriptors: [";
  for (std::size_t i = 0; i < kDeepestDescriptor; ++i) nested += "{ key: k, descriptors: [";
  std::string ends = "]";
  for (std::size_t i = 0; i < kDeepestDescriptor; ++i) ends += "}]";
  EXPECT_EQ(error_of(nested + ends), "");
  EXPECT_EQ(error_of(nested + "{ key: k }" + ends).substr(0, 49),
            "f: descriptors in each other, more than 64 deep (");
}

}  // namespace
}  // namespace weir::limits
