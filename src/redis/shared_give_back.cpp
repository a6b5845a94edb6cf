// What is given back: of requests, and of leases.
#include "redis/shared_store.hpp"

#include "core/rule.hpp"
#include "redis/reservation_id.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

// What reservations keep beside a state of gcra; nothing where they cannot be.
std::string SharedStore::line_of(std::string_view name) const {
  return endpoint_.format == Format::weir ? line_in_redis(endpoint_.prefix, name) : std::string();
}

void SharedStore::give_back(const Request& charged, nanoseconds now) {
  if (!charged.charged) return;
  if (charged.source == Source::fallback) return fallback_.give_back(charged.checks, charged.charged_at, now);
  for (const Check& check : charged.checks) {
    if (check.hash != 0 || !check.decision.allowed()) continue;  // the fallback's, a shadow's denial
    if (check.cost.units == 0 || !core::can_give_back(check.limit->rule.algorithm)) continue;
    give_back(keep(check, hash_of(check.limit->id, check.key), 0), check.cost, charged.charged_at, now);
  }
  wake();
}

void SharedStore::give_back(const KeptCheck& check, Cost cost, nanoseconds charged_at, nanoseconds now) {
  known_.forget_denial(check.hash);
  std::string command;
  append_give_back(command, {&check.limit.rule, check.name, cost, endpoint_.format}, line_of(check.name),
                   charged_at);
  ask(GiveBackCall{check.hash}, slot(check.name), std::move(command), now + options_.deadline, now,
      Rank::first);
}

// The units of a call are a lease.
void SharedStore::grant(const KeyCall& call, nanoseconds charged_at, nanoseconds now) {
  if (const auto rest = known_.grant(call, charged_at)) give_back(call.check.hash, *rest, now);
}

bool SharedStore::end_leases(bool all) {
  const nanoseconds now = clock_();
  for (const auto& [hash, lease] : known_.end_leases(now, all)) give_back(hash, lease, now);
  wake();
  return known_.has_leases();
}

// All that was not spent: the script takes off what has melted.
void SharedStore::give_back(std::uint64_t hash, const Lease& lease, nanoseconds now) {
  if (lease.spent >= lease.units || known_.resets_of(hash) != lease.resets) return;
  const core::Rule rule{lease.quota};
  known_.forget_denial(hash);
  std::string command;
  append_give_back(command, {&rule, lease.key, Cost{lease.units - lease.spent}, endpoint_.format},
                   line_of(lease.key), lease.charged_at);
  ask(GiveBackCall{hash}, slot(lease.key), std::move(command), now + options_.deadline, now, Rank::first);
}

// What was charged while the store's clock was ahead is cut in the store, and told here as the store will say
// it then. Whether it was.
bool SharedStore::mend(const KeptCheck& check, const core::Rule& rule, Cost cost, std::span<Decision> told,
                       nanoseconds now) {
  const auto most = known_.cut(check, rule, cost, told, now);
  if (!most) return false;
  std::string command;
  append_cap(command, check.ask(), line_of(check.name), rule.quota.emission_interval() * rule.quota.burst(),
             *most, {});
  ask(GiveBackCall{check.hash}, slot(check.name), std::move(command), now + options_.deadline, now,
      Rank::first);
  return true;
}

// What was asked before it may have been denied for what is no longer owed.
void SharedStore::answered(GiveBackCall call, const Client::Result&, nanoseconds) {
  known_.forget_denial(call.hash);
}

}  // namespace weir::redis
