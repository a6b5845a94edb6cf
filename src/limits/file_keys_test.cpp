// The tables of docs/limits.md and the keys of docs/limits.schema.json are what limits/file_keys.hpp,
// limits/limit_keys.cpp and limits/file_rule.hpp say. With WEIR_WRITE set, they are written.
#include "limits/file_keys.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/documents_test.hpp"
#include "limits/limit_keys.hpp"

namespace weir::inline v0_1::limits {
namespace {

template <class Row>
std::vector<FileKey> keys_of(std::span<const Row> rows) {
  std::vector<FileKey> keys;
  for (const Row& each : rows) keys.push_back(each.key);
  return keys;
}

std::string table_of(FileKeys keys, bool examples) {
  std::string text;
  for (const FileKey& each : keys) {
    text += "| `" + std::string(each.name) + "` | " + std::string(each.unsaid) + " | " +
            std::string(each.meaning);
    if (examples) text += each.example.empty() ? " |" : " | `" + std::string(each.example) + "`";
    text += " |\n";
  }
  return text;
}

TEST(FileKeys, docs_limits_md_has_their_tables) {
  std::string text = core::read_document("limits.md");
  const std::string ruler = "|---|---|---|";
  core::replace_lines(text, "## The top", ruler, "\n", table_of(keys::kTop, false));
  core::replace_lines(text, "## A limit", ruler + "---|", "\n", table_of(keys_of(limit_keys()), true));
  core::replace_lines(text, "## Gateways", ruler, "\n", table_of(keys::kGateway, false));
  core::replace_lines(text, "## Envoy", ruler, "\n", table_of(keys::kRlsDomain, false));
  std::string rules;
  for (const FileRuleText& each : kFileRules)
    rules += "| " + std::to_string(number_of(each.rule)) + " | " + std::string(each.refused) + " |\n";
  core::replace_lines(text, "## What is refused", "|---|---|", "\n", rules);
  core::expect_document("limits.md", text);
}

TEST(FileKeys, each_rule_has_its_place_in_the_table) {
  for (std::size_t i = 0; i < kFileRules.size(); ++i)
    EXPECT_EQ(number_of(kFileRules[i].rule), static_cast<int>(i) + 1);
}

const std::map<std::string, FileKeys, std::less<>> kInside = {
    {"lists", keys::kList},  {"routes", keys::kRoute},     {"answers", keys::kAnswers}, {"hold", keys::kHold},
    {"lease", keys::kLease}, {"group_ip", keys::kGroupIp}, {"token", keys::kToken}};

std::string schema_of(FileKeys keys, const std::string& between, std::size_t indent);

// With what stands in place of the mark, where it has one.
std::string schema_of(const FileKey& key, std::size_t indent) {
  std::string text = "\"" + std::string(key.name) + "\": ";
  for (const char c : key.form) {
    text += c;
    if (c == '\n') text.append(indent, ' ');
  }
  const auto inside = kInside.find(key.name);
  if (inside == kInside.end() || key.form.find('@') == std::string_view::npos) return text;
  if (const std::size_t at = text.find("{ @ }"); at != std::string::npos)
    return text.replace(at + 2, 1, schema_of(inside->second, ", ", 0));
  const std::size_t at = text.find(" @\n") + 1;
  const std::size_t deep = at - text.rfind('\n', at) - 1;
  return text.replace(at, 1, schema_of(inside->second, ",\n" + std::string(deep, ' '), deep));
}

std::string schema_of(FileKeys keys, const std::string& between, std::size_t indent) {
  std::string text;
  for (const FileKey& each : keys) text += (text.empty() ? "" : between) + schema_of(each, indent);
  return text;
}

TEST(FileKeys, docs_limits_schema_json_has_them) {
  std::string text = core::read_document("limits.schema.json");
  const auto block = [&text](const std::string& owner, std::size_t indent, FileKeys keys) {
    const std::string margin(indent, ' ');
    core::replace_lines(text, owner, margin + "\"properties\": {", margin + "}",
                        margin + "  " + schema_of(keys, ",\n  " + margin, indent + 2) + "\n");
  };
  const auto line = [&text](const std::string& owner, const std::string& required, FileKeys keys) {
    core::replace_lines(text, owner, required + "\"additionalProperties\": false,", required.substr(2) + "}",
                        required + "\"properties\": { " + schema_of(keys, ", ", 0) + " }\n");
  };
  block("  \"additionalProperties\": false,", 2, keys::kTop);
  block("    \"override\": {", 6, keys_of(override_keys()));
  block("    \"gateway\": {", 6, keys::kGateway);
  block("    \"rls_domain\": {", 6, keys::kRlsDomain);
  block("    \"limit\": {", 6, keys_of(limit_keys()));
  line("    \"cost\": {", "          ", keys::kCost);
  line("    \"cost\": {", "            ", keys::kCostCase);
  line("    \"penalty\": {", "          ", keys::kPenalty);
  core::expect_document("limits.schema.json", text);
}

}  // namespace
}  // namespace weir::limits
