// What is wrong between the parts of a file, each of which is right in itself: hierarchy, overrides, numbers
// that contradict each other, routes that no request reaches.
//
// Pure but for the findings. Not for: sums of guarantees (limits/guarantees.hpp).
#pragma once

#include "limits/file.hpp"
#include "limits/findings.hpp"

namespace weir::inline v0_1::limits {

using Wide = unsigned __int128;  // a product of two numbers of 64 bits

// `within` leads in a circle, or to a key that does not contain the other. A limit in a circle has none after
// it.
void judge_hierarchy(File& file, Findings& findings);
// Of each limit alone: its overrides, windows, costs, shares, holds and penalties.
void judge_limits(const File& file, Findings& findings);
// What is said for a shared store.
void judge_store(const File& file, Findings& findings);
// Fills Route::meets, and finds routes that cannot be reached, limits that none uses, and requests of too
// many checks; and waiting that another limit does not bear.
void judge_routes(File& file, Findings& findings);
// What a request of a gateway may meet that its profile cannot ask for. After judge_routes().
void judge_gateways(const File& file, Findings& findings);

// A text that is the same for two `when` that say the same; empty for one that is.
std::string same_when(const When& when);

// Where a number of a limit comes from: its own part, or an override.
constexpr int kOwn = -1;

// The rules that window `index` may have, in the order of the file: from where, and which.
struct RuleSource {
  int from = kOwn;
  bool lifted = false;  // then there is no rule
  core::Rule rule;
  Position place{};
};
std::vector<RuleSource> rules_of(const NamedLimit& limit, Index index);

// Calls `judge` with an X and a Y that one request can have together: of two overrides the later wins, unless
// it does not name the thing. `xs` and `ys` begin with the limit's own and are in the order of the file. Of
// those that an override can be combined with, only the worst is judged, so that this takes no longer than
// they are many.
template <class X, class Y, class WorseX, class WorseY, class JudgePair>
void judge_pairs(const std::vector<X>& xs, const std::vector<Y>& ys, const WorseX& worse_x,
                 const WorseY& worse_y, const JudgePair& judge) {
  const X* worst_x = nullptr;
  const Y* worst_y = nullptr;
  for (std::size_t i = 0, j = 0; i < xs.size() || j < ys.size();) {
    const bool has_x = i < xs.size() && (j == ys.size() || xs[i].from <= ys[j].from);
    const bool has_y = j < ys.size() && (i == xs.size() || ys[j].from <= xs[i].from);
    const X* x = has_x ? &xs[i++] : worst_x;
    const Y* y = has_y ? &ys[j++] : worst_y;
    if (x != nullptr && y != nullptr) judge(*x, *y);
    if (has_x && (worst_x == nullptr || worse_x(*x, *worst_x))) worst_x = x;
    if (has_y && (worst_y == nullptr || worse_y(*y, *worst_y))) worst_y = y;
  }
}
// Of sources: one with a smaller burst; a lifted one is the best.
bool smaller_burst(const RuleSource& a, const RuleSource& b);

// "limits.tenant.overrides[1].rate"; of kOwn "limits.tenant.rate".
std::string path_of(const NamedLimit& limit, int from, const char* key);

}  // namespace weir::limits
