// Stores that each break one sentence of the contract, for a test that the suite finds it out.
#pragma once

#include <algorithm>
#include <utility>

#include "conformance/later.hpp"

namespace weir::inline v0_1::store::conformance {

class ChargesOnDenial : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.verb != Verb::check || kept.copy.charged) return;
    for (Check check : kept.checks) {
      check.cost = Cost{1};
      Request extra;
      extra.checks = {&check, 1};
      ask_inner(extra, kept.when);
    }
  }
};

// The last check of several looks as if it were charged, and is not.
class LosesOneOfAllOrNone : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    const Cost cost = kept.checks.back().cost;
    const bool loses = kept.checks.size() > 1 && kept.copy.verb == Verb::check;
    if (loses) kept.checks.back().cost = Cost{0};
    Later::decide(kept);
    if (loses) kept.checks.back().decision.remaining -= static_cast<std::int64_t>(cost.units);
  }
};

class ChargesEachAlone : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) {
      Request alone;
      alone.verb = kept.copy.verb;
      alone.checks = {&check, 1};
      ask_inner(alone, kept.when);
    }
    kept.copy.charged = std::ranges::all_of(kept.checks, [](const Check& c) { return c.decision.allowed(); });
  }
};

class AnswersTwice : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    Later::deliver(kept, asked);
    asked.on_answer(asked);
  }
};

class AnswersAfterCancel : public Later {
  using Later::Later;
  void cancel(Request& pending) override { pending.state = Request::State::idle; }
};

class AnswersInsideSubmit : public Later {
  using Later::Later;
  void submit(std::span<Request* const> batch, Moment when) override {
    Later::submit(batch, when);
    run();
  }
};

class ForgetsToAnswer : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    if (kept.copy.charged) Later::deliver(kept, asked);
  }
};

class DecidesTheLastFirst : public Later {
  using Later::Later;
  std::unique_ptr<Kept> take() override {
    std::swap(waiting_.front(), waiting_.back());
    return Later::take();
  }
};

class ReadsKeysLate : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (std::size_t i = 0; i < kept.checks.size(); ++i) kept.checks[i].key = kept.asked->checks[i].key;
    Later::decide(kept);
  }
};

class KeepsTheDeciderOfBefore : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    Kept& same = const_cast<Kept&>(kept);
    same.copy.by = std::max(same.copy.by, asked.by);
    Later::deliver(same, asked);
  }
};

class IgnoresTheId : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) limit.id = 0;
    Later::decide(kept);
  }
};

// The id is made of the numbers, so that changing them forgets every debt.
class IdentifiesByNumbers : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) limit.id ^= static_cast<std::uint64_t>(limit.rule.quota.burst());
    Later::decide(kept);
  }
};

// A denial recounts the debt by its own numbers, as an admission does: all that is owed, one for each
// unit.
class RecountsOnDenial : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.verb != Verb::check || kept.copy.charged) return;
    for (Check check : kept.checks) {
      if (check.decision.verdict != Verdict::denied) continue;
      const std::int64_t owed = check.decision.limit - check.decision.remaining;
      Request reset;
      reset.verb = Verb::reset;
      reset.checks = {&check, 1};
      ask_inner(reset, kept.when);
      check.cost = Cost{static_cast<std::uint64_t>(owed)};
      Request again;
      again.checks = {&check, 1};
      ask_inner(again, kept.when);
    }
  }
};

class KeepsNothingFree : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) limit.rule.kept = nanoseconds{0};
    Later::decide(kept);
  }
};

class EnforcesShadows : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) {
      check.shadow = false;
      check.inside = Check::kNoGuarantee;
    }
    Later::decide(kept);
  }
};

class AlwaysBorrows : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) check.inside = Check::kNoGuarantee;
    Later::decide(kept);
  }
};

// Before it knows whether the request passes.
class ChargesShadowsOfTheDenied : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.allowed() || kept.copy.verb != Verb::check) return;
    for (Check check : kept.checks) {
      if (!check.shadow || !check.decision.allowed()) continue;
      Request alone;
      alone.checks = {&check, 1};
      ask_inner(alone, kept.when);
    }
  }
};

class LooksCharge : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb != Verb::look) return Later::decide(kept);
    Later::decide(kept);
    std::vector<Check> checks = kept.checks;
    Request charge;
    charge.checks = checks;
    ask_inner(charge, kept.when);
  }
};

class LooksTakeOne : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) check.cost.units = std::max<std::uint64_t>(1, check.cost.units);
    Later::decide(kept);
  }
};

class GivesBackWhatHasDrained : public Later {
  using Later::Later;
  void give_back(const Request& charged, nanoseconds) override {
    inner_.give_back(charged, charged.charged_at);
  }
};

class GivesNothingBack : public Later {
  using Later::Later;
  void give_back(const Request&, nanoseconds) override {}
};

class CountsEveryResetKey : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    const_cast<Kept&>(kept).copy.forgotten = kept.checks.size();
    Later::deliver(kept, asked);
  }
};

// What is silent stays without an answer, whatever the asker's patience.
class ForgetsPatienceWorld : public LaterWorld<> {
 public:
  bool fall_silent() override { return silent_ = true; }
  void settle() override {
    if (!silent_) LaterWorld::settle();
  }

 private:
  bool silent_ = false;
};

}  // namespace weir::store::conformance
