// A set of small values in order, for a hundred thousand of them: rows of up to kMost that lie side by side,
// and one row of their first values, so that a search touches a few cache lines where a tree's touches one at
// each of its levels. Each call costs the logarithm of what is kept, beside moving at most kMost values; a
// new last value, which is the usual one, moves none.
//
// A value without a lock; one thread. A Place is good until the next change. T is copied as it is, and its
// order is that of `<`, by which no two are equal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weir::inline v0_1::store {

template <class T>
class SortedChunks {
 public:
  static constexpr std::size_t kMost = 128;

  struct Place {
    std::size_t chunk = 0;
    std::size_t index = 0;
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](Place at) { return chunks_[at.chunk][at.index]; }
  const T& operator[](Place at) const { return chunks_[at.chunk][at.index]; }
  const T& front() const { return firsts_.front(); }
  const T& back() const { return chunks_.back().back(); }

  static constexpr Place begin() { return {}; }
  bool is_end(Place at) const { return at.chunk >= chunks_.size(); }
  Place next(Place at) const {
    return at.index + 1 < chunks_[at.chunk].size() ? Place{at.chunk, at.index + 1} : Place{at.chunk + 1, 0};
  }

  // The first that is not less; the end where all are.
  Place find_from(const T& value) const {
    const std::size_t chunk = chunk_of(value);
    if (chunk == chunks_.size()) return {chunk, 0};
    const auto& row = chunks_[chunk];
    const auto index =
        static_cast<std::size_t>(std::lower_bound(row.begin(), row.end(), value) - row.begin());
    return index < row.size() ? Place{chunk, index} : Place{chunk + 1, 0};
  }

  // False when it is there.
  bool insert(const T& value) {
    std::size_t chunk = chunk_of(value);
    if (chunk == chunks_.size()) add_chunk(chunk, value);
    auto* row = &chunks_[chunk];
    auto at = std::lower_bound(row->begin(), row->end(), value);
    if (at != row->end() && !(value < *at)) return false;
    if (row->size() == kMost) {
      split(chunk, at == row->end() && chunk + 1 == chunks_.size() ? kMost : kMost / 2, value);
      if (chunk + 1 < chunks_.size() && !(value < firsts_[chunk + 1])) ++chunk;
      row = &chunks_[chunk];
      at = std::lower_bound(row->begin(), row->end(), value);
    }
    row->insert(at, value);
    firsts_[chunk] = row->front();
    ++size_;
    return true;
  }

  void erase(Place at) {
    auto& row = chunks_[at.chunk];
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(at.index));
    --size_;
    if (row.empty()) {
      remove_chunk(at.chunk);
      return;
    }
    firsts_[at.chunk] = row.front();
    if (row.size() >= kMost / 4) return;
    if (at.chunk + 1 < chunks_.size()) join(at.chunk);
    if (at.chunk > 0) join(at.chunk - 1);
  }

 private:
  // Where it is, or belongs: the last that begins with none greater, the first where all do.
  std::size_t chunk_of(const T& value) const {
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), value);
    return after == firsts_.begin() ? 0 : static_cast<std::size_t>(after - firsts_.begin()) - 1;
  }

  void add_chunk(std::size_t at, const T& first) {
    // Mostly there are few, and one row is enough.
    const auto made = chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at), std::vector<T>());
    if (chunks_.size() > 1) made->reserve(kMost);
    firsts_.insert(firsts_.begin() + static_cast<std::ptrdiff_t>(at), first);
  }
  void remove_chunk(std::size_t at) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
    firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // What comes from `left` on goes to a chunk of its own; where nothing does, `next` will be its first.
  void split(std::size_t chunk, std::size_t left, const T& next) {
    add_chunk(chunk + 1, left < kMost ? chunks_[chunk][left] : next);
    auto& from = chunks_[chunk];
    chunks_[chunk + 1].assign(from.begin() + static_cast<std::ptrdiff_t>(left), from.end());
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(left), from.end());
  }
  // With the next one, where there is ample room for both.
  void join(std::size_t chunk) {
    auto& row = chunks_[chunk];
    const auto& next = chunks_[chunk + 1];
    if (row.size() + next.size() > kMost * 3 / 4) return;
    row.insert(row.end(), next.begin(), next.end());
    remove_chunk(chunk + 1);
  }

  std::vector<std::vector<T>> chunks_;  // none empty
  std::vector<T> firsts_;
  std::size_t size_ = 0;
};

}  // namespace weir::store
