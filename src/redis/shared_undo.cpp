// What ends a reservation: it is cancelled, or settled at what it turned out to cost.
#include <utility>
#include <vector>

#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/shared_store.hpp"
#include "resp/writer.hpp"
#include "store/settlement.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Request;

namespace {

// As the embedded store says it of one that is not there.
void answer_none(Request& request) {
  request.reservation->given_back = 0;
  request.reservation->wait = nanoseconds{-1};
  finish(request);
}

// What the record says of them; of a settlement what each cost, or why nothing of it can be settled.
void take_parts(Undoing& its, Record record) {
  its.parts = std::move(record.parts);
  if (its.verb != store::Verb::settle || its.parts.empty()) return;
  if (!record.is_held) {
    its.why = store::without_hold();
    return;
  }
  std::vector<store::Settled> charges;
  for (const RecordPart& part : its.parts)
    charges.push_back({part.limit_id, part.units, part.burst, part.settles, part.by_actual});
  its.why = store::settle_each(its.asked, charges).value_or("");
  for (std::size_t i = 0; i < charges.size(); ++i) its.parts[i].cost = charges[i].cost;
}

}  // namespace

void SharedStore::undo(Request& request, nanoseconds now) {
  const std::string& id = request.reservation->id;
  const auto slot = slot_of_reservation(id);
  if (!slot) {
    // One of the fallback's, or nobody's.
    fallback_.undo(request, now);
    return finish(request);
  }
  send(std::make_unique<Undoing>(Undoing{
           .ticket = Ticket(request),
           .verb = request.verb,
           .patience = deadline_of(request, nanoseconds{0}),
           .slot = *slot,
           .record = record_in_redis(endpoint_.prefix, id, *slot),
           .asked = {.actual = request.reservation->actual, .actuals = request.reservation->actuals}}),
       now);
}

void SharedStore::forget_denials(const Undoing& undoing) {
  for (const RecordPart& part : undoing.parts)
    known_.forget_denial(
        hash_of(part.limit_id, std::string_view(part.name).substr(part.name.size() - part.key_size)));
}

// First what its keys are, as they have to be named beforehand; then the script.
void SharedStore::send(std::unique_ptr<Undoing> undoing, nanoseconds now) {
  std::string command;
  if (undoing->parts.empty()) {
    resp::Writer to(command);
    to.array(2);
    to.bulk("GET");
    to.bulk(undoing->record);
  } else if (undoing->verb == store::Verb::cancel) {
    append_cancel(command, endpoint_.prefix, undoing->record, undoing->parts);
  } else {
    append_settle(command, endpoint_.prefix, undoing->record, undoing->parts, undoing->why.empty());
  }
  forget_denials(*undoing);
  const std::uint16_t to = slot(undoing->record);
  const nanoseconds deadline = now + undoing->patience;
  ask(UndoCall{std::move(undoing)}, to, std::move(command), deadline, now, Rank::kept);
}

void SharedStore::fail(Undoing& undoing, Cause cause, std::string_view error) {
  count(cause);
  Request* const request = undoing.ticket.take();
  if (request == nullptr) return;
  request->reservation->given_back = 0;
  request->reservation->wait = nanoseconds{-1};
  refuse(*request, 0, cause == Cause::wrongtype ? Fault::foreign_value : Fault::store_down,
         std::string(error));
}

void SharedStore::answered(UndoCall call, const Client::Result& result, nanoseconds now) {
  Undoing& its = *call.its;
  // What was asked meanwhile may have been denied for what is no longer owed; of a call that was not answered
  // nobody knows.
  forget_denials(its);
  if (result.cause != Cause::none) return fail(its, result.cause, result.error);
  if (its.parts.empty()) {
    if (result.value->type == resp::Value::Type::string) take_parts(its, read_record(result.value->text));
    if (!its.parts.empty()) return send(std::move(call.its), now);
    Request* const request = its.ticket.take();
    return request != nullptr ? answer_none(*request) : void();
  }
  if (its.verb == store::Verb::cancel) {
    const auto units = read_cancel(*result.value);
    if (!units) return fail(its, Cause::other, units.error());
    Request* const request = its.ticket.take();
    if (request == nullptr) return;
    request->reservation->given_back = *units;
    return finish(*request);
  }
  const auto settled = read_settle(*result.value);
  if (!settled) return fail(its, Cause::other, settled.error());
  Request* const request = its.ticket.take();
  if (request == nullptr) return;
  request->reservation->wait = its.why.empty() ? *settled : nanoseconds{-1};
  if (settled->count() >= 0 && !its.why.empty())
    return refuse(*request, 0, Fault::unsuitable, std::move(its.why));
  finish(*request);
}

}  // namespace weir::redis
