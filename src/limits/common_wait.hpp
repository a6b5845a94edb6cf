// Which limits a request cannot wait for alone: every other request that meets the one has to wait for the
// other too, for as long. A reservation that waits for the other may then be charged to the one as far ahead
// as it takes, and nobody loses by it (docs/algorithm.md, "Several limits").
//
// Pure, any thread. Not for: deciding how far another limit may be lifted (core::earliest_lift).
#pragma once

#include <vector>

#include "limits/file.hpp"

namespace weir::limits {

// It holds for all requests of a key of the limit or for none: it names nothing but attributes of `by`, and
// does not tell two spellings of an address apart, nor two addresses of one key.
bool holds_for_whole_keys(const File& file, const NamedLimit& limit, const When& when);

// No request costs nothing under it.
bool always_costs(const NamedLimit& limit);

// The limits that all who meet `lifted` have to wait for together: itself, as far as it has several windows,
// and those that it is within. Left out is a limit that others of the same key may pass meanwhile: by a
// guarantee, by other numbers, because they are exempt, or, of one that `lifted` is within, because they cost
// nothing there.
std::vector<Index> waited_for_with(const File& file, Index lifted);

}  // namespace weir::limits
