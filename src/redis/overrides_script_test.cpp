// overrides.lua beside what it says of itself: a map of overrides and a list of changes. Random words, each
// answer compared. In Lua 5.1, and in 5.4 (tests/CMakeLists.txt).
#include "redis/overrides_script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "redis/lua_redis_test.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::redis {
namespace {

constexpr std::int64_t kMost = 6;
constexpr std::int64_t kMostSought = 3;
constexpr std::int64_t kKept = 1000;  // changes

struct Told {
  std::string text;
  bool sought;
};

class OverridesModel {
 public:
  std::vector<std::string> number() { return {std::to_string(++number_)}; }
  std::vector<std::string> set(const std::string& digest, const std::string& text, bool sought) {
    const auto found = all_.find(digest);
    const std::int64_t all = static_cast<std::int64_t>(all_.size());
    if (found == all_.end() && all >= kMost) return {"-1", std::to_string(all)};
    if (found == all_.end() && sought && sought_ >= kMostSought) return {"-2", std::to_string(sought_)};
    if (found == all_.end() && sought) ++sought_;
    all_.insert_or_assign(digest, Told{text, sought});
    return {"1", std::to_string(change(digest))};
  }
  std::vector<std::string> end(const std::string& digest, const std::string& number) {
    const auto found = all_.find(digest);
    if (found == all_.end() || !found->second.text.starts_with(number + " "))
      return {"0", std::to_string(changes_.size())};
    sought_ -= found->second.sought ? 1 : 0;
    all_.erase(found);
    return {"1", std::to_string(change(digest))};
  }
  std::vector<std::string> since(std::int64_t version) const {
    const auto last = static_cast<std::int64_t>(changes_.size());
    if (version > last || version < last - kKept || version < 0) return {"-1", std::to_string(last)};
    const std::int64_t to = std::min(last, version + 200);
    std::vector<std::string> told = {std::to_string(to)};
    for (std::int64_t i = version; i < to; ++i) {
      const std::string& digest = changes_[static_cast<std::size_t>(i)];
      told.push_back(digest);
      told.push_back(text_of(digest));
    }
    return told;
  }
  std::vector<std::string> page() const {
    std::vector<std::string> told = {std::to_string(changes_.size()), "0"};
    for (const auto& [digest, each] : all_) {
      told.push_back(digest);
      told.push_back(each.text);
    }
    return told;
  }
  std::string text_of(const std::string& digest) const {
    const auto found = all_.find(digest);
    return found == all_.end() ? "" : found->second.text;
  }
  // An override keeps what it was at first: whether it has to be sought is part of its words.
  bool is_sought(const std::string& digest, bool otherwise) const {
    const auto found = all_.find(digest);
    return found == all_.end() ? otherwise : found->second.sought;
  }

 private:
  std::int64_t change(const std::string& digest) {
    changes_.push_back(digest);
    return static_cast<std::int64_t>(changes_.size());
  }
  std::map<std::string, Told> all_;
  std::vector<std::string> changes_;
  std::int64_t number_ = 0;
  std::int64_t sought_ = 0;
};

class OverridesScript : public testing::Test {
 protected:
  OverridesScript() { redis_.answer({"SCRIPT", "LOAD", std::string(overrides_script())}, now_); }

  // Without its time.
  std::vector<std::string> ask(const Strings& words) {
    Strings all = {"EVALSHA", sha_of(overrides_script()), "1", "weir:{weir}:overrides"};
    all.insert(all.end(), words.begin(), words.end());
    const LuaReply reply = redis_.answer(all, now_);
    EXPECT_EQ(reply.kind, LuaReply::Kind::list) << words[0] << ": " << reply.text;
    std::vector<std::string> told;
    for (std::size_t i = 0; i < reply.list.size(); ++i) {
      const LuaReply& each = reply.list[i];
      // What is a number in Lua has to be one for the client.
      if (i == 0) {
        EXPECT_EQ(each.kind, LuaReply::Kind::number) << words[0];
      }
      if (i == 1 || i == 2) continue;
      told.push_back(each.kind == LuaReply::Kind::number ? std::to_string(each.number) : each.text);
    }
    return told;
  }

  const std::chrono::nanoseconds now_ = std::chrono::seconds{1'800'000'000};
  LuaRedis redis_;
};

TEST_F(OverridesScript, answers_what_it_says_of_itself) {
  core::Chance random;
  OverridesModel model;
  const std::string by = "1800000000000000";
  for (int step = 0; step < 4000; ++step) {
    const std::string digest = "d" + std::to_string(random() % 9);
    const std::string number = std::to_string(1 + random() % 3);
    const bool sought = model.is_sought(digest, random() % 2 == 0);
    const std::string text = number + " bytes" + std::to_string(step);
    const std::string context = "step " + std::to_string(step);
    switch (random() % 5) {
      case 0:
        ASSERT_EQ(ask({"number"}), model.number()) << context;
        break;
      case 1:
        ASSERT_EQ(ask({"set", digest, number, text.substr(number.size() + 1), sought ? "1" : "0",
                       std::to_string(kMost), std::to_string(kMostSought), by}),
                  model.set(digest, text, sought))
            << context;
        break;
      case 2:
        ASSERT_EQ(ask({"end", digest, number, sought ? "1" : "0"}), model.end(digest, number)) << context;
        break;
      case 3: {
        const std::string version = std::to_string(static_cast<std::int64_t>(random() % 1500) - 1);
        ASSERT_EQ(ask({"since", version}), model.since(std::stoll(version))) << context;
        break;
      }
      default:
        ASSERT_EQ(ask({"page", "0"}), model.page()) << context;
    }
  }
}

TEST_F(OverridesScript, gives_no_number_twice_where_it_is_an_older_copy) {
  EXPECT_EQ(ask({"number", "1000000000000", "0"}).front(), "1000000000001");
  EXPECT_EQ(ask({"number", "2000000000000", "1000000000001"}).front(), "1000000000002");
  EXPECT_EQ(ask({"number", "2000000000000", "1000000000007"}).front(), "1000001000008");
  EXPECT_EQ(ask({"number", "2000000000000", "1000001000008"}).front(), "1000001000009");
}

TEST_F(OverridesScript, sets_nothing_too_late) {
  const Strings late = {"set", "d", "1", "bytes", "0", "9", "9", "1799999999999999"};
  EXPECT_EQ(ask(late), (std::vector<std::string>{"0", "0"}));
  EXPECT_EQ(ask({"page", "0"}), (std::vector<std::string>{"0", "0"}));
}

TEST_F(OverridesScript, takes_a_set_back_whose_outcome_nobody_knows) {
  ask({"set", "d", "1", "first", "0", "9", "9", "1800000000000000"});
  ask({"set", "d", "2", "second", "0", "9", "9", "1800000000000000"});
  EXPECT_EQ(ask({"undo", "d", "1", "", "0"}), (std::vector<std::string>{"0"}));
  EXPECT_EQ(ask({"undo", "d", "2", "1 first", "0"}), (std::vector<std::string>{"1"}));
  EXPECT_EQ(ask({"page", "0"}), (std::vector<std::string>{"3", "0", "d", "1 first"}));
  EXPECT_EQ(ask({"undo", "d", "1", "", "0"}), (std::vector<std::string>{"1"}));
  EXPECT_EQ(ask({"page", "0"}), (std::vector<std::string>{"4", "0"}));
  EXPECT_EQ(ask({"since", "3"}), (std::vector<std::string>{"4", "d", ""}));
}

}  // namespace
}  // namespace weir::redis
