// Reservations: what is charged for a later moment.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/severity.hpp"
#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/shared_store.hpp"
#include "redis/slot.hpp"
#include "store/form.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

// The checks are well formed. Leases, and what waits to be merged, are passed by.
void SharedStore::reserve(Request& request, nanoseconds now) {
  store::Reservation& asked = *request.reservation;
  asked.id.clear();
  asked.wait = nanoseconds{0};
  auto its = std::make_unique<Reserving>(Reserving{.ticket = Ticket(request),
                                                   .deadline = deadline_of(request, now),
                                                   .max_wait = std::min(asked.max_wait, kLongestWait),
                                                   .hold = std::min(asked.hold, kLongestHold)});
  known_.may_wait(its->max_wait);
  const std::span<Check> checks = request.checks;
  std::array<bool, store::kMostChecks> denied{};
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    if (auto sentence = cannot_reserve(check.limit->rule, endpoint_.format))
      return refuse(request, i, Fault::unsuitable, *std::move(sentence));
    const std::uint64_t hash = hash_of(check.limit->id, check.key);
    KeptCheck kept = keep(check, hash, known_.resets_of(hash));
    const std::uint16_t its_slot = slot_of(kept.name);
    if (i == 0) its->slot = its_slot;
    if (slot(kept.name) != slot(its->checks.empty() ? kept.name : its->checks[0].name))
      return refuse(
          request, i, Fault::unsuitable,
          "the keys of this request lie in different slots of the cluster, and cannot be charged for one "
          "moment: let them share a {hash tag}");
    for (const KeptCheck& other : its->checks) {
      if (other.hash == hash && other.name == kept.name)
        return refuse(request, i, Fault::unsuitable, "two checks of a request have the same limit and key");
    }
    // One that may wait may find a hole, of which a denial tells nothing; and beyond a guarantee nobody here
    // knows the rule.
    const bool is_known = its->max_wait.count() == 0 && its->hold.count() == 0 &&
                          kept.inside == Check::kNoGuarantee && !may_be_never(checks);
    const auto denial = is_known ? known_.recall(kept.limit.rule, hash, kept.cost, now) : std::nullopt;
    denied[i] = denial && !check.shadow;
    if (denied[i]) checks[i].decision = *denial;
    its->lines.push_back(line_of(kept.name));
    its->checks.push_back(std::move(kept));
  }
  const auto denial = [&](std::size_t i) { return denied[i] ? &checks[i].decision : nullptr; };
  const std::size_t by = core::deciding(checks.size(), denial);
  if (denial(by) != nullptr) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    request.source = Source::remembered;
    request.by = static_cast<std::uint8_t>(by);
    asked.wait = checks[by].decision.retry_after.value_or(nanoseconds{-1});
    return finish(request);
  }
  its->id = reservation_id(ids_.next(), its->slot);
  its->record = record_in_redis(endpoint_.prefix, its->id, its->slot);
  its->asked = now;
  const std::uint16_t to = slot(its->checks[0].name);
  its->in_line = client_.busy(to);
  for (KeptCheck& check : its->checks) {
    if (its->in_line) stand_in_line(check.hash);
    known_.leaves(check, check.cost);
  }
  std::string command;
  append_reserve(command, its->asks(), its->words());
  const nanoseconds deadline = its->deadline;
  ask(ReserveCall{std::move(its)}, to, std::move(command), deadline, now);
}

void SharedStore::answered(ReserveCall call, const Client::Result& result, nanoseconds now) {
  Reserving& its = *call.its;
  const std::vector<ReserveAsk> asks = its.asks();
  Cause cause = result.cause;
  std::string error(result.error);
  ReserveAnswer told;
  if (cause == Cause::none) {
    known_.hear_clock(*result.value, its.asked, now);
    auto read = read_reserve(*result.value, asks, its.words());
    if (read) {
      told = *std::move(read);
    } else {
      cause = Cause::other;
      error = std::move(read.error());
    }
  }
  for (std::size_t i = 0; i < its.checks.size(); ++i) {
    const KeptCheck& check = its.checks[i];
    if (its.in_line) leave_line(check.hash);
    // A grant tells what is owed after it; a denial by the rule what a check would have been told.
    const bool tells = cause == Cause::none && (told.granted || told.by_rule);
    const Decision* last = tells ? &(told.granted ? told.decisions : told.at_once)[i] : nullptr;
    Decision copy = last != nullptr ? *last : Decision{};
    if (tells && mend(check, check.limit.rule, check.cost, {&copy, 1}, now)) last = nullptr;
    known_.learn({check.limit.rule, told.granted, last}, check, check.cost, its.asked, now);
  }
  if (cause != Cause::none) {
    // It may have been charged, and nobody is told its id.
    if (cause == Cause::timeout || cause == Cause::connection || cause == Cause::other) give_up(its, now);
    return decide_here(its, cause, error, now);
  }
  counters_.decided.fetch_add(1, std::memory_order_relaxed);
  health_.decided(now);
  Request* const request = its.ticket.take();
  if (request == nullptr) return;  // cancelled
  for (std::size_t i = 0; i < request->checks.size(); ++i) request->checks[i].decision = told.decisions[i];
  request->by = told.by;
  request->charged = told.granted;
  request->reservation->wait = told.wait;
  if (told.has_id) request->reservation->id = its.id;
  finish(*request);
}

void SharedStore::decide_here(Reserving& its, Cause cause, std::string_view error, nanoseconds now) {
  if (cause == Cause::overload && its.ticket.cancelled()) return;  // it never left
  count(cause);
  if (cause != Cause::wrongtype) health_.refused(error, now);
  Request* const request = its.ticket.take();
  if (request == nullptr) return;  // cancelled
  if (cause == Cause::wrongtype) return refuse(*request, 0, Fault::foreign_value, std::string(error));
  counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
  std::vector<Check> checks;
  for (KeptCheck& each : its.checks) {
    Check& made = checks.emplace_back(each.check());
    made.inside = each.inside;
    made.waits_with = each.waits_with;
  }
  store::Reservation& asked = *request->reservation;
  Fallback::Reserved reserved = fallback_.reserve(checks, asked, now);
  if (reserved.fault != Fault::none)
    return refuse(*request, reserved.by, reserved.fault, std::move(reserved.why));
  for (std::size_t i = 0; i < checks.size(); ++i) {
    request->checks[i].decision = checks[i].decision;
    request->checks[i].hash = checks[i].hash;
  }
  request->charged = reserved.charged;
  request->by = reserved.by;
  request->source = Source::fallback;
  request->why = name_of(cause);
  request->charged_at = now;
  finish(*request);
}

// Nobody knows whether it was charged: if it was, it is taken back. The call leaves after it, over the same
// connection or a later one.
void SharedStore::give_up(const Reserving& its, nanoseconds now) {
  auto undoing = std::make_unique<Undoing>(Undoing{.ticket = {},
                                                   .verb = store::Verb::cancel,
                                                   .patience = options_.deadline,
                                                   .slot = its.slot,
                                                   .record = its.record});
  for (const KeptCheck& check : its.checks) {
    // As it was charged, without those that cost nothing.
    if (check.cost.units > 0) undoing->parts.push_back({check.limit.id, check.size, check.name});
  }
  if (!undoing->parts.empty()) send(std::move(undoing), now);
}

}  // namespace weir::redis
