// What is asked of a reservation by its id: it is cancelled, settled at what it turned out to cost, or says
// when it acts by now.
#include <algorithm>

#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/store_calls.hpp"
#include "resp/writer.hpp"
#include "store/settlement.hpp"
#include "store/verb_traits.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Request;

namespace {

static_assert(std::count_if(store::kVerbTraits.begin(), store::kVerbTraits.end(),
                            [](const store::VerbTraits& each) { return each.by_id; }) == 4,
              "each verb by an id has its command and its answer here");

// First it asks what the reservation's keys are, as they have to be named beforehand; then the script.
class UndoCall final : public StoreCall {
 public:
  struct What {
    store::Verb verb;
    nanoseconds patience;             // for each of the two
    std::string record;               // its name
    store::ReservationTerms asked{};  // of a settlement what it says that each limit cost, of extend the hold
    std::vector<RecordPart> parts{};
    bool knows_parts = false;
  };
  UndoCall(StoreParts& in, Ticket ticket, What what)
      : StoreCall(in), ticket_(std::move(ticket)), its_(std::move(what)) {}

  void send(std::unique_ptr<Call> self, nanoseconds now) {
    forget_denials();
    in_.client.call(std::move(self), in_.slot(its_.record), its_.knows_parts ? command() : ask_for_record(),
                    now + its_.patience, now, Rank::kept);
  }

 private:
  void heard(std::unique_ptr<Call> self, const Result& result, nanoseconds now) override {
    // What was asked meanwhile may have been denied for what is no longer owed; of a call that was not
    // answered nobody knows.
    forget_denials();
    if (result.cause != Cause::none) return fail(result.cause, result.error);
    if (!its_.knows_parts) {
      auto record =
          result.value->type == resp::Value::Type::string ? read_record(result.value->text) : std::nullopt;
      if (record) {
        take_parts(*std::move(record));
        return send(std::move(self), now);
      }
      // As the embedded store says it of one that is not there.
      return finish_with([this](Request& request) {
        request.reservation->given_back = 0;
        request.reservation->wait = nanoseconds{its_.verb == store::Verb::extend ? 0 : -1};
      });
    }
    switch (its_.verb) {
      case store::Verb::moment:
      case store::Verb::extend:
        return told_moment(*result.value);
      case store::Verb::cancel:
        cancelled(*result.value);
        break;
      case store::Verb::settle:
        settled(*result.value);
        break;
      default:
        break;
    }
    for (const RecordPart& part : its_.parts) in_.options.owed_changed(hash_of(part));
  }

  std::string ask_for_record() const {
    std::string command;
    resp::Writer to(command);
    to.array(2);
    to.bulk("GET");
    to.bulk(its_.record);
    return command;
  }

  std::string command() const {
    std::string command;
    switch (its_.verb) {
      case store::Verb::moment:
        append_moment(command, in_.endpoint.prefix, its_.record, its_.parts);
        break;
      case store::Verb::extend:
        append_extend(command, in_.endpoint.prefix, its_.record, its_.parts,
                      std::min(its_.asked.hold, kLongestHold));
        break;
      case store::Verb::cancel:
        append_cancel(command, in_.endpoint.prefix, its_.record, its_.parts);
        break;
      case store::Verb::settle:
        append_settle(command, in_.endpoint.prefix, its_.record, its_.parts, why_.empty(),
                      its_.asked.overdraft);
        break;
      default:
        break;
    }
    return command;
  }

  // What the record says of them; of a settlement what each cost, or why nothing of it can be settled.
  void take_parts(ReservationRecord record) {
    its_.parts = std::move(record.parts);
    its_.knows_parts = true;
    if (its_.verb != store::Verb::settle || its_.parts.empty()) return;
    if (!record.is_held) {
      why_ = store::without_hold();
      return;
    }
    std::vector<store::SettledCharge> charges;
    for (const RecordPart& part : its_.parts)
      charges.push_back({part.limit_id, part.units, part.settles, part.by_actual});
    why_ = store::settle_each(its_.asked, charges).value_or("");
    for (std::size_t i = 0; i < charges.size(); ++i) its_.parts[i].cost = charges[i].cost;
  }

  void cancelled(const resp::Value& value) {
    const auto units = read_cancel(value);
    if (!units) return fail(Cause::other, units.error());
    finish_with([&](Request& request) {
      request.reservation->given_back = *units;
      if (*units == 0 || !request.reservation->tells_changes) return;
      for (const RecordPart& part : its_.parts)
        request.reservation->changes.push_back(changed(part, -static_cast<std::int64_t>(part.units)));
    });
  }

  void told_moment(const resp::Value& value) {
    const auto wait = read_moment(value);
    if (!wait) return fail(Cause::other, wait.error());
    finish_with([&](Request& request) { request.reservation->wait = *wait; });
  }

  void settled(const resp::Value& value) {
    const auto told = read_settle(value);
    if (!told) return fail(Cause::other, told.error());
    finish_with([&](Request& request) {
      request.reservation->wait = why_.empty() ? told->wait : nanoseconds{-1};
      request.reservation->dropped = told->dropped;
      if (request.reservation->tells_changes && told->wait.count() >= 0 && why_.empty()) {
        for (const RecordPart& part : its_.parts)
          request.reservation->changes.push_back(
              changed(part, static_cast<std::int64_t>(part.cost) - static_cast<std::int64_t>(part.units)));
      }
      if (told->wait.count() < 0 || why_.empty()) return;
      request.fault = Fault::unsuitable;
      request.why = std::move(why_);
    });
  }

  static store::ChangedCharge changed(const RecordPart& part, std::int64_t units) {
    return {part.limit_id, 0, part.name.substr(part.name.size() - part.key_size), units};
  }

  void fail(Cause cause, std::string_view error) {
    in_.tally.failed(cause);
    finish_with([&](Request& request) {
      request.reservation->given_back = 0;
      request.reservation->wait = nanoseconds{-1};
      request.fault = cause == Cause::wrongtype ? Fault::foreign_value : Fault::store_down;
      request.why = error;
    });
  }

  template <class Fill>
  void finish_with(const Fill& fill) {
    Request* const request = ticket_.take();
    if (request == nullptr) return;  // cancelled
    fill(*request);
    finish(*request);
  }

  void forget_denials() {
    if (its_.verb == store::Verb::moment) return;  // it changes nothing
    for (const RecordPart& part : its_.parts) in_.known.forget_denial(hash_of(part));
  }
  std::uint64_t hash_of(const RecordPart& part) const {
    return in_.known.hash_of(part.limit_id,
                             std::string_view(part.name).substr(part.name.size() - part.key_size));
  }

  Ticket ticket_;  // nobody's: that of a reservation whose answer did not come
  What its_;
  std::string why_;  // a settlement is refused, if the reservation is there still
};

}  // namespace

void undo(StoreParts& in, Request& request, nanoseconds now) {
  const store::ReservationTerms& asked = *request.reservation;
  const auto slot = slot_of_reservation(asked.id);
  if (!slot) {
    // One of the fallback's, or nobody's.
    in.fallback.undo(request, now);
    return finish(request);
  }
  auto call = std::make_unique<UndoCall>(
      in, Ticket(request),
      UndoCall::What{.verb = request.verb,
                     .patience = in.patience_of(request),
                     .record = record_in_redis(in.endpoint.prefix, asked.id, *slot),
                     .asked = {.hold = asked.hold,
                               .actual = asked.actual,
                               .actuals = asked.actuals,
                               .overdraft = asked.overdraft}});
  call->send(std::move(call), now);
}

void take_back(StoreParts& in, std::string record, std::span<const KeptCheck> checks, bool is_held,
               nanoseconds now) {
  UndoCall::What what{
      .verb = store::Verb::cancel, .patience = in.options.deadline, .record = record, .knows_parts = true};
  for (const KeptCheck& check : checks) {
    // As it was charged, without those that cost nothing.
    if (check.cost.units > 0) what.parts.push_back({check.limit.id, check.size, check.name});
  }
  if (what.parts.empty()) return;
  auto call = std::make_unique<UndoCall>(in, Ticket(), std::move(what));
  call->send(std::move(call), now);
  if (!is_held) return;
  // What acts already is not cancelled. One that was has no record any more.
  auto settles = std::make_unique<UndoCall>(in, Ticket(),
                                            UndoCall::What{.verb = store::Verb::settle,
                                                           .patience = in.options.deadline,
                                                           .record = std::move(record),
                                                           .asked = {.actual = 0}});
  settles->send(std::move(settles), now);
}

}  // namespace weir::redis
