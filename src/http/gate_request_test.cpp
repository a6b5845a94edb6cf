#include "http/gate_request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "limits/read.hpp"

namespace weir::inline v0_1::http {
namespace {

using Wrong = GateRequest::Wrong;

limits::Gateway profile(const std::string& text) {
  const limits::ReadResult reading = limits::read("version: 1\ngateways:\n  g: { " + text + " }\n", {});
  for (const limits::Finding& each : reading.findings) {
    if (each.severity == limits::Severity::error) ADD_FAILURE() << to_text(each);
  }
  return reading.file ? reading.file->gateways[0] : limits::Gateway{};
}

// "method=GET path=/x", or what is wrong.
std::string said(const limits::Gateway& gateway, const std::vector<Field>& fields,
                 std::string_view target = "", std::string_view method = "GET") {
  Message message;
  message.method = method;
  message.fields = fields;
  GateRequest request;
  read_gate_request(gateway, message, target, request);
  switch (request.wrong) {
    case Wrong::nothing:
      break;
    case Wrong::header_twice:
      return "header twice";
    case Wrong::odd_address:
      return "odd address";
    case Wrong::odd_path:
      return "odd path";
  }
  std::string text;
  for (const limits::Attribute& each : request.all())
    text += (text.empty() ? "" : " ") + std::string(each.name) + "=" + std::string(each.value);
  return text;
}

TEST(GateRequest, a_proxy_that_may_be_missing_in_trusted_is_seen) {
  const limits::Gateway caddy = profile("from: x-forwarded, trusted: 10.0.0.1");
  const auto proxy = [&](const std::vector<Field>& fields) {
    Message message;
    message.fields = fields;
    GateRequest request;
    request.proxy = "of the last one";
    read_gate_request(caddy, message, "", request);
    return std::string(request.proxy);
  };
  EXPECT_EQ(proxy({{"X-Forwarded-For", "203.0.113.5, 10.0.0.2, 10.0.0.1"}}), "10.0.0.2");
  EXPECT_EQ(proxy({{"X-Forwarded-For", "203.0.113.5"}, {"Via", "x"}, {"x-forwarded-for", "10.0.0.2:80"}}),
            "10.0.0.2");
  EXPECT_EQ(proxy({{"X-Forwarded-For", "203.0.113.5, 10.0.0.1"}}), "");
  EXPECT_EQ(proxy({{"X-Forwarded-For", "10.0.0.2"}}), "");
  EXPECT_EQ(proxy({}), "");
}

TEST(GateRequest, by_x_forwarded) {
  const limits::Gateway caddy =
      profile("from: x-forwarded, trusted: 10.0.0.0/8, attributes: { user: header.x-user-id }");
  EXPECT_EQ(said(caddy,
                 {{"X-Forwarded-Method", "POST"},
                  {"X-Forwarded-Uri", "/v1//chat?cost=0"},
                  {"X-Forwarded-Host", "example.com"},
                  {"x-forwarded-for", "1.1.1.1, 203.0.113.5, 10.0.0.1"},
                  {"X-USER-ID", "u1"},
                  {"X-Weir-Cost", "0"},
                  {"Authorization", "Bearer x"}},
                 "?cost=0"),
            "method=POST host=example.com path=/v1/chat raw_path=/v1//chat?cost=0 ip=203.0.113.5 user=u1");
  EXPECT_EQ(said(caddy, {}), "");
  EXPECT_EQ(said(caddy, {{"X-Forwarded-For", "1.1.1.1"}, {"X-Forwarded-For", "203.0.113.5"}}),
            "ip=203.0.113.5");
  EXPECT_EQ(said(caddy, {{"X-Forwarded-For", "203.0.113.5"}, {"X-Forwarded-For", "10.0.0.1"}}),
            "ip=203.0.113.5");
  EXPECT_EQ(said(caddy, {{"X-Forwarded-For", "unknown"}}), "odd address");
  EXPECT_EQ(said(caddy, {{"X-Forwarded-Uri", "/a%2fb"}}), "odd path");
  EXPECT_EQ(said(caddy, {{"X-Forwarded-Uri", ""}}), "odd path");
  EXPECT_EQ(said(caddy, {{"X-User-Id", "u1"}, {"X-User-Id", "u1"}}), "header twice");
  EXPECT_EQ(said(caddy, {{"X-Forwarded-Uri", "/a"}, {"X-Forwarded-Uri", "/b"}}), "header twice");
  EXPECT_EQ(said(caddy, {{"X-Forwarded-Method", "GET"}, {"X-Forwarded-Method", "PUT"}}), "header twice");
  EXPECT_EQ(said(caddy, {{"X-Real-IP", "6.6.6.6"}, {"X-Original-URI", "/x"}, {"Host", "h"}}), "");
  // An empty value of a mapped header is a text like another.
  EXPECT_EQ(said(caddy, {{"X-User-Id", ""}}), "user=");
}

TEST(GateRequest, by_x_original) {
  const limits::Gateway nginx = profile("from: x-original, odd_paths: keep");
  EXPECT_EQ(said(nginx, {{"X-Original-Method", "GET"},
                         {"X-Original-URI", "/a%2fb/../c"},
                         {"X-Original-Host", "example.com"},
                         {"X-Real-IP", "203.0.113.5"},
                         {"X-Forwarded-For", "6.6.6.6"}}),
            "method=GET host=example.com path=/c raw_path=/a%2fb/../c ip=203.0.113.5");
  // Never used there: nginx passes a client's own as it came.
  EXPECT_EQ(said(nginx, {{"X-Forwarded-For", "6.6.6.6"}}), "");
  EXPECT_EQ(said(nginx, {{"X-Real-IP", "[2001:db8::1]:5000"}}), "ip=2001:db8::1");
  EXPECT_EQ(said(nginx, {{"X-Real-IP", "1.1.1.1, 2.2.2.2"}}), "odd address");
  EXPECT_EQ(said(nginx, {{"X-Real-IP", "1.1.1.1"}, {"X-Real-IP", "2.2.2.2"}}), "header twice");
  EXPECT_EQ(said(nginx, {{"X-Real-IP", ""}}), "");
  const limits::Gateway other = profile("from: x-original, address: header.x-client");
  EXPECT_EQ(said(other, {{"X-Real-IP", "1.1.1.1"}, {"X-Client", "2.2.2.2"}}), "ip=2.2.2.2");
}

TEST(GateRequest, by_its_own_path) {
  const limits::Gateway envoy = profile("from: path, address: header.cf-connecting-ip");
  EXPECT_EQ(
      said(envoy,
           {{"Host", "example.com"}, {"CF-Connecting-IP", "203.0.113.5"}, {"X-Forwarded-For", "6.6.6.6"}},
           "/v1/chat?x=1", "PUT"),
      "method=PUT host=example.com path=/v1/chat raw_path=/v1/chat?x=1 ip=203.0.113.5");
  EXPECT_EQ(said(envoy, {}, ""), "method=GET path=/ raw_path=/");
  EXPECT_EQ(said(envoy, {}, "?x"), "method=GET path=/ raw_path=/");
  EXPECT_EQ(said(envoy, {}, "//x/./y"), "method=GET path=/x/y raw_path=//x/./y");
  EXPECT_EQ(said(envoy, {}, "/x%5cy"), "odd path");
}

// Whatever a client adds, what the gateway says stays, or the request is denied.
TEST(GateRequest, is_not_changed_by_other_headers) {
  core::Chance chance;
  const limits::Gateway caddy =
      profile("from: x-forwarded, trusted: 10.0.0.0/8, attributes: { user: header.x-user-id }");
  const std::vector<Field> honest = {{"X-Forwarded-Method", "GET"},
                                     {"X-Forwarded-Uri", "/a"},
                                     {"X-Forwarded-Host", "h"},
                                     {"X-Forwarded-For", "203.0.113.5"},
                                     {"X-User-Id", "u"}};
  const std::string expected = said(caddy, honest);
  const std::vector<Field> forged = {
      {"X-Forwarded-For", "10.0.0.9"},  {"X-FORWARDED-FOR", "8.8.8.8"}, {"x-forwarded-uri", "/free"},
      {"X-User-ID", "other"},           {"X-Real-IP", "8.8.8.8"},       {"Forwarded", "for=8.8.8.8"},
      {"X-Original-URI", "/free"},      {"X-Weir-Cost", "0"},           {"Host", "free"},
      {"X-Forwarded-Method", "OPTIONS"}};
  for (int i = 0; i < 5000; ++i) {
    std::vector<Field> fields;
    for (std::int64_t left = chance.up_to(4); left > 0; --left)
      fields.push_back(
          forged[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(forged.size()) - 1))]);
    fields.insert(fields.end(), honest.begin(), honest.end());  // the gateway appends
    const std::string heard = said(caddy, fields);
    ASSERT_TRUE(heard == expected || heard == "header twice") << heard;
  }
}

}  // namespace
}  // namespace weir::http
