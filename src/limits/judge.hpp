// What is wrong between the parts of a file, each of which is right in itself: hierarchy, overrides, numbers
// that contradict each other, routes that no request reaches.
//
// Pure but for the findings. Not for: sums of guarantees (limits/guarantees.hpp).
#pragma once

#include "limits/file.hpp"
#include "limits/findings.hpp"

namespace weir::limits {

// `within` leads in a circle, or to a key that does not contain the other. A limit in a circle has none after
// it.
void judge_hierarchy(File& file, Findings& findings);
// Of each limit alone: its overrides, windows, costs, shares and holds.
void judge_limits(const File& file, Findings& findings);
// Fills Route::meets, and finds routes that cannot be reached, limits that none uses, and requests of too
// many checks; and waiting that another limit does not bear.
void judge_routes(File& file, Findings& findings);

// A text that is the same for two `when` that say the same; empty for one that is.
std::string same_when(const When& when);

// Where a number of a limit comes from: its own part, or an override.
constexpr int kOwn = -1;
// Whether one request can have X from `a` and Y from `b`: the later of the two must not name the other's.
template <class NamesX, class NamesY>
bool may_meet(int a, int b, const NamesX& names_x, const NamesY& names_y) {
  if (a < b) return !names_x(b);
  if (b < a) return !names_y(a);
  return true;
}

// The rules that window `index` may have: from where, and which; of an override that lifts it, none.
struct Source {
  int from = kOwn;
  core::Rule rule;
  Place place{};
};
std::vector<Source> rules_of(const NamedLimit& limit, Index index);
bool names_window(const NamedLimit& limit, int from, Index index);
// "limits.tenant.overrides[1].rate"; of kOwn "limits.tenant.rate".
std::string path_of(const NamedLimit& limit, int from, const char* key);

}  // namespace weir::limits
