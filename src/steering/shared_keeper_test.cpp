#include "steering/shared_keeper.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weir::inline v0_1::steering {
namespace {

using limits::Steer;
using namespace std::chrono_literals;

// The script on the other side, as overrides.lua says it; and an answer that is lost, on its way there or
// back.
class FakeStore {
 public:
  enum class Loses { nothing, asked, answer };

  SharedKeeper::Ask ask() {
    return [this](const std::vector<std::string>& words) -> tl::expected<SharedKeeper::Answer, std::string> {
      if (loses == Loses::asked) return tl::unexpected(why);
      SharedKeeper::Answer answer = run(words);
      if (loses == Loses::answer) return tl::unexpected(why);
      return answer;
    };
  }

  Loses loses = Loses::nothing;
  std::string why = "the store does not answer";
  std::chrono::microseconds time = 1'800'000'000s;
  std::map<std::string, std::string> overrides;
  std::vector<std::string> log;
  std::size_t forgotten = 0;  // of the log
  std::uint64_t numbers = 0;
  bool begins_by_chance = false;  // as the script does
  std::function<void()> before_page;

 private:
  static std::string number_of(const std::string& text) { return text.substr(0, text.find(' ')); }

  SharedKeeper::Answer told(std::int64_t number, const std::vector<std::string>& rest = {}) const {
    SharedKeeper::Answer answer = {std::to_string(number), std::to_string(time / 1s),
                                   std::to_string((time % 1s).count())};
    answer.insert(answer.end(), rest.begin(), rest.end());
    return answer;
  }

  SharedKeeper::Answer run(const std::vector<std::string>& words) {
    const std::string& verb = words[0];
    if (verb == "number") {
      if (numbers == 0 && begins_by_chance) numbers = std::stoull(words[1]);
      if (numbers < std::stoull(words[2])) numbers = std::stoull(words[2]) + 1'000'000;
      return told(static_cast<std::int64_t>(++numbers));
    }
    if (verb == "set") {
      if (time.count() > std::stoll(words[7])) return told(0, {"0"});
      if (!overrides.contains(words[1]) && overrides.size() >= most) return told(-1, {std::to_string(most)});
      overrides[words[1]] = words[2] + ' ' + words[3];
      log.push_back(words[1]);
      return told(1, {std::to_string(log.size())});
    }
    if (verb == "end") {
      int ended = 0;
      for (std::size_t i = 1; i + 2 < words.size(); i += 3) {
        if (!overrides.contains(words[i]) || number_of(overrides[words[i]]) != words[i + 1]) continue;
        overrides.erase(words[i]);
        log.push_back(words[i]);
        ++ended;
      }
      return told(ended, {std::to_string(log.size())});
    }
    if (verb == "undo") {
      if (!overrides.contains(words[1]) || number_of(overrides[words[1]]) != words[2]) return told(0);
      if (words[3].empty()) {
        overrides.erase(words[1]);
      } else {
        overrides[words[1]] = words[3];
      }
      log.push_back(words[1]);
      return told(1);
    }
    if (verb == "since") {
      const std::int64_t from = std::stoll(words[1]);
      const auto last = static_cast<std::int64_t>(log.size());
      if (from < 0 || from > last || from < static_cast<std::int64_t>(forgotten))
        return told(-1, {std::to_string(last)});
      std::vector<std::string> rest;
      const std::int64_t to = std::min(last, from + 200);
      for (std::int64_t i = from; i < to; ++i) {
        const std::string& digest = log[static_cast<std::size_t>(i)];
        rest.insert(rest.end(), {digest, overrides.contains(digest) ? overrides[digest] : ""});
      }
      return told(to, rest);
    }
    // One a page, by its place.
    if (before_page) before_page();
    const auto place = std::stoul(words[1]);
    std::vector<std::string> rest = {place + 1 < overrides.size() ? std::to_string(place + 1) : "0"};
    if (place < overrides.size()) {
      const auto each = std::next(overrides.begin(), static_cast<std::ptrdiff_t>(place));
      rest.insert(rest.end(), {each->first, each->second});
    }
    return told(static_cast<std::int64_t>(log.size()), rest);
  }

 public:
  std::size_t most = 1000;
};

// A server: what it has seen.
struct SeenServer {
  explicit SeenServer(FakeStore& store)
      : keeper(store.ask(), [] { return 1'800'000'000s; }, [this] { return core::HashKey{++chance, 0}; }) {}

  std::string set(const std::string& user) {
    const auto number = keeper.take_number(book);
    if (!number) return number.error();
    const OperatorOverride made{.number = *number,
                                .what = Steer::ban,
                                .limit = "l",
                                .limit_id = "l",
                                .when = {{"user", user}},
                                .rates = {},
                                .until = limits::Time(2'000'000'000s),
                                .reason = "r",
                                .user = "u",
                                .set_at = limits::Time{}};
    if (auto why = keeper.keep(book, &made, {})) return *why;
    book.set(made);
    return "";
  }
  std::string end(std::uint64_t number) {
    const auto found = book.find(number);
    if (auto why = keeper.keep(book, nullptr, {found})) return *why;
    book.end(number);
    return "";
  }
  bool look() {
    const auto changes = keeper.changes();
    if (!changes) return false;
    if (changes->whole) book = OverrideBook();
    for (const std::uint64_t each : changes->ended) book.end(each);
    for (const OperatorOverride& each : changes->set) book.set(each);
    return true;
  }
  std::string seen() const {
    std::string text;
    for (const auto& [number, each] : book.all()) text += std::to_string(number) + each->when[0].second + " ";
    return text;
  }

  std::uint64_t chance = 0;
  OverrideBook book;
  SharedKeeper keeper;
};

TEST(SharedKeeper, shows_each_server_what_the_others_set_and_end) {
  FakeStore store;
  SeenServer one(store);
  SeenServer two(store);
  EXPECT_EQ(one.set("a"), "");
  EXPECT_EQ(two.set("b"), "");
  EXPECT_EQ(two.set("a"), "");  // the later of two who set the same
  EXPECT_TRUE(one.look() && two.look());
  EXPECT_EQ(one.seen(), "2b 3a ");
  EXPECT_EQ(two.seen(), "2b 3a ");
  EXPECT_EQ(one.end(3), "");
  EXPECT_EQ(one.set("c"), "");
  EXPECT_TRUE(one.look() && two.look());
  EXPECT_EQ(one.seen(), "2b 4c ");
  EXPECT_EQ(two.seen(), "2b 4c ");
  for (int i = 0; i < 500; ++i) EXPECT_EQ(one.set(std::to_string(i)), "");
  EXPECT_TRUE(two.look());
  EXPECT_EQ(two.book.size(), 502U);
  SeenServer three(store);
  EXPECT_TRUE(three.look());
  EXPECT_EQ(three.seen(), two.seen());
}

TEST(SharedKeeper, begins_again_where_the_changes_are_not_known_any_longer) {
  FakeStore store;
  SeenServer one(store);
  SeenServer two(store);
  EXPECT_EQ(one.set("a"), "");
  EXPECT_TRUE(two.look());
  EXPECT_EQ(one.set("b"), "");
  EXPECT_EQ(one.end(1), "");
  store.forgotten = store.log.size() - 1;
  EXPECT_TRUE(two.look());
  EXPECT_EQ(two.seen(), "2b ");
  // Somebody has emptied it.
  store.overrides.clear();
  store.log.clear();
  store.forgotten = 0;
  EXPECT_TRUE(two.look());
  EXPECT_EQ(two.seen(), "");
}

TEST(SharedKeeper, what_is_not_stored_is_nowhere_whichever_way_it_was_lost) {
  for (const auto loses : {FakeStore::Loses::asked, FakeStore::Loses::answer}) {
    FakeStore store;
    SeenServer one(store);
    SeenServer two(store);
    EXPECT_EQ(one.set("a"), "");
    EXPECT_TRUE(one.look() && two.look());
    const auto number = one.keeper.take_number(one.book);
    OperatorOverride made = *one.book.find(1);
    made.number = *number;
    store.loses = loses;
    EXPECT_EQ(one.keeper.keep(one.book, &made, {}), "the store does not answer");
    made.when = {{"user", "b"}};
    ++made.number;
    EXPECT_EQ(one.keeper.keep(one.book, &made, {}), "the store does not answer");
    EXPECT_FALSE(one.look());
    EXPECT_EQ(one.set("c"), "the store does not answer");
    store.loses = FakeStore::Loses::nothing;
    EXPECT_TRUE(one.look() && two.look());
    EXPECT_EQ(one.seen(), "1a ");
    EXPECT_EQ(two.seen(), "1a ");
    EXPECT_EQ(store.overrides.size(), 1U);
  }
}

TEST(SharedKeeper, has_other_numbers_after_the_store_was_emptied) {
  FakeStore store;
  store.begins_by_chance = true;
  SeenServer one(store);
  EXPECT_EQ(one.set("a"), "");
  EXPECT_EQ(one.seen(), "1000000010001a ");
  store.overrides.clear();
  store.log.clear();
  store.numbers = 0;
  EXPECT_EQ(one.set("b"), "");
  EXPECT_TRUE(one.look());
  EXPECT_EQ(one.seen(), "1000000020001b ");
  for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{899'999'999}, ~std::uint64_t{0}}) {
    EXPECT_GE(OverrideBook::before_the_first(random), 1'000'000'000'000U);
    EXPECT_LT(OverrideBook::before_the_first(random), 10'000'000'000'000U);
  }
}

TEST(SharedKeeper, knows_a_store_that_came_back_with_an_older_copy) {
  FakeStore store;
  SeenServer one(store);
  EXPECT_EQ(one.set("a"), "");
  const FakeStore copy = store;
  EXPECT_EQ(one.set("b"), "");
  EXPECT_EQ(one.set("c"), "");
  EXPECT_TRUE(one.look());
  store.overrides = copy.overrides;
  store.log = copy.log;
  store.numbers = copy.numbers;
  const auto found = one.keeper.changes();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->whole && found->older);
  EXPECT_EQ(found->set.size(), 1U);
  EXPECT_EQ(one.set("d"), "");
  EXPECT_EQ(one.book.all().rbegin()->first, 1'000'004U) << "none that another may have had";
  const auto after = one.keeper.changes();
  EXPECT_TRUE(after && !after->whole && !after->older);
}

// Before the server has looked again.
TEST(SharedKeeper, knows_an_older_copy_by_what_it_has_changed_itself) {
  for (const bool ends : {false, true}) {
    FakeStore store;
    SeenServer one(store);
    EXPECT_EQ(one.set("a"), "");
    EXPECT_TRUE(one.look());
    const FakeStore copy = store;
    EXPECT_EQ(ends ? one.end(one.book.all().begin()->first) : one.set("b"), "");
    store.overrides = copy.overrides;
    store.log = copy.log;
    const auto found = one.keeper.changes();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->whole && found->older) << ends;
    EXPECT_EQ(found->set.size(), 1U) << ends;
    const auto after = one.keeper.changes();
    EXPECT_TRUE(after && !after->whole && !after->older) << ends;
  }
}

// What another sets while all is read is found by that, though the version is the one of before.
TEST(SharedKeeper, knows_an_older_copy_by_all_that_it_has_found) {
  FakeStore store;
  SeenServer one(store);
  SeenServer two(store);
  store.before_page = [&] {
    if (!store.log.empty()) return;
    EXPECT_EQ(one.set("a"), "");
  };
  EXPECT_TRUE(two.look());
  EXPECT_EQ(two.seen(), "1a ");
  store.before_page = {};
  store.overrides.clear();
  store.log.clear();
  const auto found = two.keeper.changes();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->whole && found->older);
  EXPECT_TRUE(found->set.empty());
}

TEST(SharedKeeper, says_why_the_store_refuses) {
  FakeStore store;
  SeenServer one(store);
  EXPECT_EQ(one.set("a"), "");
  store.loses = FakeStore::Loses::asked;
  store.why = "the store's memory is full";
  EXPECT_EQ(one.set("b"), store.why);
  EXPECT_EQ(one.end(1), store.why);
  OperatorOverride made = *one.book.find(1);
  made.number = 7;
  EXPECT_EQ(one.keeper.keep(one.book, &made, {}), store.why);
}

TEST(SharedKeeper, what_arrives_too_late_is_not_set) {
  FakeStore store;
  SeenServer one(store);
  EXPECT_EQ(one.set("a"), "");
  const auto number = one.keeper.take_number(one.book);
  store.time += 1001ms;
  OperatorOverride made = *one.book.find(1);
  made.number = *number;
  EXPECT_EQ(one.keeper.keep(one.book, &made, {}), "the store does not answer");
  EXPECT_TRUE(one.look());
  EXPECT_EQ(one.seen(), "1a ");
}

TEST(SharedKeeper, knows_how_far_the_stores_clock_is_ahead) {
  FakeStore store;
  SeenServer one(store);
  EXPECT_TRUE(one.look());
  EXPECT_EQ(one.keeper.ahead(), 0ns);
  store.time += 20ms;
  EXPECT_TRUE(one.look());
  EXPECT_EQ(one.keeper.ahead(), 0ns);
  store.time -= 3600s;
  EXPECT_TRUE(one.look());
  EXPECT_EQ(one.keeper.ahead(), 20ms - 3600s);
}

TEST(SharedKeeper, forgets_there_what_has_ended_once_it_answers) {
  FakeStore store;
  SeenServer one(store);
  SeenServer two(store);
  for (int i = 0; i < 250; ++i) EXPECT_EQ(one.set(std::to_string(i)), "");
  EXPECT_EQ(one.set("0"), "");  // it has another number by then
  EXPECT_TRUE(two.look());
  std::vector<OverrideBook::Ptr> ended;
  for (const auto& [number, each] : two.book.all()) ended.push_back(each);
  ended.pop_back();
  two.keeper.forget(ended);
  store.loses = FakeStore::Loses::asked;
  EXPECT_FALSE(two.look());
  store.loses = FakeStore::Loses::nothing;
  EXPECT_TRUE(two.look());
  EXPECT_EQ(store.overrides.size(), 1U);
  EXPECT_TRUE(one.look());
  EXPECT_EQ(one.seen(),
            "251"
            "0 ");
}

TEST(SharedKeeper, says_that_it_is_full) {
  FakeStore store;
  store.most = 1;
  SeenServer one(store);
  EXPECT_EQ(one.set("a"), "");
  EXPECT_EQ(one.set("b"), "1 overrides are in force: lift some first");
  EXPECT_EQ(one.set("a"), "");
}

// What a later version has written is left to it.
TEST(SharedKeeper, leaves_what_it_cannot_read) {
  FakeStore store;
  SeenServer one(store);
  store.overrides["x"] = "1 from a later version";
  store.log.emplace_back("x");
  EXPECT_TRUE(one.look());
  EXPECT_EQ(one.seen(), "");
  EXPECT_EQ(one.set("a"), "");
  EXPECT_EQ(store.overrides.size(), 2U);
}

}  // namespace
}  // namespace weir::steering
