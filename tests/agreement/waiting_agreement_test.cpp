// Reservations agree with the timetable: on every trace of up to six operations on a small grid, then on long
// random ones. WEIR_LONG=1 takes more limits and more operations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "agreement/reserving.hpp"
#include "agreement/subject.hpp"
#include "agreement/timetable.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::waiting_agreement_test {
namespace {

using oracle::Timetable;
using std::chrono::nanoseconds;

bool long_run() { return std::getenv("WEIR_LONG") != nullptr; }

struct Operation {
  enum class What { tick, check, reserve, cancel, settle, reset } what;
  std::int64_t number = 0;  // of ticks; the cost; which id
  std::int64_t max_wait = 0;
  std::int64_t hold = 0;
  std::int64_t actual = 0;
};

std::string told(const Operation& each) {
  const std::string number = std::to_string(each.number);
  switch (each.what) {
    case Operation::What::tick:
      return "tick " + number;
    case Operation::What::check:
      return "check " + number;
    case Operation::What::reserve:
      return "reserve " + number + " max_wait " + std::to_string(each.max_wait) + " hold " +
             std::to_string(each.hold);
    case Operation::What::cancel:
      return "cancel " + number;
    case Operation::What::settle:
      return "settle " + number + " actual " + std::to_string(each.actual);
    case Operation::What::reset:
      return "reset";
  }
  return {};
}

// What came of one operation, with a look afterwards.
struct Outcome {
  Timetable::Told told{};
  std::int64_t number = 0;  // what cancel, settle and reset answer
  Timetable::Look look{};

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& each) {
  return out << "kind " << static_cast<int>(each.told.kind) << ", wait " << each.told.wait << ", id "
             << each.told.id << ", number " << each.number << "; then kind "
             << static_cast<int>(each.look.kind) << ", retry_after " << each.look.retry_after
             << ", remaining " << each.look.remaining << ", reset_after " << each.look.reset_after;
}

// The timetable, and its clock. A copy is another future.
class Expected {
 public:
  explicit Expected(Timetable::Limit limit) : timetable_(limit) {}

  Outcome run(const Operation& operation) {
    Outcome outcome;
    switch (operation.what) {
      case Operation::What::tick:
        now_ += operation.number;
        break;
      case Operation::What::check:
        outcome.told = timetable_.check(now_, operation.number);
        break;
      case Operation::What::reserve:
        outcome.told = timetable_.reserve(now_, operation.number, operation.max_wait, operation.hold);
        ids_ += outcome.told.id != 0 ? 1 : 0;
        break;
      case Operation::What::cancel:
        outcome.number = timetable_.cancel(now_, static_cast<int>(operation.number));
        break;
      case Operation::What::settle:
        outcome.number = timetable_.settle(now_, static_cast<int>(operation.number), operation.actual);
        break;
      case Operation::What::reset:
        outcome.number = timetable_.reset(now_) ? 1 : 0;
        break;
    }
    outcome.look = timetable_.look(now_);
    return outcome;
  }
  // How many ids have been given out: they are numbered from 1.
  std::int64_t ids() const { return ids_; }
  std::vector<Admitted> acts() const { return timetable_.acts(); }

 private:
  Timetable timetable_;
  std::int64_t now_ = 0;
  std::int64_t ids_ = 0;
};

// The same in a store, a key for each trace.
class Real {
 public:
  explicit Real(Timetable::Limit limit)
      : limit_{.rule = {Quota::make({1, nanoseconds{limit.interval}}, limit.burst).value()}} {}

  void begin() {
    now_ += 1'000;
    key_ = std::to_string(++traces_);
    ids_.assign(1, "");
  }
  Outcome run(const Operation& operation) {
    Outcome outcome;
    const auto number = static_cast<std::uint64_t>(operation.number);
    const std::vector<Ask> ask{{&limit_, key_, number}};
    switch (operation.what) {
      case Operation::What::tick:
        now_ += operation.number;
        break;
      case Operation::What::check: {
        const Decision decision = store_.check(ask, now_).decisions[0];
        outcome.told = {kind_of(decision), wait_of(decision), 0};
        break;
      }
      case Operation::What::reserve: {
        const Reserving::Told told = store_.reserve(ask, now_, operation.max_wait, operation.hold);
        outcome.told = {kind_of(told.decisions[0]), told.wait, 0};
        if (told.id.empty()) break;
        outcome.told.id = static_cast<int>(ids_.size());
        ids_.push_back(told.id);
        break;
      }
      case Operation::What::cancel:
        outcome.number = static_cast<std::int64_t>(store_.cancel(ids_[number], now_));
        break;
      case Operation::What::settle:
        outcome.number = store_.settle(ids_[number], static_cast<std::uint64_t>(operation.actual), now_);
        break;
      case Operation::What::reset:
        outcome.number = static_cast<std::int64_t>(store_.reset(ask[0], now_));
        break;
    }
    const Decision look = store_.look({{&limit_, key_, 1}}, now_).decisions[0];
    outcome.look = {kind_of(look), wait_of(look), look.remaining, look.reset_after.count()};
    return outcome;
  }

 private:
  static Timetable::Kind kind_of(const Decision& decision) {
    return static_cast<Timetable::Kind>(decision.verdict);
  }
  static std::int64_t wait_of(const Decision& decision) {
    if (decision.verdict == Verdict::never) return -1;
    return decision.retry_after.value_or(nanoseconds{0}).count();
  }

  store::Limit limit_;
  Reserving store_;
  std::int64_t now_ = 0;
  std::string key_;
  int traces_ = 0;
  std::vector<std::string> ids_;
};

// Walks all traces; the store runs each to its end, from the beginning.
class Walk {
 public:
  Walk(Timetable::Limit limit, std::vector<Operation> operations)
      : limit_(limit), real_(limit), operations_(std::move(operations)) {}

  void all(std::size_t depth) { from(depth, Expected(limit_)); }
  std::uint64_t traces = 0;

 private:
  void from(std::size_t depth, const Expected& so_far) {
    if (testing::Test::HasFailure()) return;
    if (depth == 0) return compare();
    for (const Operation& each : operations_) step(depth, so_far, each);
    for (std::int64_t id = 1; id <= so_far.ids(); ++id) {
      step(depth, so_far, {.what = Operation::What::cancel, .number = id});
      step(depth, so_far, {.what = Operation::What::settle, .number = id, .actual = 0});
      step(depth, so_far, {.what = Operation::What::settle, .number = id, .actual = 3});
    }
  }
  void step(std::size_t depth, Expected expected, const Operation& operation) {
    trace_.push_back({operation, expected.run(operation)});
    from(depth - 1, expected);
    trace_.pop_back();
  }
  void compare() {
    ++traces;
    real_.begin();
    std::string said;
    for (const auto& [operation, expected] : trace_) {
      said += told(operation) + "\n";
      ASSERT_EQ(real_.run(operation), expected)
          << "burst " << limit_.burst << ", T " << limit_.interval << "\n"
          << said;
    }
  }

  Timetable::Limit limit_;
  Real real_;
  std::vector<Operation> operations_;
  std::vector<std::pair<Operation, Outcome>> trace_;
};

TEST(WaitingAgreement, every_trace_of_up_to_six_operations) {
  using What = Operation::What;
  std::vector<Operation> operations = {{.what = What::tick, .number = 1},
                                       {.what = What::check, .number = 1},
                                       {.what = What::reserve, .number = 1, .max_wait = 4, .hold = 3},
                                       {.what = What::reserve, .number = 2, .max_wait = 4}};
  if (long_run()) {
    operations.push_back({.what = What::check, .number = 2});
    operations.push_back({.what = What::reset});
    for (std::int64_t max_wait = 0; max_wait < 4; ++max_wait)
      operations.push_back({.what = What::reserve, .number = 1, .max_wait = max_wait});
  }
  std::uint64_t traces = 0;
  for (const std::int64_t burst : {1, 2, 3}) {
    for (const std::int64_t interval : {1, 2, 3}) {
      Walk walk({burst, interval}, operations);
      walk.all(long_run() || (burst == 2 && interval == 2) ? 6 : 5);
      traces += walk.traces;
    }
  }
  std::printf("%llu traces\n", static_cast<unsigned long long>(traces));
}

TEST(WaitingAgreement, long_random_traces) {
  core::Chance chance;
  const int traces = long_run() ? 200'000 : 4'000;
  for (int trace = 0; trace < traces; ++trace) {
    const Timetable::Limit limit{1 + chance.up_to(5), 1 + chance.up_to(4)};
    Expected expected(limit);
    Real real(limit);
    real.begin();
    std::string said;
    const std::int64_t ticks = chance.up_to(3), most_wait = chance.up_to(30);
    for (int step = 0; step < 50; ++step) {
      Operation operation{.what = Operation::What::tick, .number = 1 + chance.up_to(ticks)};
      const std::int64_t what = chance.up_to(20), which = chance.up_to(expected.ids() - 1);
      if (what < 9) {
        operation = {.what = Operation::What::reserve,
                     .number = 1 + chance.up_to(limit.burst),
                     .max_wait = chance.up_to(most_wait),
                     .hold = chance.up_to(2) == 0 ? chance.up_to(20) : 0};
      } else if (what < 11) {
        operation = {.what = Operation::What::check, .number = 1 + chance.up_to(limit.burst)};
      } else if (what == 11 && chance.up_to(10) == 0) {
        operation = {.what = Operation::What::reset};
      } else if (what < 15 && expected.ids() != 0) {
        operation = {.what = Operation::What::cancel, .number = 1 + which};
      } else if (what < 17 && expected.ids() != 0) {
        operation = {
            .what = Operation::What::settle, .number = 1 + which, .actual = chance.up_to(limit.burst + 1)};
      }
      said += told(operation) + "\n";
      ASSERT_EQ(real.run(operation), expected.run(operation))
          << "trace " << trace << ": burst " << limit.burst << ", T " << limit.interval << "\n"
          << said;
    }
    ASSERT_TRUE(kept(expected.acts(), limit.burst * limit.interval, 1)) << said;
  }
}

}  // namespace
}  // namespace weir::waiting_agreement_test
