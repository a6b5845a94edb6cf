#include "redis/shared_store.hpp"

#include <string_view>

#include "core/rule.hpp"
#include "redis/script.hpp"
#include "redis/store_calls.hpp"
#include "store/check_rules.hpp"
#include "store/verb_traits.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;
using store::Verb;

SharedStore::SharedStore(Endpoint endpoint, Options options, store::EmbeddedStore& local,
                         ProcessMemory& memory, core::ClockFunction clock)
    : parts_(std::move(endpoint), options, local, memory, std::move(clock)) {}

void SharedStore::note_state() {
  Health& health = parts_.tally.health;
  StoreCounters& counters = parts_.tally.counters;
  const Client& its = parts_.client;
  health.look(its.ready(), its.has_failed() ? std::string_view(its.last_error()) : "", parts_.clock());
  const Nodes::Load load = its.load();
  counters.under_way.store(load.under_way, std::memory_order_relaxed);
  counters.waiting.store(load.waiting, std::memory_order_relaxed);
  counters.ready.store(health.view().state == Health::State::ready, std::memory_order_relaxed);
}

void SharedStore::submit(std::span<Request* const> batch, store::Arrival when) {
  for (Request* const each : batch) {
    Request& request = *each;
    request.state = Request::State::idle;
    request.charged = false;
    request.by = 0;
    request.source = Source::store;
    request.fault = Fault::none;
    request.forgotten = 0;
    request.why.clear();
    begin(request, when.now);
    if (request.state != Request::State::answered) request.state = Request::State::submitted;
  }
  parts_.wake();
}

namespace {

class AskedCall final : public Call {
 public:
  explicit AskedCall(std::function<void(const Result&)> told) : told_(std::move(told)) {}
  void answered(std::unique_ptr<Call>, const Result& result) override { told_(result); }

 private:
  std::function<void(const Result&)> told_;
};

}  // namespace

void SharedStore::ask(std::string_view key, std::string command, nanoseconds patience,
                      std::function<void(const Call::Result&)> told) {
  const nanoseconds now = parts_.clock();
  parts_.client.call(std::make_unique<AskedCall>(std::move(told)), parts_.slot(key), std::move(command),
                     now + patience, now, Rank::kept);
  parts_.wake();
}

void SharedStore::begin(Request& request, nanoseconds now) {
  if (request.verb == Verb::reset) return reset(parts_, request, now);
  if (request.verb == Verb::holds) return holds(parts_, request, now);
  if (store::is_by_id(request.verb)) return undo(parts_, request, now);
  if (request.verb == Verb::acquire)
    return refuse(request, 0, Fault::unsuitable, "nobody waits in a shared store");
  const std::span<Check> checks = request.checks;
  if (auto sentence = store::malformed(checks))
    return refuse(request, 0, Fault::unsuitable, *std::move(sentence));
  for (std::size_t i = 0; i < checks.size(); ++i) {
    checks[i].decision = {};
    checks[i].hash = 0;
    if (auto sentence = unsuitable(checks[i].limit->rule))
      return refuse(request, i, Fault::unsuitable, *std::move(sentence));
  }
  const bool has_slots = store::has_slots(checks);
  if (has_slots && request.verb != Verb::look &&
      (request.verb != Verb::reserve ||
       (store::takes_slots(checks) && request.reservation->hold.count() == 0)) &&
      request.verb != Verb::charge)
    return refuse(request, 0, Fault::unsuitable, *store::needs_hold(checks));
  if (request.verb == Verb::reserve || (has_slots && request.verb == Verb::look))
    return reserve(parts_, request, now);
  if (request.verb == Verb::charge) return charge(parts_, request, now);
  if (request.verb == Verb::take) return take(parts_, request, now);
  const bool is_alone = checks.size() == 1 && request.verb == Verb::check;
  return is_alone ? check_one(parts_, request, now) : check_jointly(parts_, request, now);
}

void SharedStore::give_back(const Request& charged, nanoseconds now) {
  if (!charged.charged) return;
  if (charged.source == Source::fallback)
    return parts_.fallback.give_back(charged.checks, charged.charged_at, now);
  for (const Check& check : charged.checks) {
    if (check.hash != 0 || !check.decision.allowed()) continue;  // the fallback's, a shadow's denial
    if (check.cost.units == 0 || !core::can_give_back(check.limit->rule.algorithm)) continue;
    redis::give_back(parts_, parts_.keep(check), charged.charged_at, now);
  }
  parts_.wake();
}

void SharedStore::call(std::unique_ptr<Call> call, std::string_view key, std::string command,
                       nanoseconds patience) {
  const nanoseconds now = parts_.clock();
  parts_.client.call(std::move(call), parts_.slot(key), std::move(command), now + patience, now, Rank::kept);
  parts_.wake();
}

bool SharedStore::end_leases(bool all) {
  const nanoseconds now = parts_.clock();
  for (const auto& [hash, lease] : parts_.known.end_leases(now, all))
    redis::give_back(parts_, hash, lease, now);
  parts_.wake();
  return parts_.known.has_leases();
}

}  // namespace weir::redis
