#include "redis/shared_store.hpp"

#include <algorithm>
#include <cmath>

#include "core/gcra.hpp"
#include "redis/script.hpp"

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
  static const HashKey seed = Table::random_seed();
  return siphash<1, 3>(seed, key) | 1;
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
  *entry = {key, quota, ahead, asked, answered, asked + *denial.retry_after, resets};
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

std::optional<SharedStore::Outcome> SharedStore::check(const Quota& quota, std::string_view key, Cost cost,
                                                       std::uint64_t token) {
  const nanoseconds now = clock_();
  Asked asked{token, Rule{quota}, {}, hash_of(key), cost, now, 0};
  asked.resets = resets_.of(asked.hash).load();
  if (policy_.remember_denials) {
    if (const auto denial = denials_.recall(asked.hash, quota, cost, now, asked.resets)) {
      counters_.remembered.fetch_add(1, std::memory_order_relaxed);
      return Outcome{*denial, Cause::none, {}};
    }
  }
  if (auto sentence = unsuitable(*asked.rule))
    return Outcome{{}, Cause::other, "ERR " + *std::move(sentence)};
  asked.key = key;
  const Ask one{&*asked.rule, asked.key, cost};
  std::string command;
  append_check(command, {&one, 1}, endpoint_.prefix);
  ask(std::move(asked), std::move(command));
  return std::nullopt;
}

void SharedStore::reset(std::string_view key, std::uint64_t token) {
  Asked asked{token, std::nullopt, std::string(key), hash_of(key), {}, clock_(), 0};
  const std::string full = endpoint_.prefix + asked.key;
  std::string command = "*2\r\n$3\r\nDEL\r\n$" + std::to_string(full.size()) + "\r\n" + full + "\r\n";
  ask(std::move(asked), std::move(command));
}

void SharedStore::ask(Asked asked, std::string command) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(asked_.size());
    asked_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  const nanoseconds now = asked.at;
  const std::uint16_t slot =
      endpoint_.kind == Endpoint::Kind::cluster
          ? slot_of(endpoint_.prefix.empty() ? asked.key : endpoint_.prefix + asked.key)
          : std::uint16_t{0};
  asked_[index] = std::move(asked);
  ++open_;
  client_.call(index, slot, std::move(command), now + policy_.deadline, now);
  wake_();
}

void SharedStore::answered(std::uint64_t tag, const Client::Result& result) {
  const auto index = static_cast<std::uint32_t>(tag);
  const Asked asked = std::move(asked_[index]);
  free_.push_back(index);
  --open_;
  if (!asked.rule) {
    // After it was done: whoever asked before may have been told of what is forgotten now.
    resets_.of(asked.hash).fetch_add(1);
    if (result.cause == Cause::none) return on_reset_(asked.token, result.value->integer, {});
    counters_.failures[static_cast<std::size_t>(result.cause)].fetch_add(1, std::memory_order_relaxed);
    return on_reset_(asked.token, std::nullopt, result.error);
  }
  const nanoseconds now = clock_();
  Cause cause = result.cause;
  if (cause == Cause::none) {
    const Ask one{&*asked.rule, asked.key, asked.cost};
    Decision decision;
    if (const auto read = read_check(*result.value, {&one, 1}, {&decision, 1})) {
      counters_.decided.fetch_add(1, std::memory_order_relaxed);
      if (decision.verdict == Verdict::denied && policy_.remember_denials) {
        denials_.remember(asked.hash, asked.rule->quota, asked.cost, decision, asked.at, now, asked.resets);
      }
      return on_outcome_(asked.token, Outcome{decision, Cause::none, {}});
    }
    cause = Cause::other;
  }
  counters_.failures[static_cast<std::size_t>(cause)].fetch_add(1, std::memory_order_relaxed);
  Outcome outcome = without_store(*asked.rule, asked.key, asked.cost, cause, now);
  if (cause == Cause::wrongtype) outcome.error = result.error;
  on_outcome_(asked.token, outcome);
}

SharedStore::Outcome SharedStore::without_store(const Rule& rule, std::string_view key, Cost cost,
                                                Cause cause, nanoseconds now) {
  const Quota& quota = rule.quota;
  if (cost.units > static_cast<std::uint64_t>(quota.burst())) {
    return {{Verdict::never, quota.burst(), quota.burst(), std::nullopt, nanoseconds{0}}, cause, {}};
  }
  switch (policy_.on_error) {
    case OnStoreError::allow:
      return {{Verdict::allowed, quota.burst(), quota.burst(), std::nullopt, nanoseconds{0}}, cause, {}};
    case OnStoreError::deny:
      if (cost.units == 0)
        return {{Verdict::allowed, quota.burst(), 0, std::nullopt, kRetryUnknown}, cause, {}};
      return {{Verdict::denied, quota.burst(), 0, kRetryUnknown, kRetryUnknown}, cause, {}};
    case OnStoreError::local:
      break;
  }
  return {local_.check(local_.locate(key), scaled(quota, policy_.local_share), cost, now), cause, {}};
}

}  // namespace weir::redis
