// What is written of the paths, docs/access.md, docs/http.md and /openapi.json, is what the table of routes
// says.
#include "http/handlers.hpp"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/documents_test.hpp"
#include "http/admin_conversation.hpp"
#include "http/open_api.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::http {
namespace {

using steering::Role;

std::string paths_for(Role role) {
  std::string text;
  const auto add = [&](Role its, const std::string& path) {
    if (its == role) text += (text.empty() ? "`" : ", `") + path + "`";
  };
  for (const Handler& each : routes()) add(each.role, std::string(each.path) + (each.prefix ? "..." : ""));
  store::Table table{store::Table::kLeastBytes, WhenFull::deny, {1, 2}};
  service::Service service({}, table);
  const Readiness readiness{[] { return true; }, [] { return ""; }, [] { return ""; }};
  for (const AdminPage& each : admin_pages(service, readiness))
    add(each.asks_who ? Role::decide : Role::none, each.path);
  return text;
}

TEST(Handlers, docs_access_md_says_who_may) {
  std::string rows = "| none: has shown nothing | " + paths_for(Role::none) + " |\n";
  for (const Role role : {Role::decide, Role::operate, Role::admin})
    rows += "| `" + std::string(name_of(role)) + "` | " + paths_for(role) + " |\n";
  std::string text = core::read_document("access.md");
  core::replace_lines(text, "### Over HTTP", "|---|---|", "\n", rows);
  core::expect_document("access.md", text);
}

// Each path, and each member of a body, for libFuzzer.
TEST(Handlers, the_fuzzer_has_all_words) {
  std::string text;
  for (const Handler& each : routes()) text += '"' + std::string(each.path) + "\"\n";
  for (const std::string_view each : service::kMemberNames) text += "\"\\\"" + std::string(each) + "\\\"\"\n";
  core::expect_document("../fuzz/dictionaries/http", text);
}

// What a route answers, each as "METHOD /path", "/path" of one that takes every method. Where its path is the
// beginning of others it ends with a '/'.
std::set<std::string> all_that_is_answered() {
  std::set<std::string> all;
  for (const Handler& each : routes()) {
    if (each.open()) all.insert(std::string(each.path));
    for (const std::string method : {"GET", "POST", "DELETE", "PUT", "PATCH"})
      if (each.takes(method)) all.insert(method + " " + std::string(each.path));
  }
  return all;
}

// The same of a path as pages write it: /v1/overrides/7, /v1/overrides/{number}.
std::string as_the_table_has_it(const std::string& path) {
  const Handler* const route = find_route(path);
  return route == nullptr ? path + ", which nothing answers" : std::string(route->path);
}

TEST(Handlers, docs_http_md_has_each_path) {
  const std::string page = core::read_document("http.md");
  std::set<std::string> written;
  std::size_t at = page.find("\n| path | what it does |\n|---|---|\n");
  ASSERT_NE(at, std::string::npos);
  at = page.find("\n|", page.find("|---|---|", at)) + 1;
  for (; page[at] == '|'; at = page.find('\n', at) + 1) {
    std::string cell = page.substr(at + 1, page.find(" | ", at) - at);
    for (std::size_t from = 0; (from = cell.find('`', from)) != std::string::npos;) {
      const std::size_t end = cell.find('`', from + 1);
      const std::string words = cell.substr(from + 1, end - from - 1);
      const std::size_t path = words.find('/');
      EXPECT_TRUE(written.insert(words.substr(0, path) + as_the_table_has_it(words.substr(path))).second)
          << words << " is there twice";
      from = end + 1;
    }
  }
  EXPECT_EQ(written, all_that_is_answered());
}

// The gate takes any method, which OpenAPI cannot say, and gateways alone call it.
TEST(Handlers, the_open_api_has_each_path_with_its_role) {
  std::map<std::string, std::string> written;
  simdjson::dom::parser parser;
  const simdjson::dom::element all = parser.parse(std::string(open_api()));
  const simdjson::dom::object paths = all["paths"];
  for (const auto& [path, operations] : paths) {
    for (const auto& [method, operation] : simdjson::dom::object(operations)) {
      std::string name(method);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
      const std::string_view role = operation["x-weir-role"];
      written[name + " " + as_the_table_has_it(std::string(path))] = role;
    }
  }
  std::map<std::string, std::string> answered;
  for (const std::string& each : all_that_is_answered()) {
    const Handler& route = *find_route(each.substr(each.find('/')));
    if (!route.open()) answered[each] = name_of(route.role);
  }
  EXPECT_EQ(written, answered);
}

}  // namespace
}  // namespace weir::http
