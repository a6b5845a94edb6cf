#include "store/embedded_store.hpp"

#include <new>
#include <string>

#include "core/reservation.hpp"
#include "store/charging.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::store {
namespace {

// As many keys as a first-level cache keeps until they are decided.
constexpr std::size_t kAhead = 64;

// Why the table does not decide such checks.
std::string why_not(std::span<const Check> checks) {
  if (auto sentence = malformed(checks)) return *std::move(sentence);
  if (auto sentence = needs_hold(checks)) return *std::move(sentence);
  for (const Check& check : checks) {
    if (!core::kept_in_two_words(check.limit->rule.algorithm)) {
      return core::name_of(check.limit->rule.algorithm) + " cannot be counted by the table of this process";
    }
  }
  return "two checks of a request have the same limit and key";
}

bool is_for_the_table(std::span<const Check> checks, bool with_slots = false, bool may_repeat = false) {
  if (checks.empty() || checks.size() > kMostChecks) return false;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Algorithm algorithm = checks[i].limit->rule.algorithm;
    if (!core::kept_in_two_words(algorithm) && !(with_slots && core::counts_slots(algorithm))) return false;
    if (!is_inside_well(checks, i)) return false;
    for (std::size_t j = 0; j < i && !may_repeat; ++j) {
      // Different keys may have one hash, very rarely: those are charged one after the other.
      if (checks[i].hash == checks[j].hash && checks[i].key == checks[j].key) return false;
    }
  }
  return true;
}

// Why a request cannot be reserved; nothing when it can.
std::optional<std::string> why_not_reserved(const Request& request) {
  const bool is_plain = request.checks.size() == 1 && request.checks[0].is_plain();
  if (!is_plain && !is_for_the_table(request.checks, true)) return why_not(request.checks);
  for (const Check& check : request.checks) {
    const Algorithm algorithm = check.limit->rule.algorithm;
    if (!can_be_reserved(algorithm)) return cannot_be_reserved(algorithm);
  }
  if (request.reservation->hold.count() == 0 && takes_slots(request.checks))
    return needs_hold(request.checks);
  return std::nullopt;
}

}  // namespace

// Twice over the batch: the memory of the next keys is on its way before the first is decided.
void EmbeddedStore::submit(std::span<Request* const> batch, Arrival when) {
  for (std::size_t located = 0, answered = 0; answered < batch.size();) {
    for (std::size_t keys = 0; located < batch.size() && keys < kAhead; ++located) {
      locate(*batch[located]);
      keys += batch[located]->checks.size();
    }
    for (; answered < located; ++answered) answer(*batch[answered], when);
  }
}

void EmbeddedStore::locate(Request& request) const {
  for (Check& check : request.checks) {
    check.hash = table_.hash(check.key, check.limit->rule.algorithm, check.limit->id);
    table_.prefetch(Table::place_of(check.hash));
  }
}

void EmbeddedStore::answer(Request& request, Arrival when) {
  request.state = Request::State::answered;
  request.charged = false;
  request.by = 0;
  request.source = Source::store;
  request.fault = Fault::none;
  request.charged_at = when.arrived;
  if (request.verb != Verb::check) [[unlikely]] {
    switch (request.verb) {
      case Verb::check:
      case Verb::look:
        return check_all(request, when);
      case Verb::reset:
        return reset(request, when);
      case Verb::charge:
        return charge(request, when);
      case Verb::take:
        return take(request, when);
      case Verb::reserve:
        return reserve(request, when);
      case Verb::moment:
        return reservations_.moment(request, when.now);
      case Verb::cancel:
        return reservations_.cancel(request, when.now);
      case Verb::settle:
        return reservations_.settle(request, when.now);
      case Verb::extend:
        return reservations_.extend(request, when.now);
      case Verb::holds:
        return reservations_.holds(request, when.now);
      case Verb::acquire:
        return refuse(request, "nobody waits in a table");
    }
  }
  if (request.checks.size() != 1) return check_all(request, when);
  Check& check = request.checks[0];
  const Limit& limit = *check.limit;
  if (!core::kept_in_two_words(limit.rule.algorithm) || !check.is_plain()) [[unlikely]]
    return check_all(request, when);
  // Built in its place: an assignment would copy it (core::StepOf).
  new (&check.decision)
      Decision(table_.check(Table::place_of(check.hash), limit, check.cost, when.arrived, when.now));
  request.charged = check.decision.allowed();
  if (!request.charged && limit.penalty) [[unlikely]]
    reservations_.penalise(request, when.now);
}

void EmbeddedStore::check_all(Request& request, Arrival when) {
  const std::span<Check> checks = request.checks;
  if (!is_for_the_table(checks)) [[unlikely]] {
    if (request.verb == Verb::look && has_slots(checks) && is_for_the_table(checks, true))
      return reservations_.look(request, when.now);
    return refuse(request, why_not(checks));
  }
  if (request.verb == Verb::look) {
    table_.look_all(checks, when.now);
  } else {
    request.charged = table_.check_all(checks, when.arrived, when.now);
  }
  request.by = deciding(checks);
  if (!request.allowed()) reservations_.penalise(request, when.now);
}

void EmbeddedStore::reset(Request& request, Arrival when) {
  request.forgotten = 0;
  for (const Check& check : request.checks) {
    bool any = reservations_.reset(check.hash, when.now);
    // A key alone does not say what it is counted by.
    if (check.limit->id == 0 && core::has_burst(check.limit->rule.algorithm)) {
      for (const core::Traits& other : core::kTraits)
        if (!other.drains)
          any = reservations_.reset(table_.hash(check.key, other.algorithm, 0), when.now) || any;
    }
    request.forgotten += any ? 1 : 0;
  }
}

void EmbeddedStore::reserve(Request& request, Arrival when) {
  const bool is_one_rate = request.checks.size() == 1 && request.checks[0].is_plain() &&
                           core::can_reserve(request.checks[0].limit->rule.algorithm);
  if (is_one_rate) {
    reservations_.reserve_rates(request, when);
  } else {
    if (auto why = why_not_reserved(request)) return refuse(request, *std::move(why));
    reservations_.reserve(request, when);
  }
  if (!request.allowed()) reservations_.penalise(request, when.now);
}

void EmbeddedStore::charge(Request& request, Arrival when) {
  Check& first = request.checks[0];
  const core::Rule& rule = first.limit->rule;
  ChargeTerms& terms = *request.charge;
  if (request.checks.size() == 1 && first.is_plain() && core::can_overdraw(rule.algorithm) &&
      terms.outside.form != Outside::Form::pause && terms.outside.form != Outside::Form::refund &&
      !terms.others_free) {
    const auto told =
        table_.charge_in_place(Table::place_of(first.hash), rule, outside_of(terms, first), when.now);
    if (told) {
      terms.told = *told;
      if (terms.decides) first.decision = decision_of(terms.told, rule, outside_of(terms, first));
      request.charged = true;
      return;
    }
  }
  if (!is_for_the_table(request.checks, false, terms.others_free.has_value()))
    return refuse(request, why_not(request.checks));
  if (auto why = cannot_charge(request.checks, terms)) return refuse(request, *std::move(why));
  if (pauses(terms.outside)) return reservations_.pause(request, when.now);
  if (terms.outside.form == Outside::Form::refund) return reservations_.refund(request, when.now);
  Charging charging{terms};
  table_.charge_all(request.checks, when.now, charging);
  charging.tell(request);
}

void EmbeddedStore::take(Request& request, Arrival when) {
  if (!is_for_the_table(request.checks)) return refuse(request, why_not(request.checks));
  request.charged = table_.take_all(request.checks, when.arrived, when.now, *request.take);
  request.by = deciding(request.checks);
  if (!request.allowed()) reservations_.penalise(request, when.now);
}

void EmbeddedStore::give_back(const Request& charged, std::chrono::nanoseconds now) {
  if (!charged.charged) return;
  for (const Check& check : charged.checks) {
    if (core::can_give_back(check.limit->rule.algorithm) && check.decision.allowed())
      reservations_.give_back(check, charged.charged_at, now);
  }
}

}  // namespace weir::store
