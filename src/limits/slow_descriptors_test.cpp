// The compiled trees against a matcher that shares no code with them: it goes through what was said, one
// thing after the other, over trees and descriptors that chance makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "limits/envoy_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

const std::vector<std::string> kTreeKeys = {"a", "b", "a_b", "k*"};
const std::vector<std::string> kTreeValues = {"", "", "x", "b_x", "x*", "*", "*y", "x*y*z", "xyz"};

class ChanceTree {
 public:
  explicit ChanceTree(std::uint64_t number) : chance_(number) {}

  std::vector<Descriptor> descriptors(std::size_t depth) {
    std::vector<Descriptor> all;
    for (std::int64_t left = chance_.up_to(4); left >= 0; --left) {
      Descriptor each;
      each.key = one_of(kTreeKeys);
      each.value = one_of(kTreeValues);
      const std::string composite = text_of(each);
      if (std::any_of(all.begin(), all.end(),
                      [&](const Descriptor& other) { return text_of(other) == composite; }))
        continue;
      each.share_threshold = composite.find('*') != std::string::npos && chance_.up_to(1) == 0;
      if (chance_.up_to(2) > 0) {
        each.limit.emplace();
        each.limit->unit = "minute";
        each.limit->requests_per_unit = ++numbers_;
      }
      if (depth < 3 && chance_.up_to(1) == 0) each.descriptors = descriptors(depth + 1);
      all.push_back(std::move(each));
    }
    return all;
  }

  std::vector<std::pair<std::string, std::string>> request() {
    std::vector<std::pair<std::string, std::string>> entries;
    for (std::int64_t left = chance_.up_to(4); left > 0; --left) {
      std::string value = one_of({"", "x", "y", "xy", "xyz", "xyyz", "b_x", "x*", "b"});
      entries.emplace_back(one_of({"a", "b", "a_b", "k1", "k*", "k"}), std::move(value));
    }
    return entries;
  }

  static std::string text_of(const Descriptor& said) {
    return said.value.empty() ? said.key : said.key + "_" + said.value;
  }

 private:
  std::string one_of(const std::vector<std::string>& words) {
    return words[static_cast<std::size_t>(chance_.up_to(static_cast<std::int64_t>(words.size()) - 1))];
  }

  core::Chance chance_;
  std::uint32_t numbers_ = 0;
};

// A star is tried at every length.
bool slowly_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t taken = 0; taken <= text.size(); ++taken)
      if (slowly_matches(pattern.substr(1), text.substr(taken))) return true;
    return false;
  }
  return !text.empty() && text[0] == pattern[0] && slowly_matches(pattern.substr(1), text.substr(1));
}

// The number of the limit and what it is counted under, or "none".
std::string slowly(const std::vector<Descriptor>& descriptors,
                   const std::vector<std::pair<std::string, std::string>>& entries) {
  const std::vector<Descriptor>* level = &descriptors;
  const Descriptor* found = nullptr;
  std::string key = "1:d";
  const auto add = [&key](const std::string& text) { key += std::to_string(text.size()) + ":" + text; };
  for (const auto& [name, value] : entries) {
    const std::string whole = name + "_" + value;
    found = nullptr;
    bool by_pattern = false;
    const auto first = [&](const std::function<bool(const std::string&)>& fits) {
      for (const Descriptor& each : *level)
        if (found == nullptr && fits(ChanceTree::text_of(each))) found = &each;
    };
    first([&](const std::string& text) { return text == whole; });
    if (found == nullptr) {
      first([&](const std::string& text) {
        return text.find('*') != std::string::npos && slowly_matches(text, whole);
      });
      by_pattern = found != nullptr;
    }
    if (found == nullptr) first([&](const std::string& text) { return text == name; });
    if (found == nullptr) return "none";
    add(name);
    std::string counted = value;
    if (by_pattern && found->share_threshold) {
      counted = ChanceTree::text_of(*found);
      if (counted.rfind(name + "_", 0) == 0) counted.erase(0, name.size() + 1);
    }
    add(counted);
    level = &found->descriptors;
  }
  if (found == nullptr || !found->limit) return "none";
  return std::to_string(found->limit->requests_per_unit) + " " + key;
}

TEST(Descriptors, are_matched_as_slowly) {
  std::size_t limited = 0;
  DescriptorMatch match;
  for (std::uint64_t tree = 0; tree < 300; ++tree) {
    ChanceTree chance(tree);
    Domain said;
    said.file = "d.yaml";
    said.domain = "d";
    said.descriptors = chance.descriptors(0);
    const auto made = Descriptors::make({said}, {});
    ASSERT_TRUE(made) << envoy_text(made.error().front());
    for (int i = 0; i < 200; ++i) {
      const auto request = chance.request();
      Entries entries;
      for (const auto& [key, value] : request) entries.push_back({key, value});
      (*made)->match(*(*made)->find("d"), entries, nullptr, match);
      const bool none = match.outcome == DescriptorMeets::Outcome::none;
      limited += none ? 0 : 1;
      const std::string got = none ? "none" : std::to_string(match.requests_per_unit) + " " + match.key;
      std::string shown;
      for (const auto& [key, value] : request) shown += key + "=" + value + " ";
      ASSERT_EQ(got, slowly(said.descriptors, request)) << "tree " << tree << ": " << shown;
    }
  }
  EXPECT_GT(limited, 1000U) << "most would otherwise be about nothing";
}

}  // namespace
}  // namespace weir::limits
