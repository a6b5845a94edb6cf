#include "limits/descriptors.hpp"

#include <gtest/gtest.h>

#include "limits/envoy_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using namespace std::chrono_literals;

constexpr const char* kShop = R"(
domain: shop
descriptors:
- key: plan
  rate_limit: { unit: minute, requests_per_unit: 20 }
- key: plan
  value: gold
  rate_limit: { unit: minute, requests_per_unit: 30 }
- { key: plan, value: staff }
- key: plan
  value: trial
  descriptors:
  - key: path
    rate_limit: { unit: second, requests_per_unit: 5 }
  - { key: path, value: /pay, rate_limit: { unit: Hour, requests_per_unit: 10, name: pay } }
- key: file
  value: img/*
  share_threshold: true
  rate_limit: { unit: day, requests_per_unit: 100 }
- { key: file, value: img/logo.png, rate_limit: { unit: day, requests_per_unit: 7 } }
- { key: file, value: "*.css", rate_limit: { unit: day, requests_per_unit: 8 } }
- { key: file, value: "a*b*c", rate_limit: { unit: week, requests_per_unit: 9 } }
- key: free
  rate_limit: { unlimited: true }
- { key: closed, rate_limit: { unit: month, requests_per_unit: 0 } }
- { key: host_a, value: c, rate_limit: { unit: year, requests_per_unit: 1 } }
- key: tenant
  value: "t*"
  share_threshold: true
  descriptors:
  - key: file
    value: img*
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 3 }
  - { key: file, rate_limit: { unit: minute, requests_per_unit: 4 } }
)";

TEST(Descriptors, meet_the_limit_that_says_most_of_them) {
  const MadeOfTexts made = made_of({{"shop.yaml", kShop}});
  ASSERT_EQ(made.errors, "");
  struct Row {
    Entries entries;
    const char* met;
  };
  const Row rows[] = {
      // The key alone is for values that nothing else says; a value without a limit is free.
      {{{"plan", "silver"}}, "20/MINUTE shop.plan 4:shop4:plan6:silver"},
      {{{"plan", ""}}, "20/MINUTE shop.plan 4:shop4:plan0:"},
      {{{"plan", "gold"}}, "30/MINUTE shop.plan_gold 4:shop4:plan4:gold"},
      {{{"plan", "Gold"}}, "20/MINUTE shop.plan 4:shop4:plan4:Gold"},
      {{{"plan", "staff"}}, "none"},
      {{{"plan", "trial"}}, "none"},
      // All entries, in order, and no more.
      {{{"plan", "trial"}, {"path", "/"}}, "5/SECOND shop.plan_trial.path 4:shop4:plan5:trial4:path1:/"},
      {{{"plan", "trial"}, {"path", "/pay"}},
       "10/HOUR shop.plan_trial.path_/pay 4:shop4:plan5:trial4:path4:/pay"},
      {{{"path", "/pay"}, {"plan", "trial"}}, "none"},
      {{{"plan", "gold"}, {"path", "/"}}, "none"},
      {{{"plan", "trial"}, {"path", "/"}, {"more", "x"}}, "none"},
      {{}, "none"},
      {{{"nothing", "x"}}, "none"},
      // A value before a pattern; the first pattern; all of the text; a star may be nothing.
      {{{"file", "img/logo.png"}}, "7/DAY shop.file_img/logo.png 4:shop4:file12:img/logo.png"},
      {{{"file", "img/a.css"}}, "100/DAY shop.file_img/* 4:shop4:file5:img/*"},
      {{{"file", "img/"}}, "100/DAY shop.file_img/* 4:shop4:file5:img/*"},
      {{{"file", "x.css"}}, "8/DAY shop.file_*.css 4:shop4:file5:x.css"},
      {{{"file", "x.css2"}}, "none"},
      {{{"file", "abc"}}, "9/WEEK shop.file_a*b*c 4:shop4:file3:abc"},
      {{{"file", "axbbxc"}}, "9/WEEK shop.file_a*b*c 4:shop4:file6:axbbxc"},
      {{{"file", "acb"}}, "none"},
      // Patterns that share a threshold at two levels, and at one of them.
      {{{"tenant", "t1"}, {"file", "img9"}},
       "3/MINUTE shop.tenant_t*.file_img* 4:shop6:tenant2:t*4:file4:img*"},
      {{{"tenant", "t1"}, {"file", "x"}}, "4/MINUTE shop.tenant_t*.file 4:shop6:tenant2:t*4:file1:x"},
      {{{"free", "x"}}, "unlimited shop.free"},
      {{{"closed", "x"}}, "0/MONTH shop.closed 4:shop6:closed1:x"},
      // As there, a key and a value are found as one text; but what they count is told apart.
      {{{"host_a", "c"}}, "1/YEAR shop.host_a_c 4:shop6:host_a1:c"},
      {{{"host", "a_c"}}, "1/YEAR shop.host_a_c 4:shop4:host3:a_c"},
  };
  DescriptorMatch match;
  for (const Row& row : rows) EXPECT_EQ(met(*made.set, "shop", row.entries, match), row.met);
  EXPECT_EQ(met(*made.set, "store", {{"plan", "gold"}}), "unknown domain");
}

TEST(Descriptors, a_request_may_bring_other_numbers) {
  const MadeOfTexts made = made_of({{"shop.yaml", kShop}});
  ASSERT_NE(made.set, nullptr);
  struct Row {
    DescriptorOverride override;
    const char* met;
  };
  const Row rows[] = {
      {{42, RateUnit::hour, 1}, "42/HOUR shop.override 4:shop4:file5:img/x"},
      {{0, RateUnit::hour, 1}, "0/HOUR shop.override 4:shop4:file5:img/x"},
      {{42, RateUnit::hour, 2}, "42/2h shop.override 4:shop4:file5:img/x"},
      {{42, RateUnit::unknown, 1}, "bad override"},
      {{42, static_cast<RateUnit>(7), 1}, "42/WEEK shop.override 4:shop4:file5:img/x"},
      {{42, RateUnit::hour, 0}, "bad override"},
      {{42, RateUnit::year, 146}, "42/53290d shop.override 4:shop4:file5:img/x"},
      {{42, RateUnit::year, 147}, "bad override"},
      {{4'294'967'295, RateUnit::second, 1}, "4294967295/SECOND shop.override 4:shop4:file5:img/x"},
  };
  DescriptorMatch match;
  for (const Row& row : rows) {
    // The tree, in which a pattern would stand for the value, is not looked at.
    EXPECT_EQ(met(*made.set, "shop", {{"file", "img/x"}}, match, &row.override), row.met);
    const bool bad = match.outcome == DescriptorMeets::Outcome::bad_override;
    EXPECT_EQ(match.is_override, !bad);
    EXPECT_EQ(match.limit == nullptr, bad);
  }
  EXPECT_EQ(met(*made.set, "store", {{"file", "img/x"}}, &rows[0].override), "unknown domain");
  // A period is one state, whatever says it.
  const DescriptorOverride week{42, RateUnit::day, 7};
  met(*made.set, "shop", {{"file", "axbxc"}}, match, &week);
  const std::string state(match.limit->name);
  const std::uint64_t id = match.limit->id;
  met(*made.set, "shop", {{"file", "axbxc"}}, match);
  EXPECT_EQ(match.requests_per_unit, 9U);
  EXPECT_EQ(match.limit->name, state);
  EXPECT_EQ(match.limit->id, id);
  EXPECT_EQ(state, "rls:7d|fixed_window align=clock");
}

TEST(Descriptors, are_counted_by_windows_of_the_clock_or_by_gcra) {
  constexpr const char* kText =
      "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: minute, requests_per_unit: 5 } },\n"
      "  { key: b, rate_limit: { unit: second, requests_per_unit: 3000000 } },\n"
      "  { key: c, rate_limit: { unit: minute, requests_per_unit: 0 } }]";
  DescriptorMatch match;
  const MadeOfTexts windows = made_of({{"d", kText}}, {.on_store_error = OnStoreError::deny, .wall = 90s});
  met(*windows.set, "d", {{"a", "x"}}, match);
  EXPECT_EQ(core::to_text(match.limit->rule), "5/min algorithm=fixed_window align=clock");
  EXPECT_EQ(match.limit->rule.phase, 30s);
  EXPECT_EQ(match.limit->on_store_error, OnStoreError::deny);
  EXPECT_EQ(match.limit->name, "rls:1min|fixed_window align=clock");
  met(*windows.set, "d", {{"b", "x"}}, match);
  EXPECT_EQ(match.limit->rule.quota.rate().count, 3'000'000);
  met(*windows.set, "d", {{"c", "x"}}, match);
  EXPECT_EQ(match.limit->rule.quota.rate().count, 1) << "there is no rule that admits nothing";
  const MadeOfTexts gcra = made_of({{"d", kText}}, {.algorithm = Algorithm::gcra});
  met(*gcra.set, "d", {{"a", "x"}}, match);
  EXPECT_EQ(core::to_text(match.limit->rule), "5/min");
  EXPECT_EQ(match.limit->name, "rls:1min|gcra");
  met(*gcra.set, "d", {{"b", "x"}}, match);
  EXPECT_EQ(match.limit->rule.quota.burst(), 3'000'000);
  EXPECT_EQ(match.limit->rule.quota.emission_interval(), 334ns) << "a little less than is said, never more";
}

TEST(Descriptors, tell_what_their_limits_say) {
  const MadeOfTexts made = made_of({{"d", R"(
domain: d
descriptors:
- key: a
  shadow_mode: true
  rate_limit: { unit: minute, requests_per_unit: 5, name: mine, replaces: [{ name: b }, { name: c }] }
  metadata: { team: core }
- { key: b, quota_mode: true, detailed_metric: true, rate_limit: { unit: minute, requests_per_unit: 5 } }
- { key: "c*", rate_limit: { unlimited: true, name: n }, value_to_metric: true }
)"}});
  ASSERT_EQ(made.errors, "");
  DescriptorMatch match;
  met(*made.set, "d", {{"a", "x"}}, match);
  EXPECT_TRUE(match.shadow_mode && !match.quota_mode);
  EXPECT_EQ(match.limit_name, "mine");
  EXPECT_EQ(std::vector<std::string>(match.replaces.begin(), match.replaces.end()),
            (std::vector<std::string>{"b", "c"}));
  ASSERT_NE(match.metadata, nullptr);
  EXPECT_EQ(match.metadata->fields[0].name + "=" + match.metadata->fields[0].text, "team=core");
  EXPECT_EQ(made.set->series()[match.series], "d.a");
  met(*made.set, "d", {{"b", "x"}}, match);
  EXPECT_TRUE(!match.shadow_mode && match.quota_mode);
  EXPECT_EQ(match.name, "d.b") << "a limit has one series, whatever values are asked about";
  EXPECT_EQ(match.metadata, nullptr);
  met(*made.set, "d", {{"c", "x"}}, match);
  EXPECT_EQ(match.limit_name, "n");
  EXPECT_FALSE(match.quota_mode);
  EXPECT_EQ(made.set->series(), (std::vector<std::string>{"d.a", "d.b", "d.c*", "d.override"}));
  EXPECT_EQ(made.set->domains(), 1U);
  EXPECT_EQ(made.set->limits(), 3U);
  std::string text;
  made.set->append_text(text);
  EXPECT_EQ(text,
            "d.a: unit=MINUTE requests_per_unit=5, shadow_mode: true, quota_mode: false\n"
            "d.b: unit=MINUTE requests_per_unit=5, shadow_mode: false, quota_mode: true\n"
            "d.c*: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false\n");
}

TEST(Descriptors, long_texts_are_counted_under_their_digests) {
  const MadeOfTexts made = made_of(
      {{"d", "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 5 } }]"}});
  const std::string longest(128, 'x');
  const std::string longer(129, 'x');
  EXPECT_EQ(met(*made.set, "d", {{"a", longest}}), "5/DAY d.a 1:d1:a128:" + longest);
  const std::string digest = met(*made.set, "d", {{"a", longer}});
  EXPECT_EQ(digest.size(), std::string("5/DAY d.a 1:d1:a#").size() + 64);
  EXPECT_NE(digest, met(*made.set, "d", {{"a", longer + "x"}}));
}

TEST(Descriptors, files_may_say_one_domain_together) {
  const NamedTexts files = {
      {"one",
       "domain: d\ndescriptors: [{ key: a, value: x*, rate_limit: { unit: day, requests_per_unit: 1 } }]"},
      {"two",
       "domain: d\ndescriptors: [{ key: a, value: xy*, rate_limit: { unit: day, requests_per_unit: 2 } },\n"
       "  { key: b, rate_limit: { unit: day, requests_per_unit: 3 } }]"}};
  EXPECT_EQ(made_of(files).errors,
            "two: duplicate domain 'd' in config file; it is in one already (line 1, column 1)\n");
  const MadeOfTexts made = made_of(files, {.merge_domains = true});
  ASSERT_EQ(made.errors, "");
  EXPECT_EQ(met(*made.set, "d", {{"a", "xyz"}}), "1/DAY d.a_x* 1:d1:a3:xyz")
      << "the first file's comes first";
  EXPECT_EQ(met(*made.set, "d", {{"b", ""}}), "3/DAY d.b 1:d1:b0:");
  EXPECT_EQ(
      made_of({files[1], files[1]}, {.merge_domains = true}).errors,
      "two: duplicate descriptor composite key 'd.a_xy*'; the first is in two, line 2, column 15 (line 2, "
      "column 15)\n"
      "two: duplicate descriptor composite key 'd.b'; the first is in two, line 3, column 3 (line 3, column "
      "3)\n");
}

TEST(Descriptors, what_cannot_be_counted_is_refused) {
  const auto refuses = [](const core::Rule& rule) -> std::optional<std::string> {
    return core::name_of(rule.algorithm) + " has no form there";
  };
  EXPECT_EQ(made_of({}, {.unsuitable = refuses}).errors, "fixed_window align=clock has no form there\n");
}

}  // namespace
}  // namespace weir::limits
