#include "redis/store_parts.hpp"

#include <utility>

#include "redis/charge_script.hpp"
#include "redis/overrides_script.hpp"
#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/script.hpp"
#include "redis/slot.hpp"
#include "redis/store_calls.hpp"
#include "redis/take_script.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

StoreParts::StoreParts(Endpoint its_endpoint, StoreOptions its_options, store::EmbeddedStore& local,
                       ProcessMemory& memory, core::ClockFunction its_clock)
    : endpoint(std::move(its_endpoint)),
      options(its_options),
      fallback(local, options.local_share),
      known(memory, fallback, {options.remember_denials, options.lease_parts}),
      clock(std::move(its_clock)),
      ids(options.random(), options.random()),
      client({endpoint,
              {std::string(check_script()), std::string(reserve_script()), std::string(charge_script()),
               std::string(take_script()), std::string(overrides_script())}},
             {.seed = options.random().k0,
              .silence = options.deadline,
              .read_time =
                  [this](const resp::Value& value) {
                    found_former_state = found_former_state || tells_former_state(value);
                    return decided_at(value);
                  },
              .ring = [this](nanoseconds now) { release_due(*this, now); }}) {}

KeptCheck StoreParts::keep(const store::Check& check) const {
  const std::uint64_t hash = known.hash_of(check.limit->id, check.key);
  KeptCheck kept{.limit = *check.limit,
                 .name = key_in_redis(endpoint.prefix, check),
                 .size = check.key.size(),
                 .hash = hash,
                 .cost = check.cost,
                 .resets = known.resets_of(hash),
                 .shadow = check.shadow,
                 .inside = check.inside};
  if (kept.limit.rule.calendar != nullptr) kept.utc = kept.limit.rule.utc_at(clock());
  kept.limit.name = {};                    // the asker's
  kept.limit.rule.phase = nanoseconds{0};  // windows go by the store's own clock
  kept.limit.rule.utc_clock = nullptr;
  return kept;
}

std::uint16_t StoreParts::slot(std::string_view name) const {
  return endpoint.kind == Endpoint::Kind::cluster ? slot_of(name) : 0;
}

std::string StoreParts::line_of(std::string_view name) const { return line_in_redis(endpoint.prefix, name); }

nanoseconds StoreParts::patience_of(const store::Request& request) const {
  return request.patience.count() != 0 ? request.patience : options.deadline;
}

void StoreParts::wake() {
  const nanoseconds due = merging.next_due();
  const bool sooner = due < client.alarm();
  client.set_alarm(due);
  const std::uint64_t calls = client.counters().calls;
  const std::uint64_t fresh = calls - std::exchange(told_calls, calls);
  if (fresh > 0 || sooner) on_work(fresh);
}

}  // namespace weir::redis
