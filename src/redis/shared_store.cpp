#include "redis/shared_store.hpp"

#include <algorithm>

#include "core/rule.hpp"
#include "core/severity.hpp"
#include "redis/script.hpp"
#include "resp/writer.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;
using store::Check;
using store::Limit;
using store::Request;

// Inside submit() the asker looks at the state; after it, the asker is called.
void finish(Request& request) {
  const bool later = request.state == Request::State::submitted;
  request.state = Request::State::answered;
  if (later) request.on_answer(request);
}

void refuse(Request& request, std::size_t by, Fault fault, std::string why) {
  request.by = static_cast<std::uint8_t>(by);
  request.fault = fault;
  request.why = std::move(why);
  finish(request);
}

// Leases are GCRA's, and for those who spend.
bool wants_lease(const Limit& limit, Cost cost) {
  return limit.sharing.lease > 1 && core::can_give_back(limit.rule.algorithm) && cost.units > 0 &&
         cost.units <= static_cast<std::uint64_t>(limit.rule.quota.burst());
}

std::uint64_t units_to_lease(const Limit& limit, Cost cost) {
  return std::min(std::max(limit.sharing.lease, cost.units),
                  static_cast<std::uint64_t>(limit.rule.quota.burst()));
}

}  // namespace

SharedStore::SharedStore(Endpoint endpoint, Options options, store::EmbeddedStore& local,
                         ProcessMemory& memory, core::Clock clock)
    : endpoint_(std::move(endpoint)),
      options_(options),
      fallback_(local, options.local_share),
      memory_(memory),
      clock_(std::move(clock)),
      client_(
          endpoint_, std::string(check_script()), store::Table::random_seed().k0,
          [this](std::uint64_t tag, const Client::Result& result) { answered(tag, result); },
          options.deadline) {
  client_.ask_before_sending([this](std::uint64_t tag) { return wanted(tag); });
  client_.on_alarm([this](nanoseconds now) {
    alarm_at_ = nanoseconds::max();
    while (const auto key = merging_.take_due(now)) release(*key, std::nullopt, now);
    set_alarm();
    wake();
  });
}

void SharedStore::note_state() {
  health_.look(client_.ready(), client_.has_failed() ? std::string_view(client_.last_error()) : "", clock_());
  const Client::Load load = client_.load();
  counters_.under_way.store(load.under_way, std::memory_order_relaxed);
  counters_.waiting.store(load.waiting, std::memory_order_relaxed);
  counters_.ready.store(health_.view().state == Health::State::ready, std::memory_order_relaxed);
}

void SharedStore::submit(std::span<Request* const> batch, store::Moment when) {
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
  wake();
}

void SharedStore::begin(Request& request, nanoseconds now) {
  if (request.verb == store::Verb::reset) return reset(request, now);
  const std::span<Check> checks = request.checks;
  if (checks.empty() || checks.size() > store::kMostChecks) {
    return refuse(request, 0, Fault::unsuitable,
                  "a request has 1 to " + std::to_string(store::kMostChecks) + " checks, not " +
                      std::to_string(checks.size()));
  }
  for (std::size_t i = 0; i < checks.size(); ++i) {
    checks[i].decision = {};
    checks[i].hash = 0;
    if (auto sentence = unsuitable(checks[i].limit->rule, endpoint_.format))
      return refuse(request, i, Fault::unsuitable, *std::move(sentence));
  }
  return checks.size() == 1 ? check_one(request, now) : check_jointly(request, now);
}

// -------------------------------------------------------------------------------------------- one check

namespace {

void tell(Request* request, const Decision& decision, Source source, Fault fault, std::string_view why,
          nanoseconds charged_at, std::uint64_t local) {
  if (request == nullptr) return;  // cancelled
  Check& check = request->checks[0];
  check.decision = decision;
  check.hash = local;
  request->charged = fault == Fault::none && decision.allowed();
  request->source = source;
  request->fault = fault;
  request->why = why;
  request->charged_at = charged_at;
  finish(*request);
}

}  // namespace

void SharedStore::check_one(Request& request, nanoseconds now) {
  const Check& check = request.checks[0];
  const Limit& limit = *check.limit;
  const std::uint64_t hash = hash_of(limit.id, check.key);
  const std::uint32_t resets = memory_.resets.of(hash).load();
  const bool leases = wants_lease(limit, check.cost);
  if (const auto known = without_asking(limit.rule, hash, check.cost, resets, leases, now))
    return tell(&request, known->decision, known->source, Fault::none, {}, known->charged_at, 0);

  KeyCall call{.check = {keep(check, hash, resets), Ticket(request), deadline_of(request, now), leases}};
  if ((leases || limit.sharing.merge) && core::kept_in_two_words(limit.rule.algorithm)) {
    if (merging_.has(hash)) return wait(std::move(call.check), now);
    call.turn = merging_.begin(hash);
    if (leases) {
      // What is refused as a lease is asked for again without, which needs the time for it.
      const nanoseconds left = call.check.deadline - now;
      if (2 * client_.needed(slot(call.check.name), left, now) <= left) {
        call.lease = units_to_lease(limit, check.cost);
      } else {
        const nanoseconds deadline = call.check.deadline;
        send(std::move(call), now);
        return ask_ahead(check, hash, resets, deadline, now);
      }
    }
  }
  send(std::move(call), now);
}

// For a lease alone, for those that come later.
void SharedStore::ask_ahead(const Check& check, std::uint64_t hash, std::uint32_t resets,
                            nanoseconds deadline, nanoseconds now) {
  KeyCall call{.check = {keep(check, hash, resets), Ticket(), deadline, true}};
  call.lease = units_to_lease(*check.limit, check.cost);
  call.ahead = true;
  send(std::move(call), now);
}

// For the call of its key that is under way; only as long as it may still be answered in time if it leaves
// without, with a quarter of the time that is left beside that to spare.
void SharedStore::wait(KeyCheck check, nanoseconds now) {
  const nanoseconds left = check.deadline - now;
  const nanoseconds spare = left - client_.needed(slot(check.name), left, now);
  merging_.wait(std::move(check), now + std::max(nanoseconds{0}, spare * 3 / 4));
  set_alarm();
}

void SharedStore::set_alarm() {
  const nanoseconds at = merging_.next_due();
  if (at == alarm_at_) return;
  alarm_changed_ = alarm_changed_ || at < alarm_at_;
  alarm_at_ = at;
  client_.set_alarm(at);
}

void SharedStore::answered(KeyCall call, const Client::Result& result, nanoseconds now) {
  if (call.in_line) {
    const auto line = in_line_.find(call.check.hash);
    if (--line->second == 0) in_line_.erase(line);
  }
  const Cost cost = call.cost();
  const Ask ask{&call.check.limit.rule, call.check.name, cost, endpoint_.format};
  Cause cause = result.cause;
  Decision one;
  std::vector<Decision> several(call.more.empty() ? 0 : 1 + call.more.size());
  const std::span<Decision> decisions = call.more.empty() ? std::span(&one, 1) : std::span(several);
  std::string unreadable;
  if (cause == Cause::none) {
    const auto note = [&](auto read) {
      if (read) return;
      cause = Cause::other;
      unreadable = std::move(read.error());
    };
    call.more.empty() ? note(read_check(*result.value, {&ask, 1}, decisions))
                      : note(read_times(*result.value, ask, decisions));
  }
  const bool charged = cause == Cause::none && decisions[0].allowed();
  learn(cause == Cause::none ? Answered{charged, &decisions.back()} : Answered{}, call.check, cost, call.at,
        now);
  const std::uint64_t hash = call.check.hash;
  if (call.ahead) {
    if (cause == Cause::none && decisions[0].allowed())
      grant_lease(call, decided_at(*result.value).value_or(nanoseconds{0}), now);
    return;
  }
  if (cause == Cause::none && decisions[0].verdict == Verdict::denied && cost.units > call.check.cost.units) {
    // Not as much as a lease; perhaps what is needed. It came before those that wait.
    call.check.may_lease = false;
    return release(hash, std::move(call.check), now);
  }
  Answer answer{.why = unreadable.empty() ? result.error : unreadable};
  if (cause == Cause::none) answer.charged_at = decided_at(*result.value).value_or(nanoseconds{0});
  if (cause == Cause::none && call.lease != 0 && decisions[0].allowed()) {
    grant_lease(call, answer.charged_at, now);
    decisions[0].remaining += static_cast<std::int64_t>(call.lease - call.check.cost.units);
  }
  if (cause == Cause::none) counters_.merged.fetch_add(call.more.size(), std::memory_order_relaxed);
  answer.decision = decisions[0];
  conclude(std::move(call.check), cause, answer, now);
  for (std::size_t i = 0; i < call.more.size(); ++i) {
    answer.decision = decisions[i + 1];
    conclude(std::move(call.more[i]), cause, answer, now);
  }
  if (merging_.waits_for(hash, call.turn)) release(hash, std::nullopt, now);
}

void SharedStore::conclude(KeyCheck check, Cause cause, const Answer& answer, nanoseconds now) {
  if (cause == Cause::none) {
    counters_.decided.fetch_add(1, std::memory_order_relaxed);
    health_.decided(now);
    return tell(check.ticket.take(), answer.decision, Source::store, Fault::none, {}, answer.charged_at, 0);
  }
  if (cause == Cause::overload && check.ticket.cancelled()) return;  // it never left
  count(cause);
  if (cause == Cause::wrongtype)
    return tell(check.ticket.take(), {}, Source::store, Fault::foreign_value, answer.why, {}, 0);
  health_.refused(answer.why, now);
  if (check.ticket.cancelled()) return;
  counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
  Check counted = check.check();
  if (const auto decided = Fallback::uncounted(check.limit, check.cost)) {
    counted.decision = *decided;
  } else {
    fallback_.count({&counted, 1}, now);
  }
  tell(check.ticket.take(), counted.decision, Source::fallback, Fault::none, name_of(cause), now,
       counted.hash);
}

// Those that waited for a call of their key: what its answer does not settle leaves now, in the order in
// which it came, and those that come from now on wait for the last.
void SharedStore::release(std::uint64_t hash, std::optional<KeyCheck> foremost, nanoseconds now) {
  std::vector<KeyCheck> waited = merging_.end(hash);
  if (foremost) waited.insert(waited.begin(), *std::move(foremost));
  struct Settled {
    Ticket ticket;
    Answer answer;
  };
  std::vector<Settled> settled;
  std::vector<KeyCheck> open;
  const std::uint32_t resets = memory_.resets.of(hash).load();
  for (KeyCheck& check : waited) {
    if (check.ticket.cancelled()) continue;
    check.resets = resets;
    if (const auto known = without_asking(check.limit.rule, hash, check.cost, resets, check.may_lease, now)) {
      settled.push_back({std::move(check.ticket), *known});
    } else {
      open.push_back(std::move(check));
    }
  }
  std::vector<KeyCall> calls = calls_of(std::move(open));
  if (!calls.empty()) calls.back().turn = merging_.begin(hash);
  for (KeyCall& call : calls) send(std::move(call), now);
  for (Settled& each : settled) {
    tell(each.ticket.take(), each.answer.decision, each.answer.source, Fault::none, {},
         each.answer.charged_at, 0);
  }
}

// ---------------------------------------------------------------------------------- what is known already

bool SharedStore::remembers(const core::Rule& rule) const {
  return options_.remember_denials && core::can_remember_denials(rule.algorithm);
}

std::optional<Decision> SharedStore::recall(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                            nanoseconds now) const {
  if (!remembers(rule)) return std::nullopt;
  return memory_.denials.recall(hash, rule.quota, cost, now);
}

// What a former answer still says.
std::optional<SharedStore::Answer> SharedStore::without_asking(const core::Rule& rule, std::uint64_t hash,
                                                               Cost cost, std::uint32_t resets,
                                                               bool may_lease, nanoseconds now) {
  if (const auto denial = recall(rule, hash, cost, now)) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    return Answer{.decision = *denial, .source = Source::remembered};
  }
  if (!may_lease) return std::nullopt;
  const auto allowance = leases_.spend(hash, rule.quota, cost, now, resets);
  if (!allowance) return std::nullopt;
  counters_.leased.fetch_add(1, std::memory_order_relaxed);
  return Answer{
      .decision = allowance->decision, .source = Source::leased, .charged_at = allowance->charged_at};
}

namespace {

bool can_charge(const KeptCheck& check, Cost cost) {
  return cost.units > 0 && cost.units <= static_cast<std::uint64_t>(check.limit.rule.quota.burst());
}

}  // namespace

// A check goes to the store. One that cannot charge changes nothing that a denial under way could say.
void SharedStore::leaves(KeptCheck& check, Cost cost) {
  if (!can_charge(check, cost) || !remembers(check.limit.rule)) return;
  check.stamp = memory_.denials.ask(check.hash, check.limit.rule.quota, cost, this);
}

// What leaves() said has been answered, or will not be.
void SharedStore::learn(const Answered& answer, const KeptCheck& check, Cost cost, nanoseconds asked,
                        nanoseconds now) {
  const core::Rule& rule = check.limit.rule;
  // Allowed and not charged, because another check of its request was denied: that is not what is owed.
  const bool owed = answer.last != nullptr && (answer.charged || !answer.last->allowed() || cost.units == 0);
  // What was asked before a reset tells of what is forgotten.
  if (owed && check.resets == memory_.resets.of(check.hash).load())
    fallback_.owe(check.limit, check.key(), *answer.last, now);
  if (!remembers(rule)) return;
  // A look tells newer numbers than a remembered denial has.
  if (!can_charge(check, cost)) return cost.units == 0 ? memory_.denials.forget(check.hash) : void();
  const bool denied = answer.last != nullptr && answer.last->verdict == Verdict::denied;
  if (!denied) return memory_.denials.charged(check.hash);
  memory_.denials.denied(check.hash, rule.quota, cost, *answer.last, asked, now, check.stamp);
}

void SharedStore::grant_lease(const KeyCall& call, nanoseconds charged_at, nanoseconds now) {
  const KeyCheck& check = call.check;
  const auto rest = leases_.grant(
      check.hash, Lease{check.name, check.limit.rule.quota, call.lease, call.ahead ? 0 : check.cost.units,
                        call.at, charged_at, call.at + check.limit.sharing.lease_for, check.resets});
  if (rest) give_back(check.hash, *rest, now);
}

bool SharedStore::end_leases(bool all) {
  const nanoseconds now = clock_();
  for (const auto& [hash, lease] : leases_.end(now, all)) give_back(hash, lease, now);
  wake();
  return !leases_.empty();
}

// ------------------------------------------------------------------------------- several checks, all or none

void SharedStore::check_jointly(Request& request, nanoseconds now) {
  const std::span<Check> checks = request.checks;
  const auto joint = std::make_shared<JointCheck>(
      JointCheck{.ticket = Ticket(request), .deadline = deadline_of(request, now)});
  std::optional<std::size_t> denied_by;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const std::uint64_t hash = hash_of(checks[i].limit->id, checks[i].key);
    KeptCheck kept = keep(checks[i], hash, memory_.resets.of(hash).load());
    for (const JointCheck::Each& other : joint->each) {
      if (other.check.hash != hash || other.check.name != kept.name) continue;
      return refuse(request, i, Fault::unsuitable, "two checks of a request have the same limit and key");
    }
    if (const auto denial = recall(kept.limit.rule, hash, kept.cost, now)) {
      checks[i].decision = *denial;
      if (!denied_by || core::decides(*denial, checks[*denied_by].decision)) denied_by = i;
    }
    const std::uint16_t its_slot = slot(kept.name);
    joint->add(std::move(kept), its_slot);
  }
  if (denied_by) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    request.source = Source::remembered;
    request.by = static_cast<std::uint8_t>(*denied_by);
    return finish(request);
  }
  for (std::size_t i = 0; joint->parts.size() > 1 && i < checks.size(); ++i) {
    const Algorithm algorithm = checks[i].limit->rule.algorithm;
    if (core::can_give_back(algorithm)) continue;
    return refuse(request, i, Fault::unsuitable,
                  "the keys of this request lie in different slots of the cluster, and what " +
                      core::name_of(algorithm) +
                      " has charged cannot be given back: let them share a {hash tag}");
  }
  joint->open = joint->parts.size();
  for (std::size_t part = 0; part < joint->parts.size(); ++part) send(joint, part, now);
}

void SharedStore::answered(PartCall call, const Client::Result& result, nanoseconds now) {
  JointCheck& joint = *call.joint;
  JointCheck::Part& part = joint.parts[call.part];
  part.cause = result.cause;
  if (part.cause == Cause::none) {
    std::array<Decision, store::kMostChecks> decisions;
    const auto charged = read_check(*result.value, joint.asks(part), decisions);
    if (charged) {
      part.charged = *charged;
      part.charged_at = decided_at(*result.value).value_or(nanoseconds{0});
      for (std::size_t i = 0; i < part.of.size(); ++i) joint.each[part.of[i]].decision = decisions[i];
    } else {
      part.cause = Cause::other;
      part.error = charged.error();
    }
  } else {
    part.error = result.error;
  }
  for (const std::size_t i : part.of) {
    const JointCheck::Each& each = joint.each[i];
    learn(part.cause == Cause::none ? Answered{part.charged, &each.decision} : Answered{}, each.check,
          each.check.cost, part.asked, now);
  }
  if (--joint.open == 0) conclude(joint, now);
}

void SharedStore::conclude(JointCheck& joint, nanoseconds now) {
  JointCheck::Conclusion end = joint.conclude(fallback_, now);
  if (end.cause == Cause::none) {
    counters_.decided.fetch_add(1, std::memory_order_relaxed);
    health_.decided(now);
  } else {
    count(end.cause);
    if (end.fault == Fault::none) health_.refused(end.error, now);
    if (end.fault == Fault::none && !joint.ticket.cancelled())
      counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
  }
  for (const JointCheck::Part* const part : end.to_give_back) {
    for (const std::size_t i : part->of) {
      const KeptCheck& check = joint.each[i].check;
      if (check.cost.units > 0) give_back(check, check.cost, part->charged_at, now);
    }
  }
  Request* const request = joint.ticket.take();
  if (request == nullptr) return;  // cancelled
  request->charged = end.charged;
  request->by = static_cast<std::uint8_t>(end.by);
  request->source = end.source;
  request->fault = end.fault;
  request->why = std::move(end.why);
  request->charged_at = end.charged_at;
  for (std::size_t i = 0; end.fault == Fault::none && i < joint.each.size(); ++i) {
    request->checks[i].decision = joint.each[i].decision;
    request->checks[i].hash = joint.each[i].local;
  }
  finish(*request);
}

// -------------------------------------------------------------------------------------------------- reset

void SharedStore::reset(Request& request, nanoseconds now) {
  std::map<std::uint16_t, ResetCall> calls;  // by slot
  const auto reset = std::make_shared<Reset>(
      Reset{.ticket = Ticket(request), .patience = deadline_of(request, nanoseconds{0})});
  for (const Check& check : request.checks) {
    const std::uint32_t id = check.limit->id;
    const std::uint64_t hash = hash_of(id, check.key);
    // What is asked from now on is asked after it, and what is left of a lease is not to be spent after it.
    forget(hash);
    std::string name = key_in_redis(endpoint_.prefix, id, check.key);
    ResetCall& call = calls.try_emplace(slot(name), ResetCall{reset}).first->second;
    call.hashes.push_back(hash);
    call.local.push_back(fallback_.hash_of(*check.limit, check.key));
    call.names.push_back(std::move(name));
  }
  if (calls.empty()) return finish(request);
  reset->open = calls.size();
  for (auto& [slot, call] : calls) send(std::move(call), now);
}

// What is known of a key that is reset.
void SharedStore::forget(std::uint64_t hash) {
  memory_.resets.of(hash).fetch_add(1);
  memory_.denials.forget(hash);
}

void SharedStore::answered(ResetCall call, const Client::Result& result, nanoseconds now) {
  // And again: what was asked meanwhile may have been answered from what is forgotten now.
  const std::size_t left = call.names.size() - call.asked;
  const bool foreign = result.cause == Cause::wrongtype;
  for (std::size_t i = left; i < call.hashes.size(); ++i) {
    forget(call.hashes[i]);
    if (result.cause == Cause::none || foreign) fallback_.forget(call.local[i], now);
  }
  call.hashes.resize(left);
  call.local.resize(left);
  call.names.resize(left);
  Reset& reset = *call.reset;
  if (result.cause == Cause::none) {
    reset.forgotten += static_cast<std::uint64_t>(result.value->integer);
  } else {
    count(result.cause);
    if (reset.fault == Fault::none) reset.why = result.error;
    if (reset.fault != Fault::store_down) reset.fault = foreign ? Fault::foreign_value : Fault::store_down;
  }
  if (left > 0 && (result.cause == Cause::none || foreign)) return send(std::move(call), now);
  if (--reset.open > 0) return;
  Request* const request = reset.ticket.take();
  if (request == nullptr) return;  // cancelled
  request->forgotten = reset.forgotten;
  request->fault = reset.fault;
  request->why = std::move(reset.why);
  finish(*request);
}

// ----------------------------------------------------------------------------------------------- give back

void SharedStore::give_back(const Request& charged, nanoseconds now) {
  if (!charged.charged) return;
  if (charged.source == Source::fallback) return fallback_.give_back(charged.checks, charged.charged_at, now);
  for (const Check& check : charged.checks) {
    if (check.hash != 0) continue;  // the fallback's
    if (check.cost.units == 0 || !core::can_give_back(check.limit->rule.algorithm)) continue;
    give_back(keep(check, hash_of(check.limit->id, check.key), 0), check.cost, charged.charged_at, now);
  }
  wake();
}

void SharedStore::give_back(const KeptCheck& check, Cost cost, nanoseconds charged_at, nanoseconds now) {
  memory_.denials.forget(check.hash);
  std::string command;
  append_give_back(command, {&check.limit.rule, check.name, cost, endpoint_.format}, charged_at);
  ask(GiveBackCall{check.hash}, slot(check.name), std::move(command), now + options_.deadline, now,
      Rank::first);
}

// All that was not spent: the script takes off what has melted.
void SharedStore::give_back(std::uint64_t hash, const Lease& lease, nanoseconds now) {
  if (lease.spent >= lease.units || memory_.resets.of(hash).load() != lease.resets) return;
  const core::Rule rule{lease.quota};
  memory_.denials.forget(hash);
  std::string command;
  append_give_back(command, {&rule, lease.key, Cost{lease.units - lease.spent}, endpoint_.format},
                   lease.charged_at);
  ask(GiveBackCall{hash}, slot(lease.key), std::move(command), now + options_.deadline, now, Rank::first);
}

// What was asked before it may have been denied for what is no longer owed.
void SharedStore::answered(GiveBackCall call, const Client::Result&, nanoseconds) {
  memory_.denials.forget(call.hash);
}

// ------------------------------------------------------------------------------------------------ calls

void SharedStore::send(KeyCall call, nanoseconds now) {
  call.at = now;
  leaves(call.check, call.cost());
  std::string command;
  command.reserve(192 + call.check.name.size());
  const Ask one{&call.check.limit.rule, call.check.name, call.cost(), endpoint_.format};
  if (call.more.empty()) {
    append_check(command, {&one, 1});
  } else {
    append_times(command, one, 1 + call.more.size());
  }
  const std::uint16_t its_slot = slot(call.check.name);
  const nanoseconds deadline = call.deadline();
  const Rank rank = rank_of(call, its_slot, now);
  ask(std::move(call), its_slot, std::move(command), deadline, now, rank);
}

namespace {

// As far as this process has seen.
bool half_spent(Fallback& fallback, Check look, nanoseconds now) {
  look.cost = Cost{0};
  fallback.count({&look, 1}, now);
  return look.decision.remaining * 2 < look.decision.limit;
}

}  // namespace

// Where calls have to wait, those of keys that have spent more than half leave first: there a decision that
// is made here errs most, and flooding with fresh keys keeps nobody's known key from the store. A key's own
// calls stay in order.
Rank SharedStore::rank_of(KeyCall& call, std::uint16_t slot, nanoseconds now) {
  if (!client_.busy(slot)) return Rank::usual;
  const auto line = in_line_.find(call.check.hash);
  if (line == in_line_.end() && half_spent(fallback_, call.check.check(), now)) return Rank::first;
  ++in_line_[call.check.hash];
  call.in_line = true;
  return Rank::usual;
}

bool SharedStore::wanted(std::uint64_t tag) const {
  if (const auto* const call = std::get_if<KeyCall>(&calls_[tag])) return !call->cancelled();
  if (const auto* const call = std::get_if<PartCall>(&calls_[tag])) return !call->joint->ticket.cancelled();
  return true;
}

void SharedStore::send(ResetCall call, nanoseconds now) {
  call.asked = std::min(call.names.size(), kMostReset);
  std::string command;
  append_reset(command, std::span(call.names).last(call.asked), endpoint_.format);
  const std::uint16_t its_slot = slot(call.names[0]);
  const nanoseconds deadline = now + call.reset->patience;
  ask(std::move(call), its_slot, std::move(command), deadline, now, Rank::kept);
}

void SharedStore::send(const std::shared_ptr<JointCheck>& joint, std::size_t part, nanoseconds now) {
  joint->parts[part].asked = now;
  for (const std::size_t i : joint->parts[part].of) leaves(joint->each[i].check, joint->each[i].check.cost);
  std::string command;
  append_check(command, joint->asks(joint->parts[part]));
  ask(PartCall{joint, part}, joint->parts[part].slot, std::move(command), joint->deadline, now);
}

void SharedStore::ask(Call call, std::uint16_t slot, std::string command, nanoseconds deadline,
                      nanoseconds now, Rank rank) {
  auto tag = static_cast<std::uint32_t>(calls_.size());
  if (free_.empty()) {
    calls_.push_back(std::move(call));
  } else {
    tag = free_.back();
    free_.pop_back();
    calls_[tag] = std::move(call);
  }
  ++unsent_;
  client_.call(tag, slot, std::move(command), deadline, now, rank);
}

void SharedStore::answered(std::uint64_t tag, const Client::Result& result) {
  Call call = std::exchange(calls_[tag], {});
  free_.push_back(static_cast<std::uint32_t>(tag));
  const nanoseconds now = clock_();
  std::visit([&](auto& its) { answered(std::move(its), result, now); }, call);
  wake();
}

void SharedStore::wake() {
  if (unsent_ > 0 || alarm_changed_) wake_(std::exchange(unsent_, 0));
  alarm_changed_ = false;
}

KeptCheck SharedStore::keep(const Check& check, std::uint64_t hash, std::uint32_t resets) const {
  const std::uint32_t id = check.limit->id;
  return {.limit = *check.limit,
          .name = key_in_redis(endpoint_.prefix, id, check.key),
          .size = check.key.size(),
          .hash = hash,
          .cost = check.cost,
          .resets = resets,
          .format = endpoint_.format};
}

// A cluster's; 0 for the others.
std::uint16_t SharedStore::slot(std::string_view name) const {
  return endpoint_.kind == Endpoint::Kind::cluster ? slot_of(name) : 0;
}

nanoseconds SharedStore::deadline_of(const Request& request, nanoseconds now) const {
  return now + (request.patience.count() != 0 ? request.patience : options_.deadline);
}

}  // namespace weir::redis
