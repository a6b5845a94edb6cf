// Which limits a request cannot wait for alone: every other request that meets the one has to wait for the
// other too, for as long. A reservation that waits for the other may then be charged to the one as far ahead
// as it takes, and nobody loses by it (docs/algorithm.md, "Several limits").
//
// Immutable, any thread; the file must outlive it. Not for: how far another limit may be lifted
// (core::moment).
#pragma once

#include <span>
#include <vector>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

class CommonWaits {
 public:
  explicit CommonWaits(const File& file);

  // The limits that all who meet `lifted` have to wait for together: itself, as far as it has several
  // windows, and those that it is within. Left out is a limit that others of the same key may pass meanwhile:
  // by a guarantee, by other numbers, because they are exempt, or, of one that `lifted` is within, because
  // they cost nothing there.
  std::vector<Index> with(Index lifted) const;
  // No request costs nothing under it.
  bool always_costs(Index limit) const { return costs_[limit]; }
  // It holds for all requests of a key of the limit or for none: it names nothing but attributes of `by`, and
  // tells neither two spellings of an address apart nor two addresses of one key.
  bool holds_for_whole_keys(const NamedLimit& limit, const When& when) const;

 private:
  // How finely some entries tell addresses apart.
  struct Grain {
    core::Prefixes longest{0, 0};
    bool spellings = false;
  };
  static Grain grain_of(std::span<const ListEntry> entries);
  bool waits_alike(const NamedLimit& limit) const;

  const File& file_;
  std::vector<Grain> lists_;
  std::vector<bool> alike_;
  std::vector<bool> costs_;
};

}  // namespace weir::limits
