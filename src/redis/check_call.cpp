// Requests of one check.
#include <algorithm>
#include <optional>

#include "core/rule.hpp"
#include "redis/script.hpp"
#include "redis/store_calls.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

namespace {

// What a check came to.
struct CheckAnswer {
  Decision decision{};
  Source source = Source::store;
  Fault fault = Fault::none;
  std::string_view why{};
  nanoseconds charged_at{0};
  std::uint64_t local = 0;  // the fallback's hash
};

void fill(Request& request, const CheckAnswer& answer) {
  Check& check = request.checks[0];
  check.decision = answer.decision;
  check.hash = answer.local;
  request.source = answer.source;
  request.fault = answer.fault;
  request.charged = request.allowed();
  request.why = answer.why;
  request.charged_at = answer.charged_at;
}

void tell(Request* request, const CheckAnswer& answer) {
  if (request == nullptr) return;  // cancelled
  fill(*request, answer);
  finish(*request);
}

// What a former answer still says.
std::optional<CheckAnswer> without_asking(StoreParts& in, const core::Rule& rule, std::uint64_t hash,
                                          Cost cost, std::uint32_t resets, bool may_lease, nanoseconds now) {
  if (const auto denial = in.known.recall(rule, hash, cost, now)) {
    StoreTally::count(in.tally.counters.remembered);
    return CheckAnswer{.decision = *denial, .source = Source::remembered};
  }
  if (!may_lease) return std::nullopt;
  const auto spent = in.known.spend(hash, rule.quota, cost, resets, now);
  if (!spent) return std::nullopt;
  StoreTally::count(in.tally.counters.leased);
  return CheckAnswer{.decision = spent->decision, .source = Source::leased, .charged_at = spent->charged_at};
}

// As far as this process has seen.
bool half_spent(Fallback& fallback, Check look, nanoseconds now) {
  look.cost = Cost{0};
  fallback.count({&look, 1}, now);
  return look.decision.remaining * 2 < look.decision.limit;
}

// For a check, and for those like it that travel with it.
class CheckCall final : public StoreCall {
 public:
  CheckCall(StoreParts& in, KeyCheck check) : StoreCall(in), check_(std::move(check)) {}

  // Another one of the same key, if it is of the same rule and cost.
  bool takes(KeyCheck& other);
  // For the answer of this call those wait that come from now on.
  void begin_turn() { turn_ = in_.merging.begin(check_.hash); }
  void ask_for_lease() { lease_ = in_.known.units_to_lease(check_.limit, check_.cost); }
  void ask_for_lease_alone() {
    ahead_ = true;
    ask_for_lease();
  }
  void send(std::unique_ptr<CheckCall> self, nanoseconds now);

  bool wanted() const override {
    return ahead_ || !check_.ticket.cancelled() ||
           std::any_of(more_.begin(), more_.end(),
                       [](const KeyCheck& each) { return !each.ticket.cancelled(); });
  }

 private:
  Cost cost() const { return lease_ != 0 ? Cost{lease_} : check_.cost; }
  Rank rank(std::uint16_t slot, nanoseconds now);
  void heard(std::unique_ptr<Call> self, const Result& result, nanoseconds now) override;
  bool has_calendar() const override { return check_.limit.rule.calendar != nullptr; }
  void ask_again(std::unique_ptr<Call> self, nanoseconds now) override {
    if (std::exchange(in_line_, false)) in_.lines.leave(check_.hash);
    ask(std::move(self), now);
  }
  void ask(std::unique_ptr<Call> self, nanoseconds now);
  tl::expected<void, std::string> read(const resp::Value& value, std::span<Decision> decisions) const;
  void grant(nanoseconds charged_at, nanoseconds now);
  void conclude(KeyCheck& check, Cause cause, const CheckAnswer& answer, nanoseconds now);

  KeyCheck check_;
  std::vector<KeyCheck> more_;
  std::uint64_t lease_ = 0;  // units asked for instead of the cost; 0: the cost
  bool ahead_ = false;       // for the lease alone: the check is nobody's
  bool in_line_ = false;     // counted among those of its key that wait in order
  std::uint64_t turn_ = 0;   // of the merge queue, whose checks wait for it; 0: it has none
  nanoseconds asked_{0};
};

// What its answer does not settle leaves with the end of a turn, in the order in which it came, and those
// that come from now on wait for the last.
void release(StoreParts& in, std::uint64_t hash, std::optional<KeyCheck> foremost, nanoseconds now) {
  std::vector<KeyCheck> waited = in.merging.end(hash);
  if (foremost) waited.insert(waited.begin(), *std::move(foremost));
  std::vector<std::pair<Ticket, CheckAnswer>> settled;
  std::vector<std::unique_ptr<CheckCall>> calls;
  const std::uint32_t resets = in.known.resets_of(hash);
  for (KeyCheck& check : waited) {
    if (check.ticket.cancelled()) continue;
    check.resets = resets;
    if (const auto known =
            without_asking(in, check.limit.rule, hash, check.cost, resets, check.may_lease, now)) {
      settled.emplace_back(std::move(check.ticket), *known);
    } else if (calls.empty() || !calls.back()->takes(check)) {
      calls.push_back(std::make_unique<CheckCall>(in, std::move(check)));
    }
  }
  if (!calls.empty()) calls.back()->begin_turn();
  for (auto& call : calls) call->send(std::move(call), now);
  for (auto& [ticket, answer] : settled) tell(ticket.take(), answer);
}

// For the call of its key that is under way; only as long as it may still be answered in time if it leaves
// without, with a quarter of the time that is left beside that to spare.
void wait(StoreParts& in, KeyCheck check, nanoseconds now) {
  const nanoseconds left = check.deadline - now;
  const nanoseconds spare = left - in.client.needed(in.slot(check.name), left, now);
  in.merging.wait(std::move(check), now + std::max(nanoseconds{0}, spare * 3 / 4));
}

}  // namespace

void check_one(StoreParts& in, Request& request, nanoseconds now) {
  const Check& asked = request.checks[0];
  const store::Limit& limit = *asked.limit;
  const std::uint64_t hash = in.known.hash_of(limit.id, asked.key);
  const bool leases = in.known.wants_lease(limit, asked.cost);
  if (const auto known =
          without_asking(in, limit.rule, hash, asked.cost, in.known.resets_of(hash), leases, now))
    return tell(&request, *known);

  const nanoseconds deadline = now + in.patience_of(request);
  KeyCheck check{in.keep(asked), Ticket(request), deadline, leases};
  const bool merges = (leases || limit.sharing.merge) && core::kept_in_two_words(limit.rule.algorithm);
  if (merges && in.merging.has(hash)) return wait(in, std::move(check), now);
  const std::uint16_t slot = in.slot(check.name);
  auto call = std::make_unique<CheckCall>(in, std::move(check));
  if (merges) call->begin_turn();
  if (!merges || !leases) return call->send(std::move(call), now);
  // What is refused as a lease is asked for again without, which needs the time for it.
  if (2 * in.client.needed(slot, deadline - now, now) <= deadline - now) {
    call->ask_for_lease();
    call->send(std::move(call), now);
  } else {
    call->send(std::move(call), now);
    lease_ahead(in, in.keep(asked), deadline, now);
  }
}

void lease_ahead(StoreParts& in, KeptCheck check, nanoseconds deadline, nanoseconds now) {
  const std::uint64_t hash = check.hash;
  auto call = std::make_unique<CheckCall>(in, KeyCheck{std::move(check), Ticket(), deadline, true});
  call->ask_for_lease_alone();
  if (!in.merging.has(hash)) call->begin_turn();
  call->send(std::move(call), now);
}

void release_due(StoreParts& in, nanoseconds now) {
  while (const auto key = in.merging.take_due(now)) release(in, *key, std::nullopt, now);
  in.wake();
}

bool CheckCall::takes(KeyCheck& other) {
  if (other.limit.rule != check_.limit.rule || other.cost.units != check_.cost.units ||
      other.name != check_.name || more_.size() + 1 >= kMostTimes)
    return false;
  more_.push_back(std::move(other));
  return true;
}

void CheckCall::send(std::unique_ptr<CheckCall> self, nanoseconds now) {
  in_.known.leaves(check_, cost());
  ask(std::move(self), now);
}

void CheckCall::ask(std::unique_ptr<Call> self, nanoseconds now) {
  asked_ = now;
  std::string command;
  command.reserve(192 + check_.name.size());
  ScriptCheck one{&check_.limit.rule, check_.name, cost()};
  if (check_.limit.rule.calendar != nullptr) one.utc = time_there(check_, now);
  if (more_.empty()) {
    append_check(command, {&one, 1});
  } else {
    append_times(command, one, 1 + more_.size());
  }
  nanoseconds deadline = check_.deadline;
  for (const KeyCheck& each : more_) deadline = std::min(deadline, each.deadline);
  const std::uint16_t slot = in_.slot(check_.name);
  const Rank its_rank = rank(slot, now);
  in_.client.call(std::move(self), slot, std::move(command), deadline, now, its_rank);
}

// Where calls have to wait, those of keys that have spent more than half, or were denied lately, leave first:
// there a decision that is made here errs most, and flooding with fresh keys keeps nobody's known key from
// the store. What has drained since a denial says little: other servers may have spent it. A key's own calls
// stay in order.
Rank CheckCall::rank(std::uint16_t slot, nanoseconds now) {
  if (!in_.client.busy(slot)) return Rank::usual;
  if (!in_.lines.has(check_.hash) &&
      (in_.known.is_pressed(check_.hash, now) || half_spent(in_.fallback, check_.check(), now)))
    return Rank::first;
  in_.lines.stand(check_.hash);
  in_line_ = true;
  return Rank::usual;
}

tl::expected<void, std::string> CheckCall::read(const resp::Value& value,
                                                std::span<Decision> decisions) const {
  const ScriptCheck ask{&check_.limit.rule, check_.name, cost()};
  const auto nothing = [](auto) {};
  return more_.empty() ? read_check(value, {&ask, 1}, decisions).map(nothing)
                       : read_times(value, ask, decisions).map(nothing);
}

void CheckCall::heard(std::unique_ptr<Call>, const Result& result, nanoseconds now) {
  const std::uint64_t hash = check_.hash;
  if (in_line_) in_.lines.leave(hash);
  Cause cause = result.cause;
  Decision one;
  std::vector<Decision> several(more_.empty() ? 0 : 1 + more_.size());
  const std::span<Decision> decisions = more_.empty() ? std::span(&one, 1) : std::span(several);
  CheckAnswer answer{.why = result.error};
  std::string unreadable;
  if (cause == Cause::none) {
    in_.known.hear_clock(*result.value, asked_, now);
    if (auto read_all = read(*result.value, decisions); !read_all) {
      cause = Cause::other;
      answer.why = unreadable = std::move(read_all.error());
    } else {
      answer.charged_at = decided_at(*result.value).value_or(nanoseconds{0});
    }
  }
  const bool decided = cause == Cause::none;
  const bool charged = decided && decisions[0].allowed();
  const core::Rule& rule = check_.limit.rule;
  Knowledge::Answered learned{rule};
  if (decided && !mend(in_, check_, rule, cost(), state_in(*result.value, 0), decisions, now))
    learned = {rule, charged, &decisions.back(), false, state_in(*result.value, 0).text};
  in_.known.learn(learned, check_, cost(), asked_, now);
  const bool granted = lease_ != 0 && decided && decisions[0].allowed();
  if (granted) grant(answer.charged_at, now);
  if (!ahead_) {
    if (decided && decisions[0].verdict == Verdict::denied && cost().units > check_.cost.units) {
      // Not as much as a lease; perhaps what is needed. It came before those that wait.
      check_.may_lease = false;
      return release(in_, hash, std::move(check_), now);
    }
    if (granted) decisions[0].remaining += static_cast<std::int64_t>(lease_ - check_.cost.units);
    if (decided) StoreTally::count(in_.tally.counters.merged, more_.size());
    answer.decision = decisions[0];
    conclude(check_, cause, answer, now);
    for (std::size_t i = 0; i < more_.size(); ++i) {
      answer.decision = decisions[i + 1];
      conclude(more_[i], cause, answer, now);
    }
  }
  if (in_.merging.waits_for(hash, turn_)) release(in_, hash, std::nullopt, now);
}

// The units of the call are a lease.
void CheckCall::grant(nanoseconds charged_at, nanoseconds now) {
  const nanoseconds until = asked_ + std::min(check_.limit.sharing.lease_for, Lease::kLongest);
  const auto rest = in_.known.grant(
      check_.hash, Lease{check_.name, check_.limit.rule.quota, lease_, ahead_ ? 0 : check_.cost.units, asked_,
                         charged_at, until, check_.resets});
  if (rest) give_back(in_, check_.hash, *rest, now);
}

void CheckCall::conclude(KeyCheck& check, Cause cause, const CheckAnswer& answer, nanoseconds now) {
  StoreTally& tally = in_.tally;
  if (cause == Cause::none) {
    tally.decided(now);
    Request* const request = check.ticket.take();
    if (request == nullptr) return;  // cancelled
    fill(*request, answer);
    const KeptCheck* const kept = &check;
    return finish_with_penalties(in_, *request, {&kept, 1}, check.deadline, now);
  }
  if (cause == Cause::overload && check.ticket.cancelled()) return;  // it never left
  tally.refused(cause, answer.why, now);
  if (cause == Cause::wrongtype)
    return tell(check.ticket.take(), {.fault = Fault::foreign_value, .why = answer.why});
  if (check.ticket.cancelled()) return;
  StoreTally::count(tally.counters.fallbacks);
  Check counted = check.check();
  if (const auto decided = Fallback::uncounted(check.limit, check.cost)) {
    counted.decision = *decided;
  } else {
    in_.fallback.count({&counted, 1}, now);
  }
  tell(check.ticket.take(),
       {counted.decision, Source::fallback, Fault::none, name_of(cause), now, counted.hash});
}

}  // namespace weir::redis
