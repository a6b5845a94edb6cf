// Reservations: what is charged for a later moment. Leases, and what waits to be merged, are passed by.
#include <algorithm>
#include <optional>

#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/slot.hpp"
#include "redis/store_calls.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

namespace {

class ReserveCall final : public StoreCall {
 public:
  ReserveCall(StoreParts& in, Request& request, nanoseconds deadline)
      : StoreCall(in), ticket_(request), deadline_(deadline) {
    if (request.verb == store::Verb::look) return;
    looks_ = false;
    max_wait_ = std::min(request.reservation->max_wait, kLongestWait);
    hold_ = std::min(request.reservation->hold, kLongestHold);
    lines_ = request.reservation->lines;
    instead_of_ = request.reservation->instead_of;
    if (request.reservation->stands_in_line) stood_ = request.reservation->stood;
    follows_ = request.reservation->follows;
  }

  // The next check of the request; or why there can be no such reservation.
  std::optional<std::string> add(const Check& check);
  // A denial of the last one added that is remembered. A denial tells nothing of one that may wait, or has a
  // plan; and beyond a guarantee nobody here knows the rule.
  std::optional<Decision> recall(nanoseconds now) const {
    const KeptCheck& last = checks_.back();
    if (max_wait_.count() > 0 || hold_.count() > 0 || !instead_of_.empty()) return std::nullopt;
    if (last.inside != Check::kNoGuarantee) return std::nullopt;
    return in_.known.recall(last.limit.rule, last.hash, last.cost, now);
  }
  void send(std::unique_ptr<Call> self, nanoseconds now);

 private:
  ReserveWords words() const { return {record_, id_, max_wait_, hold_, looks_, stood_, follows_}; }
  std::vector<ReserveAsk> asks(nanoseconds now) const;
  bool has_calendar() const override {
    return std::any_of(checks_.begin(), checks_.end(),
                       [](const KeptCheck& each) { return each.limit.rule.calendar != nullptr; });
  }
  void ask_again(std::unique_ptr<Call> self, nanoseconds now) override;
  void heard(std::unique_ptr<Call> self, const Result& result, nanoseconds now) override;
  // Whether something was cut that was owed.
  bool learn(const ReserveAnswer* told, const resp::Value* reply, nanoseconds now);
  void decide_here(Cause cause, std::string_view error, nanoseconds now);

  Ticket ticket_;
  nanoseconds deadline_;
  nanoseconds max_wait_{0};
  nanoseconds hold_{0};
  bool looks_ = true;  // at checks some of which are of slots
  std::vector<store::Line> lines_{};
  std::string instead_of_{};
  std::optional<nanoseconds> stood_{};
  bool follows_ = false;
  nanoseconds asked_{0};
  std::string id_;
  std::string record_;  // its name
  std::vector<KeptCheck> checks_;
  bool in_line_ = false;  // its keys are counted among those that wait in order
  bool was_cut_ = false;  // what has denied it, and it was asked for again
};

}  // namespace

void reserve(StoreParts& in, Request& request, nanoseconds now) {
  const bool looks = request.verb == store::Verb::look;
  if (!looks) {
    request.reservation->id.clear();
    request.reservation->wait = nanoseconds{0};
    request.reservation->sooner_by = nanoseconds{0};
  }
  auto call = std::make_unique<ReserveCall>(in, request, now + in.patience_of(request));
  const std::span<Check> checks = request.checks;
  const bool recalls = !looks && !store::may_be_never(checks);
  Denied denied;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (auto sentence = call->add(checks[i]))
      return refuse(request, i, Fault::unsuitable, *std::move(sentence));
    const auto denial = recalls ? call->recall(now) : std::nullopt;
    if (!denial || checks[i].shadow) continue;
    denied[i] = true;
    checks[i].decision = *denial;
  }
  if (is_denied(in, request, denied)) {
    request.reservation->wait = request.decision().retry_after.value_or(nanoseconds{-1});
    return finish(request);
  }
  call->send(std::move(call), now);
}

namespace {

std::optional<std::string> ReserveCall::add(const Check& check) {
  if (auto sentence = cannot_reserve(check.limit->rule)) return sentence;
  return add_beside(in_, checks_, in_.keep(check), "cannot be charged for one moment");
}

std::vector<ReserveAsk> ReserveCall::asks(nanoseconds now) const {
  std::vector<ReserveAsk> made;
  for (const KeptCheck& check : checks_) {
    made.push_back({check.ask_beside_others(), check.limit.holding, check.limit.id, check.size});
    if (check.limit.rule.calendar != nullptr) made.back().ask.utc = time_there(check, now);
    if (lines_.empty() || lines_[made.size() - 1].end <= asked_) continue;
    const store::Line& line = lines_[made.size() - 1];
    made.back().line = {std::clamp(line.from - asked_, nanoseconds{0}, kLongestWait),
                        std::min(line.end - asked_, kLongestWait)};
  }
  return made;
}

void ReserveCall::send(std::unique_ptr<Call> self, nanoseconds now) {
  const std::uint16_t slot = slot_of(checks_[0].name);
  // Under the same id it takes the place of the one before.
  id_ = slot_of_reservation(instead_of_) == slot ? instead_of_ : reservation_id(in_.ids.next(), slot);
  record_ = record_in_redis(in_.endpoint.prefix, id_, slot);
  in_line_ = !looks_ && in_.client.busy(in_.slot(checks_[0].name));
  for (KeptCheck& check : checks_) {
    if (in_line_) in_.lines.stand(check.hash);
    if (!looks_) in_.known.leaves(check, check.cost);
  }
  ask_again(std::move(self), now);
}

void ReserveCall::ask_again(std::unique_ptr<Call> self, nanoseconds now) {
  asked_ = now;
  std::string command;
  append_reserve(command, in_.endpoint.prefix, asks(now), words());
  in_.client.call(std::move(self), in_.slot(checks_[0].name), std::move(command), deadline_, now);
}

void ReserveCall::heard(std::unique_ptr<Call> self, const Result& result, nanoseconds now) {
  Cause cause = result.cause;
  std::string error(result.error);
  ReserveAnswer told;
  if (cause == Cause::none) {
    in_.known.hear_clock(*result.value, asked_, now);
    if (auto read = read_reserve(*result.value, asks(now), words())) {
      told = *std::move(read);
    } else {
      cause = Cause::other;
      error = std::move(read.error());
    }
  }
  const bool is_cut = !looks_ && learn(cause == Cause::none ? &told : nullptr, result.value, now);
  // What has denied it is there no more when this comes.
  if (is_cut && !told.granted && !ticket_.cancelled() && !std::exchange(was_cut_, true))
    return send(std::move(self), now);
  if (cause != Cause::none) {
    // It may have been charged, and nobody is told its id. The call leaves after it, over the same connection
    // or a later one.
    if (!looks_ && (!instead_of_.empty() || cause == Cause::timeout || cause == Cause::connection ||
                    cause == Cause::other))
      take_back(in_, record_, checks_, hold_.count() > 0, now);
    return decide_here(cause, error, now);
  }
  in_.tally.decided(now);
  Request* const request = ticket_.take();
  if (request == nullptr) return;  // cancelled
  for (std::size_t i = 0; i < request->checks.size(); ++i) {
    request->checks[i].decision = told.decisions[i];
    request->checks[i].hash = checks_[i].hash;
  }
  request->by = told.by;
  request->charged = told.granted;
  if (looks_) return finish(*request);
  request->reservation->wait = told.wait;
  request->reservation->full_for = told.full_for;
  request->reservation->full_by = told.full_by;
  request->reservation->sooner_by = told.sooner_by;
  if (told.has_id) request->reservation->id = id_;
  std::vector<const KeptCheck*> checks;
  for (const KeptCheck& each : checks_) checks.push_back(&each);
  finish_with_penalties(in_, *request, checks, deadline_, now);
}

bool ReserveCall::learn(const ReserveAnswer* told, const resp::Value* reply, nanoseconds now) {
  bool is_cut = false;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const KeptCheck& check = checks_[i];
    if (in_line_) in_.lines.leave(check.hash);
    Knowledge::Answered answered{check.limit.rule, told != nullptr && told->granted};
    // A grant tells what is owed after it; a denial by the rule what a check would have been told.
    Decision last;
    if (told != nullptr && (told->granted || told->by_rule)) {
      last = (told->granted ? told->decisions : told->at_once)[i];
      // What acts later is owed, however far that lies ahead.
      const bool is_later = told->granted && told->wait.count() > 0;
      const resp::Value& state = reply->items[kFirstStateOfReserve + i];
      const bool ends_sooner =
          !is_later && mend(in_, check, check.limit.rule, check.cost, state, {&last, 1}, now);
      answered.state = state.text;
      if (!ends_sooner) answered.last = &last;
      is_cut = is_cut || ends_sooner;
    }
    in_.known.learn(answered, check, check.cost, asked_, now);
  }
  return is_cut;
}

void ReserveCall::decide_here(Cause cause, std::string_view error, nanoseconds now) {
  if (cause == Cause::overload && ticket_.cancelled()) return;  // it never left
  in_.tally.refused(cause, error, now);
  Request* const request = ticket_.take();
  if (request == nullptr) return;  // cancelled
  if (cause == Cause::wrongtype) return refuse(*request, 0, Fault::foreign_value, std::string(error));
  StoreTally::count(in_.tally.counters.fallbacks);
  std::vector<Check> checks;
  for (KeptCheck& each : checks_) {
    Check& made = checks.emplace_back(each.check());
    made.inside = each.inside;
  }
  if (looks_) {
    in_.fallback.look(checks, now);
    for (std::size_t i = 0; i < checks.size(); ++i) request->checks[i].decision = checks[i].decision;
    request->by = store::deciding(request->checks);
    request->source = Source::fallback;
    request->why = name_of(cause);
    return finish(*request);
  }
  Fallback::Reserved reserved = in_.fallback.reserve(checks, *request->reservation, now);
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

}  // namespace

}  // namespace weir::redis
