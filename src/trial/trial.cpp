#include "trial/trial.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "limits/finding.hpp"
#include "store/check_rules.hpp"

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

Trial::Trial(const Set& set, std::size_t bytes) : set_(set), table_(bytes, weir::WhenFull::deny, kSeed) {}

std::optional<nanoseconds> Trial::longest_hold() const {
  if (!store::takes_slots(question_.checks)) return std::nullopt;
  nanoseconds longest = store::kLongestExtension;
  for (const store::Check& check : question_.checks)
    if (check.limit->holding.settles && !check.shadow)
      longest = std::min(longest, check.limit->holding.longest);
  return longest;
}

bool Trial::prepare(const service::Ask& ask, Time now) {
  question_.state = store::Request::State::idle;
  question_.fault = Fault::none;
  return service::prepare(ask, {.set = &set_, .now = now, .memory = memory_}, question_, refusal_);
}

bool Trial::find(const Description& asked, Time now) {
  asked_ = asked;
  return prepare({.explains = true, .as = &asked_}, now);
}

service::Told Trial::ask(Time now, store::Verb verb) {
  // What a `deny` list turns away is charged to nobody.
  question_.verb = matched().outcome == Matched::Outcome::refused ? store::Verb::look : verb;
  submit(now);
  if (question_.fault != Fault::none) throw std::runtime_error(question_.why);
  return told();
}

void Trial::submit(Time now) {
  if (question_.checks.empty() && question_.by_file) return;
  question_.fault = Fault::none;
  store::Request* const batch[] = {&question_};
  const nanoseconds at = now.time_since_epoch();
  store_.submit(batch, {at, at});
}

bool Trial::ask(Time now, const service::Ask& what) {
  if (!prepare(what, now)) return false;
  submit(now);
  refusal_.sentence = question_.fault != Fault::none ? question_.why : "";
  return refusal_.sentence.empty();
}

std::optional<service::Told> Trial::reserve(Time now, std::optional<nanoseconds> max_wait,
                                            std::optional<nanoseconds> hold) {
  const bool asked = ask(
      now,
      {.verb = store::Verb::reserve, .explains = true, .as = &asked_, .max_wait = max_wait, .hold = hold});
  return asked ? std::optional(told()) : std::nullopt;
}

std::unordered_map<std::uint64_t, std::uint64_t> Trial::in_flight(Time now) {
  return table_.reservations().in_flight(now.time_since_epoch());
}

Trial::KeptAnswer Trial::keep() {
  KeptAnswer kept{{}, question_.by};
  for (const store::Check& check : question_.checks) kept.decisions.push_back(check.decision);
  return kept;
}

Explanation Trial::explanation(const KeptAnswer& kept) {
  for (std::size_t i = 0; i < kept.decisions.size(); ++i) question_.checks[i].decision = kept.decisions[i];
  question_.by = kept.by;
  return service::explanation_of(question_, asked_.attributes, set_);
}

}  // namespace weir::limits
