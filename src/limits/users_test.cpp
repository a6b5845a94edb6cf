// Files as users have them: with another editor's line ends, as JSON, as Helm and ConfigMaps write them; and
// what is read of them.
#include <gtest/gtest.h>

#include <chrono>

#include "limits/document.hpp"
#include "limits/reading_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using namespace std::chrono_literals;

void expect_clean(const std::string& file) {
  const ReadResult reading = read(file, test_options());
  EXPECT_EQ(shown(reading.findings), "") << file;
  EXPECT_NE(reading.file, nullptr);
}

TEST(Users, write_files_in_many_ways) {
  const std::string plain = "version: 1\nlimits:\n  user:\n    by: [user]\n    rate: 20/s burst 40\n";
  std::string crlf;
  for (const char c : plain) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect_clean(plain);
  expect_clean(crlf);
  expect_clean("\xEF\xBB\xBF" + plain);
  expect_clean("\xEF\xBB\xBF" + crlf);
  expect_clean("---\n" + plain + "...\n");
  expect_clean("# caf\xC3\xA9, \xE6\xBC\xA2\xE5\xAD\x97\n" + plain);
  expect_clean(plain.substr(0, plain.size() - 1));
  // What `toYaml` of a Helm value writes: keys in order of the alphabet, lists no deeper than their key.
  expect_clean(
      "limits:\n  user:\n    by:\n    - tenant\n    - user\n    overrides:\n    - rate: 40/s burst 80\n      "
      "when:\n"
      "        tenant: acme\n    rate: 20/s burst 40\nroutes:\n- limits:\n  - user\n  when:\n    method:\n   "
      " - POST\n"
      "    - PUT\n- limits: []\nversion: 1\n");
  // The data of a ConfigMap, as a literal block leaves it: with blank lines at the end.
  expect_clean("\n" + plain + "\n\n");
  // JSON, as `toJson` and jsonnet write it, and with tabs.
  expect_clean(R"({"version":1,"limits":{"user":{"by":["user"],"rate":"20/s burst 40","required":true}}})");
  expect_clean(
      "{\n\t\"version\": 1,\n\t\"limits\": {\n\t\t\"user\": {\"by\": \"user\", \"rate\": "
      "[\"20/s\"]}\n\t}\n}\n");
  expect_clean("version: '1'\nlimits: { \"user\": { 'by': [\"user\"], rate: '20/s' } }\n");
  expect_clean("version: 1\nlimits:\n  user:\n    by: [user]\n    rate: >-\n      20/s\n      burst 40\n");
}

TEST(Users, find_their_places_by_characters) {
  const auto told = [](const std::string& file) { return shown(read(file, test_options()).findings); };
  const std::string wrong = "{ version: 1, caf\xC3\xA9: 1, x: 1 }";
  EXPECT_EQ(told(wrong), told("\xEF\xBB\xBF" + wrong));
  EXPECT_TRUE(told(wrong).starts_with("limits.yaml:1:15: caf\xC3\xA9: unknown; known: ")) << told(wrong);
  EXPECT_NE(told(wrong).find("\nlimits.yaml:1:24: x: unknown; "), std::string::npos) << told(wrong);
  EXPECT_TRUE(told("version: 1\r\n\r\nx: 1\r\n").starts_with("limits.yaml:3:1: x: unknown"))
      << "lines end with CRLF";
}

TEST(Users, mean_texts_where_yaml_has_other_types) {
  const ReadResult reading = read(
      "version: 1\nlists: { odd: [no, on, 0o17, 1e3, 12:30:45, null, ~, 2026-11-21, 007, \"\"] }\n"
      "limits: { a: { rate: 1/s, allow: { country: \"@odd\" } } }\n",
      test_options());
  ASSERT_NE(reading.file, nullptr) << shown(reading.findings);
  std::string all;
  for (const ListEntry& entry : reading.file->lists[0].entries) {
    EXPECT_EQ(entry.kind, ListEntry::Kind::text);
    all += entry.text + ",";
  }
  EXPECT_EQ(all, "no,on,0o17,1e3,12:30:45,null,~,2026-11-21,007,,");
}

TEST(Users, get_what_they_wrote) {
  const ReadResult reading = read(R"(version: 1
classes: [critical, default, bulk, idle]
ceiling: default
hash_tag: tenant
lists:
  nets: { file: bad_nets.txt }
limits:
  user:
    by: [tenant, user, ip]
    within: tenant
    rate: [20/s burst 40, 1000/day algorithm=gcra]
    id: people
    required: true
    leave: { default: 12.5%, idle: 50% }
    deny: { ip: ["@nets", 10.0.0.0/8, "::ffff:192.0.2.1"], user: ["bot*", root] }
    overrides:
      - { when: { tenant: acme }, until: 2026-12-01T01:30:00.5+01:00, rate: unlimited/day, reason: "#4711", cost: 2 }
      - { rate: unlimited }
    cost: { from: units }
    on_store_error: local 25%
    when_full: allow
    max_wait: 1.5s
    hold: { estimate: 7, ttl: 1min, at_most: 75% }
  tenant: { by: [tenant], rate: 1000/s, reserve: 0.0001%, shadow: until 2027-01-15 }
routes:
  - { when: { method: GET }, class: bulk, limits: [user] }
  - { limits: user }
answers: { status: 503, headers: retry-after }
)",
                                  test_options());
  ASSERT_NE(reading.file, nullptr) << shown(reading.findings);
  const File& file = *reading.file;
  EXPECT_EQ(file.default_class, 1U);
  EXPECT_EQ(file.ceiling, 1U);
  EXPECT_EQ(file.hash_tag, "tenant");
  ASSERT_EQ(file.lists[0].entries.size(), 4U);
  EXPECT_EQ(core::to_text(file.lists[0].entries[0].network), "203.0.113.0/24");
  EXPECT_EQ(file.lists[0].entries[1].place, (Position{4, 1}));
  EXPECT_EQ(file.lists[0].entries[3].kind, ListEntry::Kind::pattern);
  const NamedLimit& user = file.limits[0];
  EXPECT_EQ(user.id, "people");
  EXPECT_EQ(user.by[2].group.v6, 64);
  EXPECT_EQ(user.by[0].group.v6, 128);
  EXPECT_EQ(file.limits[user.within].name, "tenant");
  EXPECT_EQ(core::to_text(user.windows[1].rule), "1000/d");
  EXPECT_EQ(user.windows[1].place, (Position{11, 27}));
  EXPECT_TRUE(user.required);
  ASSERT_EQ(user.leave.shares.size(), 4U);
  EXPECT_EQ(user.leave.shares[0].millionths, 0U);
  EXPECT_EQ(user.leave.shares[1].millionths, 125'000U);
  EXPECT_EQ(user.leave.shares[2].millionths, 125'000U) << "as the class before it";
  EXPECT_EQ(user.leave.shares[3].millionths, 500'000U);
  EXPECT_EQ(file.limits[1].reserve.share.millionths, 1U);
  ASSERT_EQ(user.deny.size(), 2U);
  EXPECT_EQ(user.deny[0].lists, std::vector<Index>{0});
  EXPECT_EQ(core::to_text(user.deny[0].entries[1].network), "192.0.2.1");
  EXPECT_EQ(user.deny[1].entries[0].kind, ListEntry::Kind::pattern);
  const Override& acme = user.overrides[0];
  EXPECT_EQ(acme.until, Time{std::chrono::sys_days{std::chrono::year{2026} / 12 / 1}} + 30min + 500ms);
  EXPECT_EQ(acme.reason, "#4711");
  ASSERT_EQ(acme.windows.size(), 1U);
  EXPECT_EQ(acme.windows[0].window, 1U);
  EXPECT_TRUE(acme.windows[0].lifted);
  EXPECT_EQ(acme.cost.cases[0].cost, 2U);
  EXPECT_EQ(user.overrides[1].windows.size(), 2U) << "unlimited lifts all";
  EXPECT_EQ(user.cost.from, "units");
  EXPECT_EQ(user.on_store_error.what, OnStoreError::local);
  EXPECT_EQ(user.on_store_error.share.millionths, 250'000U);
  EXPECT_EQ(user.when_full, FileWhenFull::allow);
  EXPECT_EQ(user.max_wait, 1500ms);
  EXPECT_EQ(user.hold.estimate, 7U);
  EXPECT_EQ(user.hold.ttl, 60s);
  EXPECT_EQ(user.hold.at_most.millionths, 750'000U);
  EXPECT_TRUE(file.limits[1].shadow(kTestNow));
  EXPECT_FALSE(file.limits[1].shadow(Time{std::chrono::sys_days{std::chrono::year{2027} / 1 / 15}}));
  EXPECT_EQ(file.routes[0].least_class, 2U);
  EXPECT_EQ(file.routes[0].limits, std::vector<Index>{0});
  EXPECT_EQ(file.routes[0].meets, (std::vector<Index>{1, 0})) << "an ancestor before its child";
  EXPECT_EQ(file.answers.status, 503);
  EXPECT_EQ(file.answers.headers, std::vector<std::string>{"retry-after"});
}

TEST(Users, without_routes_every_limit_is_met) {
  const ReadResult reading =
      read("version: 1\nlimits:\n  a: { rate: 1/s, within: b }\n  b: { rate: 2/s }\n", test_options());
  ASSERT_NE(reading.file, nullptr);
  ASSERT_EQ(reading.file->routes.size(), 1U);
  EXPECT_EQ(reading.file->routes[0].place.line, 0U);
  EXPECT_EQ(reading.file->routes[0].meets, (std::vector<Index>{1, 0}));
}

// Each of them would take long, or all of the memory, if it were read without bounds.
TEST(Hostile, files_end_soon_with_something_told) {
  const auto repeated = [](std::string_view text, std::size_t bytes) {
    std::string all;
    while (all.size() + text.size() <= bytes) all += text;
    return all;
  };
  constexpr std::size_t kMost = 200'000;
  std::string bomb = "version: 1\na: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string before = std::string("*") + static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [" + repeated(before + ", ", 40) + before + "]\n";
  }
  std::string deep = "version: 1\n";
  for (int i = 0; i < 1000; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  for (const std::string& file :
       {bomb,
        deep,
        repeated("[", kMost),
        repeated("{", kMost),
        repeated("- ", kMost),
        repeated("? ", kMost),
        repeated("{a: ", kMost),
        repeated("a: [", kMost),
        "a: \"" + repeated("x", kMost),
        "a: |\n " + repeated("x", kMost),
        repeated("!", kMost),
        repeated("&a ", kMost),
        repeated("[],", kMost),
        repeated("a: b: ", kMost),
        "version: 1\nlimits: [" + repeated("[], ", kMost),
        repeated("- -\n", kMost),
        repeated("%", kMost),
        "version: 1\nlists: { a: [" + repeated("x*, ", kMost - 100) + "y] }\n",
        "version: 1\nroutes:\n" + repeated("- limits: [a]\n", kMost),
        "version: 1\nlimits:\n  a:\n    rate: 1/s\n    overrides:\n" + repeated("    - rate: 1/s\n", kMost),
        "version: 1\nlimits:\n  a:\n    rate: 1/s\n    cost:\n" + repeated("    - cost: 9\n", kMost)}) {
    const ReadResult reading = read(file, test_options());
    EXPECT_FALSE(reading.findings.empty()) << file.substr(0, 100);
    EXPECT_LE(reading.findings.size(), 2001U);
  }
}

}  // namespace
}  // namespace weir::limits
