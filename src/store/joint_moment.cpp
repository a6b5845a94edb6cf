#include "store/joint_moment.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "core/moment.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

// Beyond that the first moment is taken after all that are known at any of the keys: later, never wrong.
constexpr std::size_t kMostRounds = 64;

class Search {
 public:
  Search(std::span<const LedgerDemand> demands, nanoseconds now) : demands_(demands) {
    for (std::size_t i = 0; i < demands.size(); ++i)
      if (demands[i].ledger != nullptr)
        counted_[i].emplace(*demands[i].ledger, *demands[i].rule, now, demands[i].line);
  }

  // The first moment from `at` on that suits all; max() when none does.
  nanoseconds first_of_all(nanoseconds at) const {
    std::size_t left = kMostRounds * demands_.size();
    for (std::size_t agreed = 0, i = 0; agreed < demands_.size(); i = (i + 1) % demands_.size()) {
      const nanoseconds next = demands_[i].shadow ? at : first(i, at);
      if (next == nanoseconds::max()) return next;
      agreed = next == at ? agreed + 1 : 1;
      at = next;
      if (left == 0 || --left != 0) continue;
      for (const auto& each : counted_)
        if (each) at = std::max(at, each->last());
      agreed = 0;
    }
    return at;
  }
  bool fits(std::size_t which, nanoseconds at) const { return first(which, at) == at; }
  // Whether it may be told that moment before it has come.
  bool may_be_told(std::size_t which, nanoseconds at) const {
    return demands_[which].cost.units == 0 || core::may_wait(*demands_[which].rule) ||
           (is_inside_one(which) && first_inside(which, at) == at);
  }

 private:
  bool is_inside_one(std::size_t which) const {
    const std::uint8_t inside = demands_[which].inside;
    return inside != LedgerDemand::kAlone && counted_[inside];
  }
  nanoseconds first(std::size_t which, nanoseconds at) const {
    const LedgerDemand& demand = demands_[which];
    const auto& counted = counted_[which];
    if (!counted || demand.cost.units == 0) return at;
    const nanoseconds own = counted->first(at, demand.cost);
    return own == at || !is_inside_one(which) ? own : std::min(own, first_inside(which, at));
  }
  nanoseconds first_inside(std::size_t which, nanoseconds at) const {
    const std::uint8_t inside = demands_[which].inside;
    const auto& guarantee = counted_[inside];
    const auto& own = counted_[which];
    for (std::size_t rounds = 0; guarantee && own && rounds < kMostRounds; ++rounds) {
      const nanoseconds guaranteed = guarantee->first(at, demands_[inside].cost);
      if (guaranteed == nanoseconds::max()) return guaranteed;
      const nanoseconds both = own->first_at_best(guaranteed, demands_[which].cost);
      if (both == guaranteed || both == nanoseconds::max()) return both;
      at = both;
    }
    return nanoseconds::max();
  }

  std::span<const LedgerDemand> demands_;
  std::array<std::optional<KeyLedger::Counted>, kMostChecks> counted_{};
};

}  // namespace

JointMoment joint_moment(std::span<const LedgerDemand> demands, nanoseconds now, nanoseconds max_wait,
                         nanoseconds sooner_by) {
  const Search search(demands, now);
  const nanoseconds at = search.first_of_all(now);
  if (at == nanoseconds::max()) return {.wait = nanoseconds{-1}};
  JointMoment found{.granted = true, .wait = at - now};
  for (std::size_t i = 0; i < demands.size(); ++i) {
    if (search.fits(i, at)) found.fits |= 1U << i;
    if (at != now && !demands[i].shadow && !search.may_be_told(i, at)) max_wait = sooner_by = nanoseconds{0};
  }
  if (found.wait - sooner_by <= max_wait) return found;
  return {.granted = false, .wait = found.wait - max_wait, .fits = found.fits};
}

}  // namespace weir::store
