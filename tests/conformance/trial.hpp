// One property on trial: asks a store, watches what holds for every answer, and writes down each violation.
//
// A list and not EXPECT_: a test of the suite itself wants to see that a wrong store is found out.
//
// What is lent to submit() is spoiled when that returns: keys are overwritten and limits become others, so a
// store that reads them later is found out too. Only those of an acquire that waits stay as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/world.hpp"
#include "core/chance_test.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store::conformance {

struct Part {
  Limit limit;
  std::string key;
  std::uint64_t cost = 1;
  bool shadow = false;
  std::uint8_t inside = Check::kNoGuarantee;
  std::string_view colocate{};  // of a literal
};

class Trial;

// A request that owns what it asks for. One that ends without an answer cancels itself.
class TestRequest : public Request {
 public:
  explicit TestRequest(std::vector<Part> wanted, Verb asked = Verb::check) : parts(std::move(wanted)) {
    verb = asked;
    if (verb >= Verb::reserve) reservation = &booking;
    if (verb == Verb::charge) charge = &charging;
    if (verb == Verb::take) take = &taking;
  }
  TestRequest(const Limit& limit, std::string key, std::uint64_t cost = 1)
      : TestRequest({{limit, std::move(key), cost}}) {}
  TestRequest(const TestRequest&) = delete;
  TestRequest& operator=(const TestRequest&) = delete;
  ~TestRequest();

  std::vector<Part> parts;
  std::vector<Check> room;       // what `checks` is of
  ReservationTerms booking;      // what `reservation` points to
  ChargeTerms charging;          // what `charge` points to
  TakeTerms taking;              // what `take` points to; a part has the cost of one unit
  std::function<void()> then{};  // called by on_answer; may destroy this
  bool pending = false;          // on_answer is owed
  int answers = 0;
  Trial* trial = nullptr;
};

class Trial {
 public:
  explicit Trial(World& its_world) : world(its_world) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  World& world;
  std::vector<std::string> violations;
  std::string skipped;   // not empty: why this store has nothing to show here
  bool is_slow = false;  // a store that is shown fewer of the random traces, unless WEIR_LONG=1

  int runs(int all) const {
    return is_slow ? static_cast<int>(core::Chance::runs(static_cast<unsigned>(all))) : all;
  }
  // That random traces had something to see. In fewer of them chance may leave next to nothing.
  void expect_seen(std::uint64_t count, std::uint64_t least) {
    expect(count > (is_slow ? 0 : least), "there was something to see");
  }

  void expect(bool holds, std::string_view what);
  template <class A, class B>
  void equal(const A& is, const B& should, std::string_view what) {
    if (is == should) return;
    std::ostringstream text;
    text << what << ": is " << is << ", should be " << should;
    expect(false, text.str());
  }

  // A limit whose windows go by the world's clock.
  Limit limit(const core::Rule& rule, std::uint64_t id = 0) const;
  Limit limit(std::string_view rule, std::uint64_t id = 0) const;

  // As the store's; submit() does not wait.
  void submit(std::span<TestRequest* const> batch, nanoseconds arrived);
  void submit(std::span<TestRequest* const> batch) { submit(batch, world.now()); }
  void submit(std::initializer_list<TestRequest*> batch) { submit(std::span(batch.begin(), batch.size())); }
  void cancel(TestRequest& question);
  void give_back(TestRequest& charged);
  // Afterwards nothing is owed an answer.
  void settle();

  // Asks and waits.
  void ask(TestRequest& question);
  Decision ask(const Limit& limit, std::string_view key, std::uint64_t cost = 1);
  std::int64_t left(const Limit& limit, std::string_view key) { return ask(limit, key, 0).remaining; }
  std::uint64_t reset(std::vector<Part> parts);

 private:
  // Keys and limits that a store sees, at addresses that stay valid for the whole trial.
  struct Lent {
    std::vector<std::string> keys;
    std::vector<Limit> limits;
    void spoil();
  };
  static void answered(Request& request);
  void examine(const TestRequest& question);
  void examine_checks(const TestRequest& question);
  void examine_reservation(const TestRequest& question);
  static std::unique_ptr<Lent> lend(TestRequest& question);

  bool inside_ = false;  // submit()
  std::vector<std::unique_ptr<Lent>> lent_;
  std::set<const TestRequest*> owed_;
};

// "allowed, 4 left, reset after 1000000000": all of a decision, for messages and comparisons.
std::string shown(const Decision& decision);

}  // namespace weir::store::conformance
