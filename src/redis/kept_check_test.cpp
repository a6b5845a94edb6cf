#include "redis/kept_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "redis/slot.hpp"

namespace weir::inline v0_1::redis {
namespace {

std::string name_of(std::string_view prefix, std::string_view limit, std::string_view key,
                    std::string_view colocate = {}) {
  const store::Limit its{.rule = core::Rule{Quota::per_second(1)}, .name = limit};
  return key_in_redis(prefix, {.limit = &its, .key = key, .colocate = colocate});
}

TEST(KeyInRedis, is_the_key_itself_for_a_limit_without_a_name) {
  struct Row {
    const char* prefix;
    const char* key;
    const char* name;
  };
  for (const Row& row : {Row{"", "user:7", "user:7"}, Row{"weir:", "user:7", "weir:user:7"}, Row{"", "", ""},
                         Row{"", "limit", "limit"}, Row{"p:", "{t}limit#1:a", "p:{t}limit#1:a"},
                         Row{"p:", "limit#7:user", "p:limit#0:limit#7:user"}}) {
    EXPECT_EQ(name_of(row.prefix, "", row.key), row.name);
  }
}

// The same in every process and version: the state that one has left must be found by the next.
TEST(KeyInRedis, says_the_slot_and_the_limit_of_one_that_has_a_name) {
  EXPECT_EQ(name_of("weir:", "user/1s/gcra", "4:acme2:42"),
            "weir:{af4cd6ec0b840908}limit#12:user/1s/gcra4:acme2:42");
  EXPECT_EQ(name_of("weir:", "user/1s/gcra", "4:acme2:42", "acme"),
            "weir:{a627e586332be9d0}limit#12:user/1s/gcra4:acme2:42");
  EXPECT_EQ(name_of("", "edge", ""), "{1e924b9d737700d7}limit#4:edge");
}

TEST(KeyInRedis, what_is_to_lie_together_shares_a_slot_whatever_the_keys_are) {
  const auto slot = [](const char* key, const char* colocate) {
    return slot_of(name_of("p:", "user", key, colocate));
  };
  EXPECT_EQ(slot("{a}1", "acme"), slot("{b}2", "acme"));
  EXPECT_NE(slot("{a}1", "acme"), slot("{a}1", "globex"));
  EXPECT_NE(slot("{a}1", ""), slot("{a}2", ""));
  EXPECT_EQ(slot_of(name_of("p:", "", "{tenant}:user")), slot_of("tenant"));
}

// Whatever the keys are, and however much one looks like the name of another.
TEST(KeyInRedis, no_two_limits_and_keys_share_a_name) {
  std::vector<std::string> keys = {"",          "k",          ":",        "7:k",     "limit#",
                                   "limit#7:k", "limit#1:7",  "limit#0:", "limit#7", "limit#17:k",
                                   "#7:k",      "limit#7:7:", "imit#7:k", "a",       "aa"};
  for (std::size_t i = keys.size(); i-- > 0;) {
    for (const char* const limit : {"a", "aa", "7:", "1:a"}) keys.push_back(name_of("", limit, keys[i]));
    keys.push_back(name_of("", "", keys[i]) + " ");
    keys.push_back("limit#0:" + keys[i] + " ");
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::map<std::string, std::pair<std::string, std::string>> names;
  for (const char* const limit : {"", "a", "aa", "1:a", "7:", "limit#"}) {
    for (const std::string& key : keys) {
      const auto [other, fresh] = names.try_emplace(name_of("p", limit, key), limit, key);
      EXPECT_TRUE(fresh) << limit << " '" << key << "' and " << other->second.first << " '"
                         << other->second.second << "'";
    }
  }
}

}  // namespace
}  // namespace weir::redis
