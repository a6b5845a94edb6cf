#include "resp/commands.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "core/documents_test.hpp"

namespace weir::inline v0_1::resp {
namespace {

// A command whose subcommands are not for the same people is its subcommands.
std::string commands_for(steering::Role role) {
  std::string text;
  const auto add = [&](steering::Role its, const std::string& name) {
    if (its == role) text += (text.empty() ? "`" : ", `") + name + "`";
  };
  for (const Command& each : listed_commands()) {
    const std::string name(each.name);
    if (each.subcommands.empty()) add(each.role, name);
    for (const Subcommand& sub : each.subcommands) add(sub.role, name + " " + std::string(sub.name));
  }
  return text;
}

TEST(Commands, docs_access_md_says_who_may) {
  using steering::Role;
  std::string rows = "| none: has shown nothing | " + commands_for(Role::none) + " |\n";
  for (const Role role : {Role::decide, Role::operate, Role::admin})
    rows += "| `" + std::string(name_of(role)) + "` | " + commands_for(role) + " |\n";
  std::string text = core::read_document("access.md");
  core::replace_lines(text, "### Over RESP", "|---|---|", "\n", rows);
  core::expect_document("access.md", text);
}

// Each command, subcommand and word of a form, for libFuzzer.
TEST(Commands, the_fuzzer_has_all_words) {
  std::set<std::string> words;
  const auto add_form = [&words](std::string_view form) {
    std::string word;
    for (const char c : std::string(form) + ' ') {
      const bool is_part = (c >= 'A' && c <= 'Z') || (c == '-' && !word.empty());
      if (is_part) word += c;
      if (!is_part && word.size() > 1) words.insert(word);
      if (!is_part) word.clear();
    }
  };
  for (const Command& each : listed_commands()) {
    words.insert(std::string(each.name));
    add_form(each.form);
  }
  std::string text;
  for (const std::string& each : words) text += '"' + each + "\"\n";
  core::expect_document("../fuzz/dictionaries/front", text);
}

TEST(Commands, each_is_found_by_its_name_in_any_letter_case) {
  for (const Command& each : listed_commands()) {
    EXPECT_EQ(find_command(each.name), &each) << each.name;
    EXPECT_EQ(find_command(lower(each.name)), &each) << each.name;
    std::string mixed = lower(each.name);
    mixed[1] = each.name[1];
    EXPECT_EQ(find_command(mixed), &each) << mixed;
  }
  for (const std::string name : {"EVAL", "eval_ro", "EvalSha", "EVALSHA_RO", "script"}) {
    const Command* found = find_command(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_TRUE(has(found->flags, Flags::unlisted)) << name;
  }
}

TEST(Commands, nothing_else_is_found) {
  for (const std::string_view name :
       {"", "G", "GET", "SET", "INCR", "DE", "DELL", "DEM", "PONG", "GCRB", "CL.THROTTLF", "CL.THROTTLES",
        "CL.THRQTTLE", "CL_THROTTLE", "\x0e\x4c.THROTTLE", "TIME\n", "TIM\xe5", "@CHO",
        "a-very-long-name-of-no-command"}) {
    EXPECT_EQ(find_command(name), nullptr) << name;
  }
  // One letter off each.
  for (const Command& each : listed_commands()) {
    for (std::size_t i = 0; i < each.name.size(); ++i) {
      std::string other(each.name);
      other[i] = '#';
      EXPECT_EQ(find_command(other), nullptr) << other;
    }
  }
}

TEST(Commands, a_row_says_what_it_needs) {
  std::set<std::string_view> names;
  for (const Command& each : listed_commands()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_NE(each.ask == nullptr, each.run == nullptr) << each.name;
    EXPECT_FALSE(each.says.empty()) << each.name;
    EXPECT_FALSE(has(each.flags, Flags::unlisted)) << each.name;
  }
  EXPECT_TRUE(find_command("DEL")->takes(2));
  EXPECT_TRUE(find_command("DEL")->takes(1'000'000));
  EXPECT_FALSE(find_command("DEL")->takes(1));
  EXPECT_TRUE(find_command("ECHO")->takes(2));
  EXPECT_FALSE(find_command("ECHO")->takes(1));
  EXPECT_FALSE(find_command("ECHO")->takes(3));
}

TEST(Commands, a_row_says_who_may) {
  for (const Command& each : listed_commands()) {
    EXPECT_EQ(each.role == steering::Role::none, has(each.flags, Flags::before_auth)) << each.name;
    std::string names;
    for (const Subcommand& its : each.subcommands) {
      names += (names.empty() ? "" : "|") + std::string(its.name);
      EXPECT_NE(its.run, nullptr) << names;
      const std::array<std::string_view, 2> words = {each.name, its.name};
      EXPECT_EQ(each.needs(words), its.role) << names;
    }
    EXPECT_TRUE(names.empty() || each.form == names) << each.name << " " << names;
  }
  const std::vector<std::string_view> kill = {"client", "Kill"};
  EXPECT_EQ(find_command("CLIENT")->needs(kill), steering::Role::operate);
  const std::vector<std::string_view> unknown = {"client", "none"};
  EXPECT_EQ(find_command("CLIENT")->needs(unknown), steering::Role::decide);
  EXPECT_EQ(find_command("CLIENT")->needs(std::span(unknown).first(1)), steering::Role::decide);
}

}  // namespace
}  // namespace weir::resp
