#include "redis/shared_store.hpp"

#include <algorithm>
#include <cmath>

#include "core/gcra.hpp"
#include "redis/script.hpp"
#include "resp/writer.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;

// What is answered when nobody has counted: enough for a client to come back, not to hammer.
constexpr nanoseconds kRetryUnknown = std::chrono::seconds{1};

// The same in every store of a process, because they share Resets; secret. Never 0, which is no key.
std::uint64_t hash_of(std::string_view key) {
  static const core::HashKey kSeed = store::Table::random_seed();
  return core::siphash<1, 3>(kSeed, key) | 1;
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

// What the policy makes of a check that nobody has counted; nothing when the embedded store is to count it.
std::optional<Decision> decide_uncounted(const Quota& quota, Cost cost, OnStoreError on_error) {
  const std::int64_t burst = quota.burst();
  if (cost.units > static_cast<std::uint64_t>(burst))
    return Decision{Verdict::never, burst, burst, std::nullopt, nanoseconds{0}};
  switch (on_error) {
    case OnStoreError::allow:
      return Decision{Verdict::allowed, burst, burst, std::nullopt, nanoseconds{0}};
    case OnStoreError::deny:
      if (cost.units == 0) return Decision{Verdict::allowed, burst, 0, std::nullopt, kRetryUnknown};
      return Decision{Verdict::denied, burst, 0, kRetryUnknown, kRetryUnknown};
    case OnStoreError::local:
      break;
  }
  return std::nullopt;
}

// Whether `a` decides rather than `b`, of two limits of one request.
bool stricter(const Decision& a, const Decision& b) {
  const auto rank = [](Verdict verdict) {
    return verdict == Verdict::never ? 2 : verdict == Verdict::denied ? 1 : 0;
  };
  if (a.verdict != b.verdict) return rank(a.verdict) > rank(b.verdict);
  if (a.verdict == Verdict::denied) return a.retry_after > b.retry_after;
  return a.remaining < b.remaining;
}

}  // namespace

// A request of several limits while it is being decided.
struct SharedStore::Together {
  struct Each {
    Limit limit;
    std::uint64_t hash;
    std::uint32_t resets;
    Outcome outcome{};
  };
  // The limits of one slot: one call.
  struct Part {
    std::uint16_t slot;
    std::vector<std::size_t> of{};  // each
    bool failed = false;
    bool charged = false;
    nanoseconds charged_at{0};  // by the store's clock
  };
  std::vector<Each> each;
  std::vector<Part> parts;
  std::size_t open;  // parts without an answer
  OnAll done;

  std::vector<Ask> asks(std::size_t part) const {
    std::vector<Ask> made;
    for (const std::size_t i : parts[part].of) {
      const Limit& limit = each[i].limit;
      made.push_back({&limit.rule, limit.key, limit.cost});
    }
    return made;
  }
};

SharedStore::SharedStore(Endpoint endpoint, Policy policy, store::Table& local, Resets& resets,
                         nanoseconds (*clock)(), OnOutcome on_outcome, OnReset on_reset)
    : endpoint_(std::move(endpoint)),
      policy_(policy),
      local_(local),
      resets_(resets),
      clock_(clock),
      on_outcome_(std::move(on_outcome)),
      on_reset_(std::move(on_reset)),
      client_(endpoint_, std::string(check_script()), store::Table::random_seed().k0,
              [this](std::uint64_t tag, const Client::Result& result) { answered(tag, result); }) {}

// -------------------------------------------------------------------------------------------- one limit

std::optional<SharedStore::Outcome> SharedStore::check(const core::Rule& rule, std::string_view key,
                                                       Cost cost, std::uint64_t token, Wishes wishes) {
  const nanoseconds now = clock_();
  const std::uint64_t hash = hash_of(key);
  const std::uint32_t resets = resets_.of(hash).load();
  const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
  const bool leases =
      wishes.lease > 1 && rule.algorithm == Algorithm::gcra && cost.units > 0 && cost.units <= burst;
  if (const auto decision = without_asking(rule, hash, cost, resets, leases, now))
    return Outcome{*decision, Cause::none, {}};
  if (auto sentence = unsuitable(rule)) return Outcome{{}, Cause::other, "ERR " + *std::move(sentence)};
  Asked asked{.what = Asked::What::check,
              .token = token,
              .rule = rule,
              .key = std::string(key),
              .hash = hash,
              .cost = cost,
              .resets = resets};
  asked.deadline = now + wishes.deadline.value_or(policy_.deadline);
  asked.on_error = wishes.on_error.value_or(policy_.on_error);
  const bool merges = leases || wishes.merge || policy_.merge;
  if (merges && rule.algorithm != Algorithm::sliding_window_log) {
    const auto [queue, first] = queues_.try_emplace(asked.hash, Queue{asked.deadline, {}});
    asked.first = first;
    asked.lease = leases ? std::min(std::max(wishes.lease, cost.units), burst) : 0;
    asked.lease_for = wishes.lease_for;
    // Who has less time than the call under way goes alone.
    if (!first && queue->second.deadline <= asked.deadline) {
      queue->second.waiting.push_back(keep(std::move(asked)));
      return std::nullopt;
    }
    if (!first) asked.lease = 0;
  }
  send(keep(std::move(asked)));
  return std::nullopt;
}

std::optional<Decision> SharedStore::recall(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                            std::uint32_t resets, nanoseconds now) const {
  if (!policy_.remember_denials || rule.algorithm != Algorithm::gcra) return std::nullopt;
  return denials_.recall(hash, rule.quota, cost, now, resets);
}

// What a former answer still says.
std::optional<Decision> SharedStore::without_asking(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                                    std::uint32_t resets, bool may_spend, nanoseconds now) {
  if (const auto denial = recall(rule, hash, cost, resets, now)) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    return denial;
  }
  if (!may_spend) return std::nullopt;
  const auto allowance = leases_.spend(hash, rule.quota, cost, now, resets);
  if (allowance) counters_.leased.fetch_add(1, std::memory_order_relaxed);
  return allowance;
}

void SharedStore::learn(const Decision& decision, const core::Rule& rule, std::uint64_t hash, Cost cost,
                        nanoseconds asked, nanoseconds now, std::uint32_t resets) {
  // A smaller request has passed since: a remembered denial is still one, but its numbers are outdated.
  if (decision.allowed()) return denials_.forget(hash);
  if (decision.verdict != Verdict::denied || rule.algorithm != Algorithm::gcra) return;
  if (policy_.remember_denials) denials_.remember(hash, rule.quota, cost, decision, asked, now, resets);
}

void SharedStore::answered_check(Asked asked, const Client::Result& result) {
  const nanoseconds now = clock_();
  const Cost charged = asked.lease != 0 ? Cost{asked.lease} : asked.cost;
  const Ask ask{&asked.rule, asked.key, charged};
  Decision own;
  std::vector<Decision> all;
  Cause cause = result.cause;
  if (!asked.followers.empty()) {
    all.resize(1 + asked.followers.size());
    if (cause == Cause::none && !read_times(*result.value, ask, all)) cause = Cause::other;
    own = all[0];
  } else if (cause == Cause::none && !read_check(*result.value, {&ask, 1}, {&own, 1})) {
    cause = Cause::other;
  }
  if (cause == Cause::none && own.verdict == Verdict::denied && charged.units > asked.cost.units) {
    // Not so much at once; perhaps what is needed. It came before those that wait.
    learn(own, asked.rule, asked.hash, charged, asked.at, now, asked.resets);
    const std::uint64_t hash = asked.hash;
    asked.lease = 0;
    asked.first = false;
    auto& waiting = queues_[hash].waiting;
    waiting.insert(waiting.begin(), keep(std::move(asked)));
    return release(hash);
  }
  if (cause == Cause::none && own.allowed() && asked.lease != 0) {
    const auto rest =
        leases_.grant(asked.hash, Lease{asked.key, asked.rule.quota, charged.units, asked.cost.units,
                                        asked.at, decided_at(*result.value).value_or(nanoseconds{0}),
                                        asked.at + asked.lease_for, asked.resets});
    if (rest) give_back(asked.hash, *rest);
    own.remaining += static_cast<std::int64_t>(charged.units - asked.cost.units);
  }
  conclude(asked, cause, own, result.error, now);
  for (std::size_t i = 0; i < asked.followers.size(); ++i) {
    if (cause == Cause::none) counters_.merged.fetch_add(1, std::memory_order_relaxed);
    Asked follower = take_back(asked.followers[i]);
    follower.at = asked.at;
    conclude(follower, cause, all[i + 1], result.error, now);
  }
  if (asked.first) release(asked.hash);
}

void SharedStore::conclude(const Asked& asked, Cause cause, const Decision& decision, std::string_view error,
                           nanoseconds now) {
  if (cause == Cause::none) {
    counters_.decided.fetch_add(1, std::memory_order_relaxed);
    learn(decision, asked.rule, asked.hash, asked.cost, asked.at, now, asked.resets);
    return on_outcome_(asked.token, {decision, cause, {}});
  }
  count(cause);
  if (cause == Cause::wrongtype) return on_outcome_(asked.token, {{}, cause, std::string(error)});
  counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
  const Quota& quota = asked.rule.quota;
  auto decided = decide_uncounted(quota, asked.cost, asked.on_error);
  if (!decided)
    decided = local_.check(local_.locate(asked.key), scaled(quota, policy_.local_share), asked.cost, now);
  on_outcome_(asked.token, {*decided, cause, {}});
}

// Those that waited for a call of their key: what its answer does not settle leaves now, in the order in
// which it came, and those that come from now on wait for the last.
void SharedStore::release(std::uint64_t hash) {
  auto queue = queues_.extract(hash);
  const nanoseconds now = clock_();
  struct Settled {
    std::uint64_t token;
    Decision decision;
  };
  std::vector<Settled> settled;
  std::vector<std::uint32_t> calls;
  const std::uint32_t resets = resets_.of(hash).load();
  for (const std::uint32_t index : queue.mapped().waiting) {
    Asked& asked = asked_[index];
    asked.resets = resets;
    if (const auto decision = without_asking(asked.rule, hash, asked.cost, resets, asked.lease != 0, now)) {
      settled.push_back({take_back(index).token, *decision});
      continue;
    }
    asked.lease = 0;
    Asked* const last = calls.empty() ? nullptr : &asked_[calls.back()];
    if (last != nullptr && last->rule == asked.rule && last->cost.units == asked.cost.units &&
        last->key == asked.key && last->followers.size() + 1 < kMostTimes) {
      last->deadline = std::min(last->deadline, asked.deadline);
      last->followers.push_back(index);
    } else {
      calls.push_back(index);
    }
  }
  if (!calls.empty()) {
    Asked& last = asked_[calls.back()];
    last.first = true;
    queue.mapped() = {last.deadline, {}};
    queues_.insert(std::move(queue));
  }
  for (const std::uint32_t index : calls) send(index);
  for (const Settled& each : settled) on_outcome_(each.token, {each.decision, Cause::none, {}});
}

// ------------------------------------------------------------------------------- several limits together

void SharedStore::check_all(std::vector<Limit> limits, nanoseconds deadline, OnAll done) {
  const nanoseconds now = clock_();
  const auto together = std::make_shared<Together>();
  std::optional<std::size_t> denied_by;
  for (Limit& limit : limits) {
    const std::size_t i = together->each.size();
    const std::uint64_t hash = hash_of(limit.key);
    const std::uint16_t its_slot = slot(limit.key);
    Together::Each& each =
        together->each.emplace_back(Together::Each{std::move(limit), hash, resets_.of(hash).load()});
    if (const auto denial = recall(each.limit.rule, hash, each.limit.cost, each.resets, now)) {
      each.outcome.decision = *denial;
      if (!denied_by || stricter(*denial, together->each[*denied_by].outcome.decision)) denied_by = i;
    }
    auto part = std::find_if(together->parts.begin(), together->parts.end(),
                             [its_slot](const Together::Part& other) { return other.slot == its_slot; });
    if (part == together->parts.end()) part = together->parts.insert(part, Together::Part{its_slot});
    part->of.push_back(i);
  }
  if (denied_by) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    return done(together->each[*denied_by].outcome, *denied_by);
  }
  for (std::size_t i = 0; together->parts.size() > 1 && i < together->each.size(); ++i) {
    if (together->each[i].limit.rule.algorithm == Algorithm::gcra) continue;
    return done({{},
                 Cause::other,
                 "ERR the keys of this request lie in different slots of the cluster, and what " +
                     std::string(core::name_of(together->each[i].limit.rule.algorithm)) +
                     " has charged cannot be given back: let them share a {hash tag}"},
                i);
  }
  together->open = together->parts.size();
  together->done = std::move(done);
  for (std::size_t part = 0; part < together->parts.size(); ++part) {
    send(keep({.what = Asked::What::limits, .deadline = deadline, .together = together, .part = part}));
  }
}

void SharedStore::answered_limits(const Asked& asked, const Client::Result& result) {
  const nanoseconds now = clock_();
  Together& together = *asked.together;
  Together::Part& part = together.parts[asked.part];
  Cause cause = result.cause;
  std::array<Decision, store::Table::kMostTogether> decisions;
  if (cause == Cause::none) {
    const auto charged = read_check(*result.value, together.asks(asked.part), decisions);
    if (charged) {
      part.charged = *charged;
      part.charged_at = decided_at(*result.value).value_or(nanoseconds{0});
    } else {
      cause = Cause::other;
    }
  }
  for (std::size_t i = 0; i < part.of.size(); ++i) {
    Together::Each& each = together.each[part.of[i]];
    each.outcome = {decisions[i], cause, std::string(cause == Cause::wrongtype ? result.error : "")};
    if (cause == Cause::none)
      learn(decisions[i], each.limit.rule, each.hash, each.limit.cost, asked.at, now, each.resets);
  }
  part.failed = cause != Cause::none;
  if (--together.open == 0) conclude(asked.together, now);
}

void SharedStore::conclude(const std::shared_ptr<Together>& shared, nanoseconds now) {
  Together& together = *shared;
  bool all = true;
  Cause cause = Cause::none;       // of the first call that failed
  std::vector<std::size_t> local;  // those that the embedded store is to count
  for (const Together::Part& part : together.parts) {
    if (cause == Cause::none) cause = together.each[part.of.front()].outcome.cause;
    for (const std::size_t i : part.of) {
      auto& [limit, hash, resets, outcome] = together.each[i];
      if (part.failed && outcome.error.empty()) {
        const auto decided = decide_uncounted(limit.rule.quota, limit.cost, limit.on_error);
        if (!decided) local.push_back(i);
        const std::int64_t burst = limit.rule.quota.burst();
        outcome.decision =
            decided.value_or(Decision{Verdict::allowed, burst, burst, std::nullopt, nanoseconds{0}});
      }
      all = all && outcome.decision.allowed();
    }
  }
  if (cause == Cause::none) {
    counters_.decided.fetch_add(1, std::memory_order_relaxed);
  } else {
    count(cause);
    if (cause != Cause::wrongtype) counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
  }
  if (all && !local.empty()) {
    std::vector<Quota> quotas;
    std::vector<store::Table::Request> requests;
    quotas.reserve(local.size());
    for (const std::size_t i : local) {
      const Limit& limit = together.each[i].limit;
      quotas.push_back(scaled(limit.rule.quota, policy_.local_share));
      requests.push_back({local_.locate(limit.key), &quotas.back(), limit.cost});
    }
    std::array<Decision, store::Table::kMostTogether> decisions;
    all = local_.check_all(requests, now, decisions);
    for (std::size_t i = 0; i < local.size(); ++i) together.each[local[i]].outcome.decision = decisions[i];
  }
  for (const Together::Part& part : together.parts) {
    if (all || !part.charged) continue;
    for (const std::size_t i : part.of) {
      const auto& [limit, hash, resets, outcome] = together.each[i];
      give_back(limit.key, hash, limit.rule, limit.cost, part.charged_at);
    }
  }
  std::size_t by = 0;
  for (std::size_t i = 1; i < together.each.size(); ++i) {
    const Outcome& so_far = together.each[by].outcome;
    const Outcome& outcome = together.each[i].outcome;
    const bool error = !outcome.error.empty();
    if (so_far.error.empty() && (error || stricter(outcome.decision, so_far.decision))) by = i;
  }
  together.done(together.each[by].outcome, by);
}

// ------------------------------------------------------------------------------------------------ calls

void SharedStore::give_back(const std::string& key, std::uint64_t hash, const core::Rule& rule, Cost cost,
                            nanoseconds charged_at) {
  send(keep({.what = Asked::What::give_back,
             .rule = rule,
             .key = key,
             .hash = hash,
             .cost = cost,
             .at = charged_at,
             .deadline = clock_() + policy_.deadline}));
}

// All that was not spent: the script takes off what has melted.
void SharedStore::give_back(std::uint64_t hash, const Lease& lease) {
  if (lease.spent >= lease.units || resets_.of(hash).load() != lease.resets) return;
  give_back(lease.key, hash, core::Rule{lease.quota}, Cost{lease.units - lease.spent}, lease.charged_at);
}

bool SharedStore::end_leases(bool all) {
  for (const auto& [hash, lease] : leases_.end(clock_(), all)) give_back(hash, lease);
  return !leases_.empty();
}

void SharedStore::reset(std::string_view key, std::uint64_t token) {
  const std::uint64_t hash = hash_of(key);
  // Who asks from now on asks behind it, and what is left of a lease is not to be spent after it.
  resets_.of(hash).fetch_add(1);
  send(keep({.what = Asked::What::reset,
             .token = token,
             .key = std::string(key),
             .hash = hash,
             .deadline = clock_() + policy_.deadline}));
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

// In front of a cluster's slots, which are 0 for everybody else.
std::uint16_t SharedStore::slot(std::string_view key) const {
  if (endpoint_.kind != Endpoint::Kind::cluster) return 0;
  return slot_of(endpoint_.prefix.empty() ? key : endpoint_.prefix + std::string(key));
}

void SharedStore::send(std::uint32_t index) {
  const nanoseconds now = clock_();
  Asked& asked = asked_[index];
  if (asked.what != Asked::What::give_back) asked.at = now;
  std::string command;
  std::uint16_t its_slot = 0;
  switch (asked.what) {
    case Asked::What::check: {
      command.reserve(192 + endpoint_.prefix.size() + asked.key.size());
      const Ask one{&asked.rule, asked.key, asked.lease != 0 ? Cost{asked.lease} : asked.cost};
      if (asked.followers.empty()) {
        append_check(command, {&one, 1}, endpoint_.prefix);
      } else {
        append_times(command, one, 1 + asked.followers.size(), endpoint_.prefix);
      }
      its_slot = slot(asked.key);
      break;
    }
    case Asked::What::limits:
      append_check(command, asked.together->asks(asked.part), endpoint_.prefix);
      its_slot = asked.together->parts[asked.part].slot;
      break;
    case Asked::What::give_back: {
      const Ask one{&asked.rule, asked.key, asked.cost};
      append_give_back(command, one, asked.at, endpoint_.prefix);
      its_slot = slot(asked.key);
      break;
    }
    case Asked::What::reset: {
      resp::Writer request(command);
      request.array(2);
      request.bulk("DEL");
      request.bulk(endpoint_.prefix + asked.key);
      its_slot = slot(asked.key);
      break;
    }
  }
  client_.call(index, its_slot, std::move(command), asked.deadline, now);
  wake_();
}

void SharedStore::answered(std::uint64_t tag, const Client::Result& result) {
  Asked asked = take_back(static_cast<std::uint32_t>(tag));
  switch (asked.what) {
    case Asked::What::check:
      return answered_check(std::move(asked), result);
    case Asked::What::limits:
      return answered_limits(asked, result);
    case Asked::What::give_back:
      // Whoever asked before it may have been denied for what is no longer owed.
      return denials_.forget(asked.hash);
    case Asked::What::reset:
      // And again: whoever asked meanwhile may have been told of what is forgotten now.
      resets_.of(asked.hash).fetch_add(1);
      if (result.cause == Cause::none) return on_reset_(asked.token, result.value->integer, {});
      count(result.cause);
      return on_reset_(asked.token, std::nullopt, result.error);
  }
}

}  // namespace weir::redis
