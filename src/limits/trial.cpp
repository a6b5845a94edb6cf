#include "limits/trial.hpp"

#include <stdexcept>
#include <utility>

#include "limits/finding.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

// So that a trial comes out the same each time.
constexpr core::HashKey kSeed{0x77656972, 0x747269616c};

}  // namespace

std::shared_ptr<const Set> compiled(std::shared_ptr<const File> file) {
  auto set = Set::make(std::move(file), {});
  if (!set) throw std::runtime_error(to_text(set.error().front()));
  return *std::move(set);
}

Trial::Trial(const Set& set, std::size_t bytes) : set_(set), store_(bytes, weir::WhenFull::deny, kSeed) {}

bool Trial::find(const Asked& asked, Time now) {
  asked_ = asked;
  trace_.steps.clear();  // it keeps its memory
  return match(set_, asked, now, matched_, &trace_);
}

Answer Trial::ask(Time now, store::Verb verb) {
  store::Request request;
  request.checks = matched_.all();
  // What a `deny` list turns away is charged to nobody.
  request.verb = matched_.outcome == Matched::Outcome::refused ? store::Verb::look : verb;
  const bool counts = !request.checks.empty();
  if (counts) {
    submit(request, now);
    if (request.fault != Fault::none) throw std::runtime_error(request.why);
  }
  by_ = request.by;
  return answer_of(set_, matched_, counts ? &request : nullptr);
}

void Trial::submit(store::Request& request, Time now) {
  store::Request* batch = &request;
  const nanoseconds at = now.time_since_epoch();
  store_.submit(std::span(&batch, 1), {at, at});
}

std::optional<Trial::Reserved> Trial::reserve(Time now, std::optional<nanoseconds> max_wait,
                                              std::optional<nanoseconds> hold) {
  if (matched_.outcome != Matched::Outcome::meets) return Reserved{ask(now)};
  const auto fail = [this](std::string text) {
    matched_.error = std::move(text);
    return std::nullopt;
  };
  const Waiting waiting = prepare_waiting(set_, matched_);
  if (auto why = waiting.refuses_wait(max_wait)) return fail(*std::move(why));
  if (auto why = waiting.refuses_hold(hold)) return fail(*std::move(why));
  store::Reservation asked{.max_wait = max_wait.value_or(waiting.max_wait.value_or(nanoseconds{0})),
                           .hold = hold.value_or(waiting.hold)};
  store::Request request{.checks = matched_.all(), .verb = store::Verb::reserve, .reservation = &asked};
  submit(request, now);
  if (request.fault != Fault::none) return fail(request.why);
  by_ = request.by;
  return Reserved{answer_of(set_, matched_, &request), asked.wait, std::move(asked.id)};
}

bool Trial::settle(Time now, const std::string& id, std::optional<std::uint64_t> actual,
                   std::span<const NamedCost> costs) {
  store::Reservation asked{.id = id, .actual = actual};
  if (!find_actuals(set_, costs, asked.actuals, matched_.error)) return false;
  store::Request request{.verb = store::Verb::settle, .reservation = &asked};
  submit(request, now);
  matched_.error = request.fault != Fault::none ? request.why
                   : asked.wait.count() < 0     ? "there is no open hold to settle"
                                                : "";
  return matched_.error.empty();
}

Trial::Kept Trial::keep() {
  Kept kept{{}, by_};
  for (const store::Check& check : matched_.all()) kept.decisions.push_back(check.decision);
  return kept;
}

Explanation Trial::explanation(const Kept& kept) {
  store::Request request;
  request.checks = matched_.all();
  for (std::size_t i = 0; i < request.checks.size(); ++i) request.checks[i].decision = kept.decisions[i];
  request.by = kept.by;
  return explain(set_.file(), trace_, asked_.attributes, request.checks, &request);
}

}  // namespace weir::limits
