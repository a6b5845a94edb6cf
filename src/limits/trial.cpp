#include "limits/trial.hpp"

#include <stdexcept>
#include <utility>

#include "limits/finding.hpp"

namespace weir::inline v0_1::limits {
namespace {

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
    store::Request* batch = &request;
    const std::chrono::nanoseconds at = now.time_since_epoch();
    store_.submit(std::span(&batch, 1), {at, at});
    if (request.fault != Fault::none) throw std::runtime_error(request.why);
  }
  by_ = request.by;
  return answer_of(set_, matched_, counts ? &request : nullptr);
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
