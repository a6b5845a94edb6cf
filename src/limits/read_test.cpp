#include "limits/read.hpp"

#include <gtest/gtest.h>

#include "limits/reading_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr const char* kWhole = R"(version: 1
classes: [critical, default, bulk]          # the most important first
lists:
  partners: [acme, globex]
  bad_nets: { file: bad_nets.txt }          # one a line: text, address or CIDR; read again when it changes
limits:
  edge:                                     # no `by`: one counter for everybody
    rate: 20000/s burst 100000
    leave: { default: 20%, bulk: 50% }      # of the burst, kept free for more important classes
    reserve: 25%                            # of the burst, for requests inside a guarantee only
    on_store_error: local 25%
  ip:
    by: [ip]                                # these attributes make the key
    group_ip: { v4: 32, v6: 64 }            # an IPv6 client owns a /64
    rate: 50/s burst 100
    deny:  { ip: "@bad_nets" }
    allow: { ip: 10.0.0.0/8 }
  tenant:
    by: [tenant]
    within: edge                            # hierarchy: charged together, all or none
    rate: [100/s burst 200, 1000000/day]    # several windows: all or none
    overrides:                              # the last that matches wins, for what it names
      - { when: { tenant: "@partners" }, rate: [400/s burst 800, 5000000/day], guarantee: 200/s burst 100 }
      - { when: { tenant: acme }, until: 2026-12-01T00:00:00Z, reason: TICKET-4711, rate: [2000/s burst 4000, unlimited/day] }
  user:   { by: [tenant, user], within: tenant, rate: 20/s burst 40, max_wait: 1s }
  search: { by: [tenant], rate: 10/s burst 20, cost: [{ when: { path: "/v1/search/deep*" }, cost: 10 }, { cost: 1 }], shadow: until 2027-01-15 }
  tokens: { by: [tenant, model], rate: 100000/min burst 50000, hold: { estimate: 2000, ttl: 30s, at_most: 50% } }
routes:                                     # the first that matches
  - { when: { path: /healthz }, limits: [] }
  - { when: { method: [POST, PUT], path: "/v1/chat*" }, limits: [edge, ip, user, tokens] }
  - { when: { tenant: "@partners", header.x-batch: "1" }, class: bulk, limits: [edge, user] }
  - { limits: [edge, ip, user, search] }    # without `when`: the rest
answers: { status: 429, headers: [retry-after, ratelimit-11] }
)";

TEST(Read, the_example_of_the_documentation_is_clean) {
  const ReadResult reading = read(kWhole, test_options());
  EXPECT_EQ(shown(reading.findings), "");
  ASSERT_NE(reading.file, nullptr);
}

TEST(Read, gateways_with_what_they_leave_unsaid) {
  const ReadResult reading = read(R"(version: 1
gateways:
  nginx: { from: x-original, attributes: { user: Header.X-User-Id }, deny_status: 403, odd_paths: keep }
  caddy: { from: x-forwarded, trusted: [10.0.0.0/8, "::1"], token: { header: X-Gate-Token, env: GATE_TOKEN } }
  envoy: { from: path, address: header.cf-connecting-ip, on_missing: deny }
)",
                                  test_options());
  ASSERT_EQ(shown(reading.findings), "");
  ASSERT_NE(reading.file, nullptr);
  const std::vector<Gateway>& all = reading.file->gateways;
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "nginx");
  EXPECT_EQ(all[0].from, Gateway::From::x_original);
  EXPECT_EQ(all[0].address, "x-real-ip");
  ASSERT_EQ(all[0].attributes.size(), 1U);
  EXPECT_EQ(all[0].attributes[0].attribute, "user");
  EXPECT_EQ(all[0].attributes[0].header, "x-user-id");
  EXPECT_EQ(all[0].deny_status, 403);
  EXPECT_TRUE(all[0].keep_odd_paths);
  EXPECT_EQ(all[0].token_header, "");
  EXPECT_EQ(all[1].from, Gateway::From::x_forwarded);
  EXPECT_EQ(all[1].address, "x-forwarded-for");
  ASSERT_EQ(all[1].trusted.size(), 2U);
  EXPECT_EQ(core::to_text(all[1].trusted[0]), "10.0.0.0/8");
  EXPECT_EQ(all[1].token_header, "x-gate-token");
  EXPECT_EQ(all[1].token_env, "GATE_TOKEN");
  EXPECT_EQ(all[1].deny_status, 0);
  EXPECT_FALSE(all[1].keep_odd_paths);
  EXPECT_FALSE(all[1].deny_missing);
  EXPECT_EQ(all[2].from, Gateway::From::path);
  EXPECT_EQ(all[2].address, "cf-connecting-ip");
  EXPECT_TRUE(all[2].deny_missing);
}

TEST(Read, what_counts_by_something_is_shown_unless_it_says_otherwise) {
  const ReadResult reading = read(R"(version: 1
limits:
  edge: { rate: 9/s }
  told: { rate: 9/s, show: true }
  user: { by: [user], rate: 9/s }
  secret: { by: [user], rate: 8/s, show: false }
)",
                                  test_options());
  ASSERT_NE(reading.file, nullptr);
  std::string shown_ones;
  for (const NamedLimit& each : reading.file->limits) shown_ones += each.show ? each.name + " " : "";
  EXPECT_EQ(shown_ones, "told user ");
}

}  // namespace
}  // namespace weir::limits
