#include "redis/shared_store.hpp"

#include <algorithm>
#include <cmath>

#include "core/gcra.hpp"
#include "redis/script.hpp"
#include "resp/reply.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;

// What is answered when nobody has counted: enough for a client to come back, not to hammer.
constexpr nanoseconds kRetryUnknown = std::chrono::seconds{1};

gcra::Step decide_ahead(const Quota& quota, std::uint64_t ahead, nanoseconds elapsed, Cost cost) {
  return gcra::decide(quota, {ahead, static_cast<std::uint64_t>(quota.emission_interval().count())}, elapsed,
                      cost);
}

// The same in every store of a process, because they share Resets; secret. Never 0, which is no key.
std::uint64_t hash_of(std::string_view key) {
  static const HashKey kSeed = Table::random_seed();
  return siphash<1, 3>(kSeed, key) | 1;
}

// The limit of one machine when `share` of it is what each may give.
Quota scaled(const Quota& quota, double share) {
  if (share >= 1) return quota;
  const auto part = [share](std::int64_t units) {
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(std::floor(static_cast<double>(units) * share)));
  };
  const auto made = Quota::make({part(quota.rate().count), quota.rate().period}, part(quota.burst()));
  return made ? *made : quota;
}

}  // namespace

void DenialMemory::remember(std::uint64_t key, const Quota& quota, Cost cost, const Decision& denial,
                            nanoseconds asked, nanoseconds answered, std::uint32_t resets) {
  const auto ahead = static_cast<std::uint64_t>(denial.reset_after.count());
  // A debt that still drains at a former pace is not worth remembering: it is told by its odd answer.
  if (decide_ahead(quota, ahead, nanoseconds{0}, cost).decision() != denial) return;
  if (entries_.empty()) entries_.resize(kEntries);
  Entry* entry = &entries_[key % (kEntries / 2) * 2];
  if (entry->key != key && (entry[1].key == key || entry[1].until < entry->until)) ++entry;
  *entry = {key, quota, ahead, asked, answered, asked + denial.retry_after.value_or(nanoseconds{0}), resets};
}

std::optional<Decision> DenialMemory::recall(std::uint64_t key, const Quota& quota, Cost cost,
                                             nanoseconds now, std::uint32_t resets) const {
  if (entries_.empty()) return std::nullopt;
  const Entry* entry = &entries_[key % (kEntries / 2) * 2];
  if (entry->key != key) ++entry;
  if (entry->key != key || entry->quota != quota || entry->resets != resets) return std::nullopt;
  // The store decided between the two: by its clock it is now at most this late, and at least that late.
  // Denied at the latest it may be is denied; the answer is made for the earliest, so that waiting is enough.
  const nanoseconds latest = now - entry->asked;
  const nanoseconds earliest = std::max(nanoseconds{0}, now - entry->answered);
  if (decide_ahead(quota, entry->ahead, latest, cost).verdict != Verdict::denied) return std::nullopt;
  return decide_ahead(quota, entry->ahead, earliest, cost).decision();
}

void DenialMemory::forget(std::uint64_t key) {
  if (entries_.empty()) return;
  Entry* const entry = &entries_[key % (kEntries / 2) * 2];
  for (Entry* each : {entry, entry + 1}) {
    if (each->key == key) *each = {};
  }
}

SharedStore::SharedStore(Endpoint endpoint, Policy policy, Table& local, Resets& resets,
                         nanoseconds (*clock)(), OnOutcome on_outcome, OnReset on_reset)
    : endpoint_(std::move(endpoint)),
      policy_(policy),
      local_(local),
      resets_(resets),
      clock_(clock),
      on_outcome_(std::move(on_outcome)),
      on_reset_(std::move(on_reset)),
      client_(endpoint_, std::string(check_script()), Table::random_seed().k0,
              [this](std::uint64_t tag, const Client::Result& result) { answered(tag, result); }) {}

std::optional<SharedStore::Outcome> SharedStore::check(const Rule& rule, std::string_view key, Cost cost,
                                                       std::uint64_t token, Wishes wishes) {
  const nanoseconds now = clock_();
  const Quota& quota = rule.quota;
  // What the other algorithms deny is not worked out here, and they lend nothing.
  const bool gcra = rule.algorithm == Algorithm::gcra;
  Asked asked{token, rule, {}, hash_of(key), cost, now};
  asked.deadline = now + wishes.deadline.value_or(policy_.deadline);
  asked.on_error = wishes.on_error.value_or(policy_.on_error);
  asked.resets = resets_.of(asked.hash).load();
  if (policy_.remember_denials && gcra) {
    if (const auto denial = denials_.recall(asked.hash, quota, cost, now, asked.resets)) {
      counters_.remembered.fetch_add(1, std::memory_order_relaxed);
      return Outcome{*denial, Cause::none, {}};
    }
  }
  if (auto sentence = unsuitable(*asked.rule)) {
    return Outcome{{}, Cause::other, "ERR " + *std::move(sentence)};
  }
  asked.key = key;
  const auto burst = static_cast<std::uint64_t>(quota.burst());
  if (wishes.lease > 1 && gcra && cost.units > 0 && cost.units <= burst) {
    if (const auto decision = leases_.spend(asked.hash, quota, cost, now, asked.resets)) {
      counters_.leased.fetch_add(1, std::memory_order_relaxed);
      return Outcome{*decision, Cause::none, {}};
    }
    const auto [waiters, first] = lease_waiters_.try_emplace(asked.hash);
    if (!first) {
      waiters->second.push_back(keep(std::move(asked)));
      return std::nullopt;
    }
    asked.lease = std::min(std::max(wishes.lease, cost.units), burst);
  }
  send(keep(std::move(asked)));
  return std::nullopt;
}

void SharedStore::reset(std::string_view key, std::uint64_t token) {
  Asked asked{token, std::nullopt, std::string(key), hash_of(key), {}, clock_()};
  asked.deadline = asked.at + policy_.deadline;
  send(keep(std::move(asked)));
}

std::uint32_t SharedStore::keep(Asked asked) {
  ++open_;
  if (free_.empty()) {
    asked_.push_back(std::move(asked));
    return static_cast<std::uint32_t>(asked_.size() - 1);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  asked_[index] = std::move(asked);
  return index;
}

SharedStore::Asked SharedStore::take_back(std::uint32_t index) {
  --open_;
  free_.push_back(index);
  return std::move(asked_[index]);
}

void SharedStore::send(std::uint32_t index) {
  const Asked& asked = asked_[index];
  std::string command;
  command.reserve(192 + endpoint_.prefix.size() + asked.key.size());
  if (asked.rule) {
    const Ask one{&*asked.rule, asked.key, asked.lease != 0 ? Cost{asked.lease} : asked.cost};
    append_check(command, {&one, 1}, endpoint_.prefix);
  } else {
    resp::Reply request(command);
    request.array(2);
    request.bulk("DEL");
    request.bulk(endpoint_.prefix + asked.key);
  }
  std::uint16_t slot = 0;
  if (endpoint_.kind == Endpoint::Kind::cluster) {
    slot = slot_of(endpoint_.prefix.empty() ? asked.key : endpoint_.prefix + asked.key);
  }
  client_.call(index, slot, std::move(command), asked.deadline, clock_());
  wake_();
}

void SharedStore::answered(std::uint64_t tag, const Client::Result& result) {
  Asked asked = take_back(static_cast<std::uint32_t>(tag));
  if (!asked.rule) {
    // After it was done: whoever asked before may have been told of what is forgotten now.
    resets_.of(asked.hash).fetch_add(1);
    if (result.cause == Cause::none) return on_reset_(asked.token, result.value->integer, {});
    counters_.failures[static_cast<std::size_t>(result.cause)].fetch_add(1, std::memory_order_relaxed);
    return on_reset_(asked.token, std::nullopt, result.error);
  }
  const nanoseconds now = clock_();
  const Cost charged = asked.lease != 0 ? Cost{asked.lease} : asked.cost;
  Outcome outcome;
  outcome.cause = result.cause;
  if (result.cause == Cause::none) {
    const Ask one{&*asked.rule, asked.key, charged};
    if (!read_check(*result.value, {&one, 1}, {&outcome.decision, 1})) outcome.cause = Cause::other;
  }
  if (outcome.cause != Cause::none) {
    counters_.failures[static_cast<std::size_t>(outcome.cause)].fetch_add(1, std::memory_order_relaxed);
    outcome = without_store(*asked.rule, asked, outcome.cause, now);
    if (result.cause == Cause::wrongtype) outcome.error = result.error;
  } else {
    counters_.decided.fetch_add(1, std::memory_order_relaxed);
    Decision& decision = outcome.decision;
    // A smaller request has passed since: a remembered denial is still one, but its numbers are outdated.
    if (decision.allowed()) denials_.forget(asked.hash);
    if (decision.allowed() && asked.lease != 0) {
      leases_.grant(asked.hash, asked.rule->quota, charged.units, asked.cost.units, asked.at, asked.resets);
      decision.remaining += static_cast<std::int64_t>(charged.units - asked.cost.units);
    } else if (decision.verdict == Verdict::denied && charged.units > asked.cost.units) {
      // Not so much at once; perhaps what is needed.
      share_out(asked, now);
      asked.lease = 0;
      return send(keep(std::move(asked)));
    } else if (decision.verdict == Verdict::denied && policy_.remember_denials &&
               asked.rule->algorithm == Algorithm::gcra) {
      denials_.remember(asked.hash, asked.rule->quota, asked.cost, decision, asked.at, now, asked.resets);
    }
  }
  on_outcome_(asked.token, outcome);
  if (asked.lease != 0) share_out(asked, now);
}

// Those that waited for this lease: each takes what is left, in the order in which they came, or asks by
// itself.
void SharedStore::share_out(const Asked& asked, nanoseconds now) {
  const auto found = lease_waiters_.extract(asked.hash);
  if (found.empty()) return;
  for (const std::uint32_t index : found.mapped()) {
    const Asked& waiter = asked_[index];
    if (!waiter.rule) continue;  // only checks wait
    const auto decision = leases_.spend(waiter.hash, waiter.rule->quota, waiter.cost, now, waiter.resets);
    if (!decision) {
      send(index);
      continue;
    }
    counters_.leased.fetch_add(1, std::memory_order_relaxed);
    on_outcome_(take_back(index).token, {*decision, Cause::none, {}});
  }
}

SharedStore::Outcome SharedStore::without_store(const Rule& rule, const Asked& asked, Cause cause,
                                                nanoseconds now) {
  const Quota& quota = rule.quota;
  const Cost cost = asked.cost;
  if (cost.units > static_cast<std::uint64_t>(quota.burst())) {
    return {{Verdict::never, quota.burst(), quota.burst(), std::nullopt, nanoseconds{0}}, cause, {}};
  }
  switch (asked.on_error) {
    case OnStoreError::allow:
      return {{Verdict::allowed, quota.burst(), quota.burst(), std::nullopt, nanoseconds{0}}, cause, {}};
    case OnStoreError::deny:
      if (cost.units == 0)
        return {{Verdict::allowed, quota.burst(), 0, std::nullopt, kRetryUnknown}, cause, {}};
      return {{Verdict::denied, quota.burst(), 0, kRetryUnknown, kRetryUnknown}, cause, {}};
    case OnStoreError::local:
      break;
  }
  return {local_.check(local_.locate(asked.key), scaled(quota, policy_.local_share), cost, now), cause, {}};
}

}  // namespace weir::redis
