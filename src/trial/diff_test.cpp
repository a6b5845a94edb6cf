#include "trial/diff.hpp"

#include <gtest/gtest.h>

#include "limits/read.hpp"

namespace weir::inline v0_1::limits {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

const std::string kFile =
    "version: 1\n"
    "classes: [critical, default]\n"
    "lists: { partners: [acme, globex] }\n"
    "limits:\n"
    "  edge: { rate: 100/s burst 200, leave: { default: 20% } }\n"
    "  user:\n"
    "    by: [user]\n"
    "    rate: [20/s burst 40, 1000/day]\n"
    "    overrides:\n"
    "      - { when: { user: \"@partners\" }, rate: 50/s burst 60 }\n"
    "      - { when: { user: ann }, until: 2030-01-01, rate: unlimited/day, reason: T-1 }\n"
    "routes:\n"
    "  - { when: { path: /a }, limits: [user] }\n"
    "  - { when: { path: \"/b*\" }, limits: [edge] }\n"
    "  - { limits: [edge, user] }\n";

std::string changed(const std::string& after) {
  std::vector<std::shared_ptr<const File>> files;
  for (const std::string& text : {kFile, after}) {
    const ReadResult reading = read(text, {});
    for (const Finding& finding : reading.findings) {
      if (finding.severity == Severity::error) ADD_FAILURE() << to_text(finding);
    }
    if (!reading.file) return "unreadable";
    files.push_back(reading.file);
  }
  return to_text(differences(*files[0], *files[1]), "o", "n");
}

TEST(Diff, of_the_same_file_is_empty) { EXPECT_EQ(changed(kFile), ""); }

TEST(Diff, how_a_file_is_written_makes_no_difference) {
  EXPECT_EQ(changed(replaced(replaced(kFile, "20/s burst 40", "20/1s burst 40"), "[acme, globex]",
                             "[globex, acme]")),
            "");
}

struct Row {
  const char* what;
  const char* by;
  const char* difference;
};

TEST(Diff, names_each_thing_with_its_lines) {
  const Row rows[] = {
      {"20/s burst 40", "30/s burst 60", "~ limits.user.rate: 20/s burst 40 -> 30/s burst 60  o:8  n:8\n"},
      {"[20/s burst 40, 1000/day]", "[20/s burst 40, 1000/day, 100/min]",
       "+ limits.user.rate: 100/min (begins without debts)  n:8\n"},
      {"1000/day]", "1000/day algorithm=fixed_window]",
       "+ limits.user.rate: 1000/d algorithm=fixed_window (begins without debts)  n:8\n"
       "- limits.user.rate: 1000/d  o:8\n"},
      {"by: [user]", "by: [user, app]",
       "~ limits.user: by user -> by user, app (begins without debts)  o:6  n:6\n"},
      {"default: 20%", "default: 25%", "~ limits.edge.leave: default 20% -> default 25%  o:5  n:5\n"},
      {"50/s burst 60", "50/s burst 70",
       "~ limits.user.overrides[user: @partners]: 50/s burst 60 -> 50/s burst 70  o:10  n:10\n"},
      {"until: 2030-01-01, ", "",
       "~ limits.user.overrides[user: ann]: unlimited/1d, until 2030-01-01T00:00:00Z, reason T-1 -> "
       "unlimited/1d, "
       "reason T-1  o:11  n:11\n"},
      {"[acme, globex]", "[acme]", "~ lists.partners: [acme, globex] -> [acme]  o:3  n:3\n"},
      {"limits: [edge] }", "limits: [edge], class: critical }",
       "~ routes[path: /b*]: edge -> edge, class critical  o:14  n:14\n"},
      {"  - { when: { path: /a }, limits: [user] }\n", "", "- routes[path: /a]: user  o:13\n"},
      {"routes:\n", "routes:\n  - { when: { path: /c }, limits: [] }\n",
       "+ routes[path: /c]: no limits  n:13\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(changed(replaced(kFile, row.what, row.by)), row.difference) << row.by;
}

TEST(Diff, the_order_of_routes_and_overrides_is_told) {
  const std::string a = "  - { when: { path: /a }, limits: [user] }\n";
  const std::string b = "  - { when: { path: \"/b*\" }, limits: [edge] }\n";
  EXPECT_EQ(changed(replaced(kFile, a + b, b + a)),
            "~ routes, their order: routes[path: /a], then routes[path: /b*], then routes[the rest] -> "
            "routes[path: /b*], then routes[path: /a], then routes[the rest]  o:13  n:13\n");
}

TEST(Diff, a_limit_is_known_by_its_id) {
  std::string renamed = replaced(kFile, "  user:\n    by", "  account:\n    id: user\n    by");
  renamed = replaced(renamed, "limits: [user]", "limits: [account]");
  renamed = replaced(renamed, "[edge, user]", "[edge, account]");
  EXPECT_EQ(changed(renamed),
            "~ limits.account: limits.user -> limits.account (renamed: keeps its debts)  o:6  n:6\n");
  const std::string other = changed(replaced(renamed, "    id: user\n", ""));
  EXPECT_NE(other.find("+ limits.account.rate: 20/s burst 40  n:8"), std::string::npos) << other;
  EXPECT_NE(other.find("- limits.user.rate: 20/s burst 40  o:8"), std::string::npos) << other;
}

TEST(Diff, of_gateways_and_of_what_is_shown) {
  const std::string gateway = "gateways: { a: { from: path, trusted: 10.0.0.1, odd_paths: keep } }\n";
  EXPECT_EQ(changed(replaced(kFile, "by: [user]\n", "by: [user]\n    show: false\n") + gateway),
            "+ limits.user.show: false  n:6\n"
            "+ gateways.a.from: path  n:17\n"
            "+ gateways.a.trusted: 10.0.0.1  n:17\n"
            "+ gateways.a.address: header.x-forwarded-for  n:17\n"
            "+ gateways.a.odd_paths: keep  n:17\n");
}

TEST(Diff, of_the_attributes_that_a_request_may_have) {
  EXPECT_EQ(changed(replaced(kFile, "classes", "attributes: [user]\nclasses")),
            "+ attributes: host, ip, method, path, raw_path, user\n");
}

}  // namespace
}  // namespace weir::limits
