#include "service/verbs.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace weir::inline v0_1::service {
namespace {

std::string lower(std::string_view text) {
  std::string into;
  for (const char c : text) into += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
  return into;
}

TEST(Verbs, a_verb_has_one_name_in_every_protocol) {
  std::set<std::string_view> names;
  for (const VerbRow& each : kVerbs) {
    ASSERT_TRUE(each.command.starts_with("WEIR.")) << each.command;
    EXPECT_EQ(each.path, "/v1/" + lower(each.command.substr(5)));
    EXPECT_TRUE(names.insert(each.command).second) << each.command;
  }
  EXPECT_EQ(verb("WEIR.EXTEND").verb, store::Verb::extend);
}

TEST(Verbs, no_verb_of_the_store_lacks_a_row) {
  std::set<store::Verb> verbs{store::Verb::take};  // a check or a look that says how much at least
  for (const VerbRow& each : kVerbs) verbs.insert(each.verb);
  EXPECT_EQ(verbs.size(), static_cast<std::size_t>(store::Verb::acquire) + 1);
}

TEST(Verbs, bodies_of_one_name_are_alike) {
  std::map<std::string_view, const VerbRow*> by_body;
  for (const VerbRow& each : kVerbs) {
    const VerbRow& first = *by_body.emplace(each.body, &each).first->second;
    EXPECT_EQ(each.about, first.about) << each.command;
    EXPECT_EQ(each.takes | set_of(members::kRequests), first.takes | set_of(members::kRequests))
        << each.command;
  }
}

TEST(Verbs, a_row_fits_what_it_is_about) {
  for (const VerbRow& each : kVerbs) {
    EXPECT_EQ(takes(each, members::kId), each.about == About::id) << each.command;
    EXPECT_EQ(takes(each, members::kChecks), each.about == About::rules) << each.command;
    EXPECT_EQ(takes(each, members::kAttributes), each.about != About::id) << each.command;
    EXPECT_FALSE(each.says.empty() || each.answers.empty() || each.form.empty()) << each.command;
  }
}

}  // namespace
}  // namespace weir::service
