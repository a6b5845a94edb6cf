#include "redis/kept_check.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "redis/slot.hpp"

namespace weir::redis {
namespace {

TEST(KeyInRedis, is_the_key_itself_for_a_limit_without_an_id) {
  struct Row {
    const char* prefix;
    std::uint32_t id;
    const char* key;
    const char* name;
  };
  for (const Row& row :
       {Row{"", 0, "user:7", "user:7"}, Row{"weir:", 0, "user:7", "weir:user:7"}, Row{"", 0, "", ""},
        Row{"", 0, "limit", "limit"}, Row{"", 7, "user", "limit#7:user"},
        Row{"weir:", 4294967295, "user", "weir:limit#4294967295:user"}, Row{"", 7, "", "limit#7:"},
        Row{"p:", 0, "limit#7:user", "p:limit#0:limit#7:user"}}) {
    EXPECT_EQ(key_in_redis(row.prefix, row.id, row.key), row.name);
  }
}

// Whatever the keys are, and however much one looks like the name of another.
TEST(KeyInRedis, no_two_limits_and_keys_share_a_name) {
  const std::vector<std::string> keys = {"",           "k",         ":",          "7:k",        "limit#",
                                         "limit#7:k",  "limit#1:7", "limit#0:k",  "limit#0:",   "limit#7",
                                         "limit#17:k", "#7:k",      "limit#7:7:", "limit#k:0:", "imit#7:k"};
  std::map<std::string, std::pair<std::uint32_t, std::string>> names;
  for (const std::uint32_t id : {0U, 1U, 7U, 17U, 70U, 4294967295U}) {
    for (const std::string& key : keys) {
      const auto [other, fresh] = names.try_emplace(key_in_redis("p", id, key), id, key);
      EXPECT_TRUE(fresh) << id << " '" << key << "' and " << other->second.first << " '"
                         << other->second.second << "'";
    }
  }
}

TEST(KeyInRedis, a_hash_tag_chooses_the_slot_with_an_id_as_without) {
  EXPECT_EQ(slot_of(key_in_redis("p:", 7, "{tenant}:user")), slot_of("tenant"));
  EXPECT_EQ(slot_of(key_in_redis("p:", 0, "{tenant}:user")), slot_of("tenant"));
}

}  // namespace
}  // namespace weir::redis
