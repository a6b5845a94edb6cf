// A store's reservations over several keys beside a list of grants that looks at every second: same answers,
// and the promise at the moments of acting. Nothing here knows how the ledgers are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::reservations_referee_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Second = std::int64_t;

struct Grant {
  Second at;
  Second need;  // cost x T
  std::uint64_t owner;
};

struct Key {
  Second interval;
  Second burst;
  std::vector<Grant> grants{};  // in the order in which they act
  Second paused_until = 0;

  Second full() const { return interval * burst; }
  // By the first `count` of them.
  Second owed(std::size_t count) const {
    Second tat = 0;
    for (std::size_t i = 0; i < count; ++i) tat = std::max(tat, grants[i].at) + grants[i].need;
    return tat;
  }
  std::size_t up_to(Second at) const {
    return static_cast<std::size_t>(
        std::count_if(grants.begin(), grants.end(), [at](const Grant& each) { return each.at <= at; }));
  }
  bool fits(Second at, Second need) const {
    if (need == 0) return true;
    Second tat = std::max(owed(up_to(at)), at) + need;
    if (tat > at + full()) return false;
    for (std::size_t i = up_to(at); i < grants.size(); ++i) {
      tat = std::max(tat, grants[i].at) + grants[i].need;
      if (tat > grants[i].at + full()) return false;
    }
    return true;
  }
  void put(Second at, Second need, std::uint64_t owner) {
    grants.insert(grants.begin() + static_cast<std::ptrdiff_t>(up_to(at)), {at, need, owner});
  }
};

struct Held {
  std::string id;
  std::vector<std::size_t> keys;
  std::uint64_t cost;
  Second at;
  Second until;
};

class Trace {
 public:
  explicit Trace(core::Chance& chance) : chance_(chance) {
    const std::array rules = {"1/s burst 4", "1/2s burst 3", "1/3s burst 5"};
    for (std::size_t i = 0; i < rules.size(); ++i)
      limits_.push_back({.rule = core::Rule::parse(rules[i]).value(), .id = i + 1});
  }

  void step() {
    now_ += chance_.up_to(2) * chance_.up_to(2);
    const auto what = chance_.up_to(9);
    if (what < 4) return reserve();
    if (what < 6) return check();
    if (held_.empty()) return;
    const auto which = static_cast<std::size_t>(chance_.up_to(static_cast<std::int64_t>(held_.size()) - 1));
    if (what == 6) return cancel(held_[which]);
    if (what == 7) return extend(held_[which]);
    settle(held_[which]);
  }

  // In any span W at most burst + W/T.
  void expect_promise() const {
    for (const Key& key : keys_) {
      for (std::size_t i = 0; i < key.grants.size(); ++i) {
        Second units = 0;
        for (std::size_t j = i; j < key.grants.size(); ++j) {
          units += key.grants[j].need;
          ASSERT_LE(units, key.full() + key.grants[j].at - key.grants[i].at);
        }
      }
    }
  }

 private:
  std::vector<std::size_t> some_keys() {
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (chance_.up_to(1) == 1) some.push_back(i);
    if (some.empty()) some.push_back(static_cast<std::size_t>(chance_.up_to(2)));
    return some;
  }
  Request ask(Verb verb, const std::vector<std::size_t>& keys, std::uint64_t cost, ReservationTerms* terms) {
    checks_.clear();
    for (const std::size_t key : keys)
      checks_.push_back({.limit = &limits_[key], .key = "k", .cost = Cost{cost}});
    Request request{.checks = checks_, .verb = verb, .reservation = terms};
    Request* const one = &request;
    store_.submit({&one, 1}, {now_ * 1s, now_ * 1s});
    return request;
  }
  bool fit(const std::vector<std::size_t>& keys, Second at, std::uint64_t cost) const {
    return std::all_of(keys.begin(), keys.end(), [&](std::size_t key) {
      return keys_[key].fits(at, keys_[key].interval * static_cast<Second>(cost));
    });
  }
  void put(const std::vector<std::size_t>& keys, Second at, std::uint64_t cost) {
    ++owners_;
    for (const std::size_t key : keys)
      keys_[key].put(at, keys_[key].interval * static_cast<Second>(cost), owners_);
  }

  void reserve() {
    const auto keys = some_keys();
    const auto cost = static_cast<std::uint64_t>(1 + chance_.up_to(2));
    const Second max_wait = chance_.up_to(1) * chance_.up_to(20);
    const Second hold = chance_.up_to(1) * chance_.up_to(15);
    Second at = now_;
    while (!fit(keys, at, cost)) ++at;
    ReservationTerms terms{.max_wait = max_wait * 1s, .hold = hold * 1s};
    const Request request = ask(Verb::reserve, keys, cost, &terms);
    ASSERT_EQ(request.fault, Fault::none) << request.why;
    const bool granted = at - now_ <= max_wait;
    ASSERT_EQ(request.charged, granted) << at - now_;
    ASSERT_EQ(terms.wait, (granted ? at - now_ : at - now_ - max_wait) * 1s);
    ASSERT_EQ(terms.id.empty(), !granted || (at == now_ && hold == 0));
    if (!granted) return;
    put(keys, at, cost);
    if (!terms.id.empty()) held_.push_back({terms.id, keys, cost, at, at + hold});
    whose_[terms.id] = owners_;
  }
  void check() {
    const auto keys = some_keys();
    const auto cost = static_cast<std::uint64_t>(chance_.up_to(3));
    const bool fits = fit(keys, now_, cost);
    ASSERT_EQ(ask(Verb::check, keys, cost, nullptr).charged, fits);
    if (fits && cost != 0) put(keys, now_, cost);
  }
  // Whether it may still be cancelled, or settled.
  bool is_ahead(const Held& held) const { return held.at > now_; }
  bool is_open(const Held& held) const { return held.until > now_; }
  void forget(const Held& held, std::optional<std::uint64_t> cost) {
    for (const std::size_t key : held.keys) {
      std::vector<Grant>& grants = keys_[key].grants;
      const auto its = std::find_if(grants.begin(), grants.end(),
                                    [&](const Grant& each) { return each.owner == whose_[held.id]; });
      if (cost) its->need = keys_[key].interval * static_cast<Second>(*cost);
      if (!cost) grants.erase(its);
    }
    std::erase_if(held_, [id = held.id](const Held& each) { return each.id == id; });
  }
  void cancel(const Held& held) {
    ReservationTerms terms{.id = held.id};
    ask(Verb::cancel, {}, 0, &terms);
    ASSERT_EQ(terms.given_back, is_ahead(held) ? held.cost : 0);
    if (is_ahead(held)) forget(Held(held), std::nullopt);
  }
  void extend(Held& held) {
    const Second hold = 1 + chance_.up_to(15);
    const bool can = is_open(held) && held.until > held.at;
    ReservationTerms terms{.hold = hold * 1s, .id = held.id};
    ask(Verb::extend, {}, 0, &terms);
    const Second until = std::max(now_, held.at) + hold;
    ASSERT_EQ(terms.wait, can ? (until - now_) * 1s : 0s);
    if (can) held.until = until;
  }
  void settle(const Held& held) {
    const bool is_held = held.until > held.at;
    if (!is_held) return;
    const auto actual = static_cast<std::uint64_t>(chance_.up_to(static_cast<std::int64_t>(held.cost)));
    ReservationTerms terms{.id = held.id, .actual = actual};
    ask(Verb::settle, {}, 0, &terms);
    ASSERT_EQ(terms.wait >= 0s, is_open(held) && !is_ahead(held));
    if (terms.wait >= 0s) forget(Held(held), actual);
  }

  core::Chance& chance_;
  EmbeddedStore store_{1_MiB, WhenFull::deny, {1, 2}};
  std::vector<Limit> limits_;
  std::array<Key, 3> keys_{Key{1, 4}, Key{2, 3}, Key{3, 5}};
  std::vector<Check> checks_;
  std::vector<Held> held_;
  std::map<std::string, std::uint64_t> whose_;
  std::uint64_t owners_ = 0;
  Second now_ = 1000;
};

TEST(ReservationsReferee, says_the_same_second_by_second) {
  core::Chance chance;
  for (int trace = 0; trace < 1500 && !testing::Test::HasFatalFailure(); ++trace) {
    SCOPED_TRACE(trace);
    Trace one(chance);
    for (int step = 0; step < 60 && !testing::Test::HasFatalFailure(); ++step) one.step();
    one.expect_promise();
  }
}

}  // namespace
}  // namespace weir::store::reservations_referee_test
