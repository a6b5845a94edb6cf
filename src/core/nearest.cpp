#include "core/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weir::inline v0_1::core {
namespace {

constexpr std::size_t kFarthest = 2;

// How many letters have to be added, left out, changed, or exchanged with their neighbour to make `a` of `b`;
// above kFarthest any number above it. Only what lies that near to the diagonal is looked at.
std::size_t distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kLongest = 64;
  constexpr std::size_t kFar = kFarthest + 1;
  if (a.size() > kLongest || b.size() > kLongest) return kFar;
  std::array<std::array<std::size_t, kLongest + 2>, 3> rows{};
  for (auto& row : rows) row.fill(kFar);
  for (std::size_t j = 0; j <= std::min(b.size(), kFarthest); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& before = rows[(i + 2) % 3];
    const auto& second = rows[(i + 1) % 3];  // the one before that
    const std::size_t first = i > kFarthest ? i - kFarthest : 1;
    const std::size_t last = std::min(i + kFarthest, b.size());
    row.fill(kFar);
    if (i <= kFarthest) row[0] = i;
    for (std::size_t j = first; j <= last; ++j) {
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], second[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string found;
  // Of a short word, two other letters leave nothing that was meant.
  std::size_t least = std::min(kFarthest, word.size() / 2) + 1;
  for (const std::string& each : known) {
    if (each.size() > word.size() + kFarthest || word.size() > each.size() + kFarthest) continue;
    const std::size_t far = distance(word, each);
    if (far >= least) continue;
    least = far;
    found = each;
  }
  return found;
}

}  // namespace weir::core
