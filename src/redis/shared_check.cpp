// Requests of one check.
#include "redis/shared_store.hpp"

#include <algorithm>

#include "core/rule.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Limit;
using store::Request;

namespace {

void tell(Request* request, const Decision& decision, Source source, Fault fault, std::string_view why,
          nanoseconds charged_at, std::uint64_t local) {
  if (request == nullptr) return;  // cancelled
  Check& check = request->checks[0];
  check.decision = decision;
  check.hash = local;
  request->source = source;
  request->fault = fault;
  request->charged = request->allowed();
  request->why = why;
  request->charged_at = charged_at;
  finish(*request);
}

}  // namespace

// What a former answer still says.
std::optional<SharedStore::Answer> SharedStore::without_asking(const core::Rule& rule, std::uint64_t hash,
                                                               Cost cost, std::uint32_t resets,
                                                               bool may_lease, nanoseconds now) {
  if (const auto denial = known_.recall(rule, hash, cost, now)) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    return Answer{.decision = *denial, .source = Source::remembered};
  }
  if (!may_lease) return std::nullopt;
  const auto spent = known_.spend(hash, rule.quota, cost, resets, now);
  if (!spent) return std::nullopt;
  counters_.leased.fetch_add(1, std::memory_order_relaxed);
  return Answer{.decision = spent->decision, .source = Source::leased, .charged_at = spent->charged_at};
}

void SharedStore::check_one(Request& request, nanoseconds now) {
  const Check& check = request.checks[0];
  const Limit& limit = *check.limit;
  const std::uint64_t hash = hash_of(limit.id, check.key);
  const std::uint32_t resets = known_.resets_of(hash);
  const bool leases = known_.wants_lease(limit, check.cost);
  if (const auto known = without_asking(limit.rule, hash, check.cost, resets, leases, now))
    return tell(&request, known->decision, known->source, Fault::none, {}, known->charged_at, 0);

  KeyCall call{.check = {keep(check, hash, resets), Ticket(request), deadline_of(request, now), leases}};
  if ((leases || limit.sharing.merge) && core::kept_in_two_words(limit.rule.algorithm)) {
    if (merging_.has(hash)) return wait(std::move(call.check), now);
    call.turn = merging_.begin(hash);
    if (leases) {
      // What is refused as a lease is asked for again without, which needs the time for it.
      const nanoseconds left = call.check.deadline - now;
      if (2 * client_.needed(slot(call.check.name), left, now) <= left) {
        call.lease = known_.units_to_lease(limit, check.cost);
      } else {
        const nanoseconds deadline = call.check.deadline;
        send(std::move(call), now);
        return ask_ahead(check, hash, resets, deadline, now);
      }
    }
  }
  send(std::move(call), now);
}

// For a lease alone, for those that come later.
void SharedStore::ask_ahead(const Check& check, std::uint64_t hash, std::uint32_t resets,
                            nanoseconds deadline, nanoseconds now, std::uint64_t turn) {
  KeyCall call{.check = {keep(check, hash, resets), Ticket(), deadline, true}, .turn = turn};
  call.lease = known_.units_to_lease(*check.limit, check.cost);
  call.ahead = true;
  send(std::move(call), now);
}

// For the call of its key that is under way; only as long as it may still be answered in time if it leaves
// without, with a quarter of the time that is left beside that to spare.
void SharedStore::wait(KeyCheck check, nanoseconds now) {
  const nanoseconds left = check.deadline - now;
  const nanoseconds spare = left - client_.needed(slot(check.name), left, now);
  merging_.wait(std::move(check), now + std::max(nanoseconds{0}, spare * 3 / 4));
  set_alarm();
}

void SharedStore::set_alarm() {
  const nanoseconds at = merging_.next_due();
  if (at == alarm_at_) return;
  alarm_changed_ = alarm_changed_ || at < alarm_at_;
  alarm_at_ = at;
  client_.set_alarm(at);
}

void SharedStore::answered(KeyCall call, const Client::Result& result, nanoseconds now) {
  if (call.in_line) leave_line(call.check.hash);
  const Cost cost = call.cost();
  const Ask ask{&call.check.limit.rule, call.check.name, cost, endpoint_.format};
  Cause cause = result.cause;
  Decision one;
  std::vector<Decision> several(call.more.empty() ? 0 : 1 + call.more.size());
  const std::span<Decision> decisions = call.more.empty() ? std::span(&one, 1) : std::span(several);
  std::string unreadable;
  if (cause == Cause::none) {
    known_.hear_clock(*result.value, call.at, now);
    const auto note = [&](auto read) {
      if (read) return;
      cause = Cause::other;
      unreadable = std::move(read.error());
    };
    call.more.empty() ? note(read_check(*result.value, {&ask, 1}, decisions))
                      : note(read_times(*result.value, ask, decisions));
  }
  const bool charged = cause == Cause::none && decisions[0].allowed();
  const core::Rule& rule = call.check.limit.rule;
  const bool is_known = cause == Cause::none && !mend(call.check, rule, cost, decisions, now);
  known_.learn(is_known ? Knowledge::Answered{rule, charged, &decisions.back()} : Knowledge::Answered{rule},
               call.check, cost, call.at, now);
  const std::uint64_t hash = call.check.hash;
  if (call.ahead) {
    if (cause == Cause::none && decisions[0].allowed())
      grant(call, decided_at(*result.value).value_or(nanoseconds{0}), now);
    if (merging_.waits_for(hash, call.turn)) release(hash, std::nullopt, now);
    return;
  }
  if (cause == Cause::none && decisions[0].verdict == Verdict::denied && cost.units > call.check.cost.units) {
    // Not as much as a lease; perhaps what is needed. It came before those that wait.
    call.check.may_lease = false;
    return release(hash, std::move(call.check), now);
  }
  Answer answer{.why = unreadable.empty() ? result.error : unreadable};
  if (cause == Cause::none) answer.charged_at = decided_at(*result.value).value_or(nanoseconds{0});
  if (cause == Cause::none && call.lease != 0 && decisions[0].allowed()) {
    grant(call, answer.charged_at, now);
    decisions[0].remaining += static_cast<std::int64_t>(call.lease - call.check.cost.units);
  }
  if (cause == Cause::none) counters_.merged.fetch_add(call.more.size(), std::memory_order_relaxed);
  answer.decision = decisions[0];
  conclude(std::move(call.check), cause, answer, now);
  for (std::size_t i = 0; i < call.more.size(); ++i) {
    answer.decision = decisions[i + 1];
    conclude(std::move(call.more[i]), cause, answer, now);
  }
  if (merging_.waits_for(hash, call.turn)) release(hash, std::nullopt, now);
}

void SharedStore::conclude(KeyCheck check, Cause cause, const Answer& answer, nanoseconds now) {
  if (cause == Cause::none) {
    counters_.decided.fetch_add(1, std::memory_order_relaxed);
    health_.decided(now);
    return tell(check.ticket.take(), answer.decision, Source::store, Fault::none, {}, answer.charged_at, 0);
  }
  if (cause == Cause::overload && check.ticket.cancelled()) return;  // it never left
  count(cause);
  if (cause == Cause::wrongtype)
    return tell(check.ticket.take(), {}, Source::store, Fault::foreign_value, answer.why, {}, 0);
  health_.refused(answer.why, now);
  if (check.ticket.cancelled()) return;
  counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
  Check counted = check.check();
  if (const auto decided = Fallback::uncounted(check.limit, check.cost)) {
    counted.decision = *decided;
  } else {
    fallback_.count({&counted, 1}, now);
  }
  tell(check.ticket.take(), counted.decision, Source::fallback, Fault::none, name_of(cause), now,
       counted.hash);
}

// Those that waited for a call of their key: what its answer does not settle leaves now, in the order in
// which it came, and those that come from now on wait for the last.
void SharedStore::release(std::uint64_t hash, std::optional<KeyCheck> foremost, nanoseconds now) {
  std::vector<KeyCheck> waited = merging_.end(hash);
  if (foremost) waited.insert(waited.begin(), *std::move(foremost));
  struct Settled {
    Ticket ticket;
    Answer answer;
  };
  std::vector<Settled> settled;
  std::vector<KeyCheck> open;
  const std::uint32_t resets = known_.resets_of(hash);
  for (KeyCheck& check : waited) {
    if (check.ticket.cancelled()) continue;
    check.resets = resets;
    if (const auto known = without_asking(check.limit.rule, hash, check.cost, resets, check.may_lease, now)) {
      settled.push_back({std::move(check.ticket), *known});
    } else {
      open.push_back(std::move(check));
    }
  }
  std::vector<KeyCall> calls = calls_of(std::move(open));
  if (!calls.empty()) calls.back().turn = merging_.begin(hash);
  for (KeyCall& call : calls) send(std::move(call), now);
  for (Settled& each : settled) {
    tell(each.ticket.take(), each.answer.decision, each.answer.source, Fault::none, {},
         each.answer.charged_at, 0);
  }
}

void SharedStore::send(KeyCall call, nanoseconds now) {
  call.at = now;
  known_.leaves(call.check, call.cost());
  std::string command;
  command.reserve(192 + call.check.name.size());
  const Ask one{&call.check.limit.rule, call.check.name, call.cost(), endpoint_.format};
  if (call.more.empty()) {
    append_check(command, {&one, 1});
  } else {
    append_times(command, one, 1 + call.more.size());
  }
  const std::uint16_t its_slot = slot(call.check.name);
  const nanoseconds deadline = call.deadline();
  const Rank rank = rank_of(call, its_slot, now);
  ask(std::move(call), its_slot, std::move(command), deadline, now, rank);
}

namespace {

// As far as this process has seen.
bool half_spent(Fallback& fallback, Check look, nanoseconds now) {
  look.cost = Cost{0};
  fallback.count({&look, 1}, now);
  return look.decision.remaining * 2 < look.decision.limit;
}

}  // namespace

// Where calls have to wait, those of keys that have spent more than half, or were denied lately, leave first:
// there a decision that is made here errs most, and flooding with fresh keys keeps nobody's known key from
// the store. What has drained since a denial says little: other servers may have spent it. A key's own calls
// stay in order.
Rank SharedStore::rank_of(KeyCall& call, std::uint16_t slot, nanoseconds now) {
  if (!client_.busy(slot)) return Rank::usual;
  const bool in_line = in_line_.contains(call.check.hash);
  if (!in_line && (known_.is_pressed(call.check.hash, now) || half_spent(fallback_, call.check.check(), now)))
    return Rank::first;
  stand_in_line(call.check.hash);
  call.in_line = true;
  return Rank::usual;
}

void SharedStore::leave_line(std::uint64_t hash) {
  const auto line = in_line_.find(hash);
  if (--line->second == 0) in_line_.erase(line);
}

}  // namespace weir::redis
