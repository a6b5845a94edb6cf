#include "xds/rate_limit_config.hpp"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "limits/descriptors.hpp"
#include "limits/envoy_file.hpp"
#include "xds/message_test.hpp"

namespace weir::inline v0_1::xds {
namespace {

using protozero::pbf_writer;

std::string shown(const limits::Metadata& value) {
  using Kind = limits::Metadata::Kind;
  std::string all;
  switch (value.kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return value.boolean ? "true" : "false";
    case Kind::number:
      return std::to_string(value.number);
    case Kind::text:
      return "'" + value.text + "'";
    case Kind::list:
      for (const auto& each : value.list) all += shown(each) + ",";
      return "[" + all + "]";
    case Kind::map:
      for (const auto& each : value.fields) all += each.name + ":" + shown(each) + ",";
      return "{" + all + "}";
  }
  return all;
}

std::string shown(const std::vector<limits::Descriptor>& all) {
  std::string text;
  for (const limits::Descriptor& each : all) {
    text += "(" + each.key + "=" + each.value;
    if (each.limit) {
      text += " " + std::to_string(each.limit->requests_per_unit) + "/" + each.limit->unit;
      if (each.limit->unlimited) text += " unlimited";
      if (!each.limit->name.empty()) text += " name=" + each.limit->name;
      for (const std::string& name : each.limit->replaces) text += " replaces=" + name;
    }
    if (each.shadow_mode) text += " shadow";
    if (each.quota_mode) text += " quota";
    if (each.detailed_metric) text += " detailed";
    if (each.metadata.kind == limits::Metadata::Kind::map) text += " " + shown(each.metadata);
    text += shown(each.descriptors) + ")";
  }
  return text;
}

std::string read(const std::string& message) {
  const auto domain = read_rate_limit_config(message);
  if (!domain) return domain.error();
  return domain->file + " " + domain->domain + " " + shown(domain->descriptors);
}

TEST(RateLimitConfig, says_what_the_same_yaml_says) {
  const std::string path = bytes([](pbf_writer& to) {
    to.add_string(1, "path");
    to.add_string(2, "/v1/*");
    to.add_message(3, policy(5, 60, "path", {"heavy", "light"}));
  });
  const std::string message =
      config("edge", "shop",
             {bytes([&](pbf_writer& to) {
                to.add_string(1, "user");
                to.add_message(3, policy(2, 3));
                to.add_message(4, path);
                to.add_bool(5, true);
                to.add_bool(6, true);
                to.add_bool(7, true);
                to.add_message(8, entry("a", value_of(1.5)) + entry("b", value_of("x")));
              }),
              bytes([](pbf_writer& to) {
                to.add_string(1, "free");
                to.add_message(3, bytes([](pbf_writer& of) { of.add_bool(3, true); }));
              }),
              bytes([](pbf_writer& to) { to.add_string(1, "bare"); })});
  EXPECT_EQ(read(message),
            "edge shop (user= 3/MINUTE shadow quota detailed {a:1.500000,b:'x',}"
            "(path=/v1/* 60/MONTH name=path replaces=heavy replaces=light))"
            "(free= 0/UNKNOWN unlimited)(bare=)");
  std::vector<limits::Finding> findings;
  const limits::Domain yaml = limits::read_envoy_file(R"(domain: shop
descriptors:
  - key: user
    shadow_mode: true
    quota_mode: true
    detailed_metric: true
    metadata: { a: 1.5, b: x }
    rate_limit: { unit: MINUTE, requests_per_unit: 3 }
    descriptors:
      - key: path
        value: /v1/*
        rate_limit: { unit: MONTH, requests_per_unit: 60, name: path, replaces: [{ name: heavy }, { name: light }] }
  - key: free
    rate_limit: { unit: UNKNOWN, unlimited: true }
  - key: bare
)",
                                                      "edge", findings);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(yaml.file + " " + yaml.domain + " " + shown(yaml.descriptors), read(message));
}

TEST(RateLimitConfig, has_the_units_of_the_protocol) {
  const auto unit = [](int number) {
    const auto read = read_rate_limit_config(config("", "d", {bytes([&](pbf_writer& to) {
                                                      to.add_string(1, "k");
                                                      to.add_message(3, policy(number, 1));
                                                    })}));
    return read->descriptors.at(0).limit->unit;
  };
  const std::vector<std::string> names = {"UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY",
                                          "MONTH",   "YEAR",   "WEEK",   "8"};
  for (int i = 0; i <= 8; ++i) EXPECT_EQ(unit(i), names.at(static_cast<std::size_t>(i)));
  EXPECT_EQ(unit(-1), "-1");
}

TEST(RateLimitConfig, takes_the_last_of_a_field_and_merges_messages) {
  const std::string message =
      config("first", "one", {}) +
      config("last", "two", {bytes([](pbf_writer& to) {
               to.add_string(1, "a");
               to.add_string(1, "k");
               to.add_message(3, policy(2, 7, "name"));
               to.add_message(3, bytes([](pbf_writer& of) { of.add_uint32(2, 9); }));
               to.add_message(8, entry("z", value_of("z")) + entry("m", value_of("old")));
               to.add_message(8, entry("m", value_of("new")));
             })});
  EXPECT_EQ(read(message), "last two (k= 9/MINUTE name=name {m:'new',z:'z',})");
}

TEST(RateLimitConfig, has_every_kind_of_metadata) {
  const auto in_list = [](const std::string& value) {
    return bytes([&](pbf_writer& to) { to.add_message(1, value); });
  };
  const std::string list = bytes([&](pbf_writer& to) {
    to.add_message(6, in_list(value_of(1.0)) + in_list(bytes([](pbf_writer& of) { of.add_bool(4, true); })));
    to.add_message(6, in_list(bytes([](pbf_writer& of) { of.add_enum(1, 0); })));
  });
  const std::string map = bytes([&](pbf_writer& to) { to.add_message(5, entry("in", value_of("x"))); });
  const std::string later = bytes([](pbf_writer& to) {
    to.add_string(3, "text");
    to.add_bool(4, false);
  });
  const std::string message = config("", "d", {bytes([&](pbf_writer& to) {
                                       to.add_string(1, "k");
                                       to.add_message(8, entry("list", list) + entry("map", map) +
                                                             entry("later", later) + entry("none", ""));
                                     })});
  EXPECT_EQ(read(message), " d (k= {later:false,list:[1.000000,true,null,],map:{in:'x',},none:null,})");
}

TEST(RateLimitConfig, skips_what_it_does_not_know) {
  const std::string message = config("n", "d", {bytes([](pbf_writer& to) {
                                       to.add_string(1, "k");
                                       to.add_uint32(2, 5);      // value, of another type
                                       to.add_string(5, "yes");  // shadow_mode, of another type
                                       to.add_string(99, "new");
                                     })}) +
                              bytes([](pbf_writer& to) { to.add_fixed32(50, 1); });
  EXPECT_EQ(read(message), "n d (k=)");
}

TEST(RateLimitConfig, refuses_what_is_malformed_or_too_much) {
  const std::string good = config("n", "d", {bytes([](pbf_writer& to) { to.add_string(1, "key"); })});
  std::size_t malformed = 0;
  for (std::size_t size = 1; size < good.size(); ++size) {
    const std::string said = read(good.substr(0, size));
    if (said == "it is not a RateLimitConfig: the message is malformed") ++malformed;
  }
  EXPECT_EQ(malformed, good.size() - 1 - 2) << "but where a field ends";
  EXPECT_EQ(read(config("n", "\xFF", {})), "it is not used: a text is not UTF-8");
  std::string deep;
  for (int i = 0; i < 65; ++i)
    deep = bytes([&](pbf_writer& to) {
      to.add_string(1, "k");
      if (!deep.empty()) to.add_message(4, deep);
    });
  auto domain = read_rate_limit_config(config("n", "d", {deep}));
  ASSERT_TRUE(domain) << "the compiler says where";
  const auto made = limits::Descriptors::make({*std::move(domain)}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(limits::envoy_text(made.error().at(0)), "n: descriptors in each other, more than 64 deep");
  EXPECT_EQ(read(config("n", "d", {bytes([&](pbf_writer& to) { to.add_message(4, deep); })})),
            "it is not used: messages in each other, more than 64 deep");
  std::string many;
  for (std::size_t i = 0; i <= kMostParts; ++i) many += std::string("\x1A\0", 2);
  EXPECT_EQ(read(many), "it is not used: more than 200000 descriptors and values");
}

TEST(RateLimitConfig, is_compiled_without_lines) {
  const std::string key = bytes([](pbf_writer& to) {
    to.add_string(1, "k");
    to.add_message(3, policy(0, 1));
  });
  const auto made =
      limits::Descriptors::make({read_rate_limit_config(config("edge", "d", {key, key})).value()}, {});
  ASSERT_FALSE(made);
  std::vector<std::string> errors;
  for (const auto& each : made.error()) errors.push_back(limits::envoy_text(each));
  const std::string unit =
      "edge: invalid rate limit unit 'UNKNOWN'; it is one of second, minute, hour, day, week, month and year";
  EXPECT_EQ(errors, (std::vector<std::string>{
                        unit, "edge: duplicate descriptor composite key 'd.k'; the first is in edge", unit}));
}

}  // namespace
}  // namespace weir::xds
