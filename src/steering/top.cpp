#include "steering/top.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace weir::inline v0_1::steering {

// Of summaries that each say of a key at most N and at least N - E, and of a key without an entry at most L:
// their sum says at most the N and the L, and at least the N - E. So a key's count is the N of those that
// have it and the L of all others, and its error the E and the L. (The merge of P. K. Agarwal, G. Cormode,
// Z. Huang, J. Phillips, Z. Wei, K. Yi, "Mergeable Summaries", PODS 2012, with all entries kept.) As each L
// is at most its summary's total divided by its entries, so is the sum of them. A key has one hash
// everywhere.
class TopKeys::Merge {
 public:
  void add(const SpaceSaving& summary, std::uint64_t scale) {
    total_ += summary.total() * scale;
    const std::uint64_t least = summary.least() * scale;
    least_ += least;
    for (const SpaceSaving::Entry& each : summary.entries()) {
      const auto [found, is_new] = keys_.try_emplace(each.hash);
      Known& known = found->second;
      if (is_new) {
        known.row.limit = each.limit;
        known.row.key = each.key;
      }
      known.row.count += each.count * scale;
      known.row.error += each.error * scale;
      known.least += least;
    }
  }

  std::uint64_t total() const { return total_; }
  std::size_t keys() const { return keys_.size(); }

  // Those of one limit, or of all.
  void move_rows(std::string_view limit, std::vector<Row>& into) {
    for (auto& [hash, known] : keys_) {
      if (!limit.empty() && limit != known.row.limit) continue;
      const std::uint64_t beside = least_ - known.least;  // what those may have counted that have it not
      known.row.count += beside;
      known.row.error += beside;
      into.push_back(std::move(known.row));
    }
  }

 private:
  struct Known {
    Row row;
    std::uint64_t least = 0;  // of the summaries that have it
  };

  std::uint64_t total_ = 0;
  std::uint64_t least_ = 0;  // of all summaries
  std::unordered_map<std::uint64_t, Known> keys_;
};

namespace {

// The `most` with the greatest counts, in that order. Equals by their texts, so that an answer does not
// depend on how a table lies in memory.
void keep_most(std::size_t most, std::vector<TopKeys::Row>& rows) {
  const auto is_before = [](const TopKeys::Row& a, const TopKeys::Row& b) {
    return a.count != b.count ? a.count > b.count
                              : std::tie(a.limit, a.key, a.banned) < std::tie(b.limit, b.key, b.banned);
  };
  const std::size_t count = std::min(most, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(), is_before);
  rows.resize(count);
}

}  // namespace

TopKeys::TopKeys(TopOptions options, nanoseconds start)
    : start_(start),
      every_(std::max<std::uint64_t>(1, options.sample)),
      generations_{Generation(options.entries), Generation(options.entries)},
      ends_(start + kGeneration) {}

void TopKeys::turn(nanoseconds now) {
  const std::int64_t number = number_at(now);
  running_ ^= 1;
  Generation& next = generations_[running_];
  next.denied.clear();
  next.banned.clear();
  next.cost.clear();
  next.number = number;
  ends_ = start_ + (number + 1) * kGeneration;
}

TopKeys::Answer TopKeys::ask(std::span<const TopKeys* const> loops, By by, std::string_view limit,
                             std::size_t most, nanoseconds now) {
  Merge merge;
  Merge banned;
  nanoseconds since = now;
  for (const TopKeys* const each : loops) {
    const std::int64_t oldest = each->number_at(now) - 1;
    since = std::min(since, each->start_ + std::max<std::int64_t>(0, oldest) * kGeneration);
    const store::Held lock(each->mutex_);
    for (const Generation& generation : each->generations_) {
      if (generation.number < oldest) continue;
      by == By::denied ? merge.add(generation.denied, 1) : merge.add(generation.cost, each->every_);
      if (by == By::denied) banned.add(generation.banned, 1);
    }
  }
  Answer answer{
      .by = by, .time = now - since, .total = merge.total(), .keys = merge.keys(), .banned = banned.total()};
  banned.move_rows(limit, answer.rows);
  for (Row& each : answer.rows) each.banned = true;
  merge.move_rows(limit, answer.rows);
  keep_most(most, answer.rows);
  return answer;
}

std::optional<TopKeys::By> read_by(std::string_view word) {
  std::string small(word.substr(0, 16));
  for (char& each : small) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each | 0x20);
  }
  const auto* const found = std::find(TopKeys::kNames.begin(), TopKeys::kNames.end(), small);
  if (found == TopKeys::kNames.end()) return std::nullopt;
  return static_cast<TopKeys::By>(found - TopKeys::kNames.begin());
}

}  // namespace weir::steering
