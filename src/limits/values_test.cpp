#include "limits/values.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

std::size_t below(core::Chance& chance, std::size_t bound) {
  return static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(bound) - 1));
}

ListEntry text(std::string what) { return {.kind = ListEntry::Kind::text, .text = std::move(what)}; }
ListEntry pattern(std::string what) { return {.kind = ListEntry::Kind::pattern, .text = std::move(what)}; }
ListEntry network(const std::string& what) {
  return {.kind = ListEntry::Kind::network, .text = what, .network = core::read_network(what).network};
}

TEST(Pattern, a_star_is_any_run_of_characters) {
  struct Row {
    std::string pattern;
    std::string text;
    bool matches;
  };
  const std::vector<Row> rows = {
      {"a", "a", true},         {"a", "b", false},         {"*", "", true},          {"*", "x/y", true},
      {"/v1/*", "/v1/", true},  {"/v1/*", "/v1", false},   {"*/x", "a/b/x", true},   {"*/x", "/xx", false},
      {"a*a", "a", false},      {"a*a", "aa", true},       {"a*b*c", "a1b2c", true}, {"a*b*c", "acb", false},
      {"*ab*ab*", "ab", false}, {"*ab*ab*", "abab", true}, {"a**b", "ab", true},     {"a**b", "axyb", true},
      {"*.*.*", "1.2", false},  {"*.*.*", "..", true},     {"A*", "a", false},       {"**", "", true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(matches_pattern(row.pattern, row.text), row.matches) << row.pattern << " " << row.text;
}

bool matches_slowly(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return matches_slowly(pattern.substr(1), text) ||
           (!text.empty() && matches_slowly(pattern, text.substr(1)));
  }
  return !text.empty() && pattern[0] == text[0] && matches_slowly(pattern.substr(1), text.substr(1));
}

TEST(Pattern, is_what_the_slow_way_says) {
  core::Chance chance;
  const auto make = [&](std::string_view letters, std::size_t most) {
    std::string word;
    for (std::size_t i = below(chance, most + 1); i > 0; --i) word += letters[below(chance, letters.size())];
    return word;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string p = make("ab*", 8);
    const std::string t = make("ab", 10);
    ASSERT_EQ(matches_pattern(p, t), matches_slowly(p, t)) << p << " " << t;
  }
}

// Few are compared one by one, many are looked up; both say the same as asking each.
TEST(ValueSet, says_what_its_entries_say_one_by_one) {
  core::Chance chance;
  const auto word = [&] {
    std::string made;  // often alike
    for (std::size_t i = below(chance, 4); i > 0; --i) made += "ab/"[below(chance, 3)];
    return made;
  };
  const auto address = [&] {
    return below(chance, 2) == 0
               ? "10.0." + std::to_string(below(chance, 3)) + "." + std::to_string(below(chance, 4))
               : "2001:db8::" + std::to_string(below(chance, 3)) + ":" + std::to_string(below(chance, 4));
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<ListEntry> entries;
    for (std::size_t i = below(chance, 30); i > 0; --i) {
      switch (below(chance, 3)) {
        case 0:
          entries.push_back(text(word()));
          break;
        case 1:
          entries.push_back(pattern(word() + "*" + word()));
          break;
        default: {
          const std::string whole = address();
          const bool v4 = whole.find(':') == std::string::npos;
          const auto bits = static_cast<std::uint8_t>(v4 ? 20 + below(chance, 13) : 100 + below(chance, 29));
          const auto host = core::read_network(whole + "/" + std::to_string(bits));
          entries.push_back(network(core::to_text(host.network)));
        }
      }
    }
    const ValueSet set(entries);
    for (int i = 0; i < 50; ++i) {
      std::string value = below(chance, 2) == 0 ? word() : address();
      if (below(chance, 8) == 0) value = "::ffff:10.0.1." + std::to_string(below(chance, 4));
      const auto parsed = core::parse_address(value);
      bool expected = false;
      for (const ListEntry& each : entries) {
        expected = expected || (each.kind == ListEntry::Kind::text && each.text == value) ||
                   (each.kind == ListEntry::Kind::pattern && matches_slowly(each.text, value)) ||
                   (each.kind == ListEntry::Kind::network && parsed && each.network.has(*parsed));
      }
      ASSERT_EQ(set.has(AttributeValue(value)), expected) << value;
    }
  }
}

TEST(Beginnings, are_found_with_those_that_they_begin_with) {
  Beginnings beginnings;
  const std::vector<std::string> texts = {"/v1/", "/v1/chat", "/v2/", "/", "/v1/chat", "", "/v1/chat/x"};
  for (Index i = 0; i < texts.size(); ++i) beginnings.add(texts[i], i == 4, i);
  beginnings.seal();
  const auto found = [&](std::string_view text) {
    std::vector<Index> all;
    beginnings.find(text,
                    [&](std::span<const Index> which) { all.insert(all.end(), which.begin(), which.end()); });
    return all;
  };
  EXPECT_EQ(found("/v1/chat"), (std::vector<Index>{1, 4, 0, 3, 5}));
  EXPECT_EQ(found("/v1/chat/"), (std::vector<Index>{1, 0, 3, 5}));
  EXPECT_EQ(found("/v1/z"), (std::vector<Index>{0, 3, 5}));
  EXPECT_EQ(found("x"), (std::vector<Index>{5}));
}

}  // namespace
}  // namespace weir::limits
