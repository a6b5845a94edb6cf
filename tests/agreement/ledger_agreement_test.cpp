// Each answer of the embedded store, and of weir::Limiter, is the ledger model's (ledger_model.hpp), in
// random traces, and in every short one. WEIR_LONG=1 takes more; WEIR_SEED=n repeats a run.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "agreement/ledger_trace.hpp"
#include "conformance/limiter_world.hpp"
#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::ledger_trace {
namespace {

int many() { return core::Chance::is_long() ? 1'000'000 : 20'000; }

TEST(LedgerAgreement, the_embedded_store_answers_as_the_model_does) {
  store::EmbeddedStore store(std::size_t{8} << 20);
  play({.submit =
            [&](Request& request, nanoseconds now) {
              Request* const batch[] = {&request};
              store.submit(batch, {now, now});
            },
        .remembers = false},
       many());
}

TEST(LedgerAgreement, a_limiter_answers_as_the_model_does) {
  store::conformance::LimiterStore store;
  play({.submit =
            [&](Request& request, nanoseconds now) {
              Request* const batch[] = {&request};
              store.submit(batch, {now, now});
            },
        .several = false,
        .slots = false,
        .classes = false,
        .penalties = false,
        .overdrafts = false},
       many());
}

// One of two keys, or both.
struct Operation {
  enum class What { tick, check, reserve, cancel, settle, pause, charge, refund } what;
  std::vector<std::size_t> keys{};
  std::int64_t number = 1;  // ticks, units, how long a pause lasts; which of the ids from the last on
  std::int64_t max_wait = 0, hold = 0, actual = 0;
  bool afresh = false;
};

// Every trace of some operations.
class Walk {
 public:
  Walk(std::int64_t burst, std::int64_t interval, std::vector<Operation> operations)
      : limits_{{.most = burst, .interval = interval}, {.most = 2, .interval = 3}},
        operations_(std::move(operations)) {
    for (std::size_t i = 0; i < 2; ++i)
      made_[i] = {.rule = {Quota::make({1, nanoseconds{limits_[i].interval}}, limits_[i].most).value()},
                  .id = 1 + i};
  }

  void all(std::size_t steps) {
    if (trace_.size() == steps) return play();
    for (const Operation& each : operations_) {
      trace_.push_back(&each);
      all(steps);
      trace_.pop_back();
      if (testing::Test::HasFailure()) return;
    }
  }
  std::uint64_t traces = 0;

 private:
  void play() {
    model_.emplace(limits_, 1);
    ids_.clear();
    key_ = std::to_string(++traces);
    now_ += 1'000;
    std::string said;
    for (const Operation* const each : trace_) {
      const auto [is, should] = run(*each);
      said += std::to_string(now_) + ": " + std::to_string(static_cast<int>(each->what)) + " " +
              std::to_string(each->number) + " -> " + is + "\n";
      ASSERT_EQ(is, should) << "burst " << limits_[0].most << ", T " << limits_[0].interval << "\n" << said;
    }
  }
  using Both = std::pair<std::string, std::string>;
  static Both both(std::int64_t is, std::int64_t should) {
    return {std::to_string(is), std::to_string(should)};
  }

  Both run(const Operation& of) {
    using enum Operation::What;
    if (of.what == tick) now_ += of.number;
    if (of.what == tick) return {};
    LedgerModel::Asks asks;
    for (const std::size_t key : of.keys) asks.push_back({.key = key, .cost = of.number});
    if (of.what == check) {
      ask(Verb::check, of);
      const Decision& told = request_.decision();
      return both(told.allowed() ? 0 : told.retry_after.value_or(nanoseconds{-1}).count(),
                  model_->check(asks, now_).wait);
    }
    if (of.what == reserve) {
      reservation_ = {.max_wait = nanoseconds{of.max_wait}, .hold = nanoseconds{of.hold}};
      ask(Verb::reserve, of);
      const LedgerModel::Told model = model_->reserve(asks, now_, of.max_wait, of.hold);
      if (model.id != LedgerModel::kNone) ids_.push_back(reservation_.id);
      return both(reservation_.wait.count() * 2 + (request_.charged ? 1 : 0),
                  model.wait * 2 + (model.kind == LedgerModel::Kind::allowed ? 1 : 0));
    }
    if (of.what == cancel || of.what == settle) return end(of);
    return charge_outside(of);
  }
  Both end(const Operation& of) {
    if (ids_.size() < static_cast<std::size_t>(of.number)) return {};
    const std::size_t id = ids_.size() - static_cast<std::size_t>(of.number);
    reservation_ = {.id = ids_[id]};
    if (of.what == Operation::What::cancel) {
      ask(Verb::cancel, of);
      return both(static_cast<std::int64_t>(reservation_.given_back), model_->cancel(id, now_));
    }
    reservation_.actual = static_cast<std::uint64_t>(of.actual);
    ask(Verb::settle, of);
    const auto model = model_->settle(id, of.actual, std::nullopt, now_, Outside{}.overdraft.count());
    return both(request_.fault == Fault::none ? reservation_.wait.count() : -2, model.wait);
  }
  Both charge_outside(const Operation& of) {
    using enum Operation::What;
    const auto units = static_cast<std::uint64_t>(of.number);
    charge_ = {.outside = of.what == pause    ? Outside(Pause{nanoseconds{of.number}, of.afresh})
                          : of.what == refund ? detail::refund_of(Cost{units})
                                              : Outside(Cost{units})};
    ask(Verb::charge, of);
    const LedgerModel::Ask one{.key = of.keys[0], .cost = of.number};
    if (of.what == refund)
      return both(static_cast<std::int64_t>(charge_.told.charged), model_->refund(one.key, of.number, now_));
    const auto pausing = of.afresh ? LedgerModel::Form::afresh : LedgerModel::Form::pause;
    const auto form = of.what == pause ? pausing : LedgerModel::Form::cost;
    return both(charge_.told.wait.count(), model_->charge(one, form, now_, Outside{}.overdraft.count()).wait);
  }
  void ask(Verb verb, const Operation& of) {
    checks_.clear();
    const bool has_checks = verb < Verb::moment;
    for (const std::size_t key : has_checks ? of.keys : std::vector<std::size_t>{})
      checks_.push_back(
          {.limit = &made_[key], .key = key_, .cost = Cost{static_cast<std::uint64_t>(of.number)}});
    request_ = {.checks = checks_, .verb = verb, .reservation = &reservation_, .charge = &charge_};
    Request* const batch[] = {&request_};
    store_.submit(batch, {nanoseconds{now_}, nanoseconds{now_}});
  }

  std::vector<LedgerModel::Limit> limits_;
  std::vector<Operation> operations_;
  std::array<store::Limit, 2> made_{store::Limit{.rule = {Quota::per_second(1)}},
                                    store::Limit{.rule = {Quota::per_second(1)}}};
  std::vector<const Operation*> trace_;
  store::EmbeddedStore store_{std::size_t{8} << 20};
  std::optional<LedgerModel> model_;
  std::int64_t now_ = 1'000'000'000;
  std::string key_;
  std::vector<std::string> ids_;
  std::vector<Check> checks_;
  Request request_;
  store::ReservationTerms reservation_;
  store::ChargeTerms charge_;
};

TEST(LedgerAgreement, every_trace_of_four_or_five_operations) {
  using enum Operation::What;
  const std::vector<Operation> operations = {
      {.what = tick, .number = 2},
      {.what = check, .keys = {0}},
      {.what = reserve, .keys = {0}, .max_wait = 9, .hold = 4},
      {.what = reserve, .keys = {0, 1}, .max_wait = 12},
      {.what = cancel, .number = 1},
      {.what = settle, .number = 1, .actual = 0},
      {.what = settle, .number = 2, .actual = 3},
      {.what = pause, .keys = {0}, .number = 3},
      {.what = pause, .keys = {0}, .number = 4, .afresh = true},
      {.what = charge, .keys = {1}, .number = 2},
      {.what = refund, .keys = {0}, .number = 1},
  };
  std::uint64_t traces = 0;
  for (const std::int64_t burst : {1, 2, 3}) {
    for (const std::int64_t interval :
         core::Chance::is_long() ? std::vector<std::int64_t>{1, 2, 3} : std::vector{std::int64_t{2}}) {
      Walk walk(burst, interval, operations);
      walk.all(core::Chance::is_long() || burst == 2 ? 5 : 4);
      traces += walk.traces;
    }
  }
  std::printf("%llu traces\n", static_cast<unsigned long long>(traces));
}

}  // namespace
}  // namespace weir::ledger_trace
