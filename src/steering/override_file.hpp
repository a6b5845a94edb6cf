// What FILE.overrides says: the overrides as they were once, and a line for each change since.
//
//   weir overrides 2
//   SIZE BYTES      the last number; then each override
//   SUM             of all that: a SipHash-1-3 in 16 hex digits
//   CHANGE SUM      + and an override, or - and the numbers of those that have been ended; its sum goes on
//   from
//                   the one before, so that no line can be lost, doubled or moved
//
// In a change a newline is \n and a backslash \\: a line has its end only when it was written whole, and what
// lies there without one is a change that nobody was told of. Version 1 has no changes.
//
// Pure functions, any thread. Not for: disks (file_keeper.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "steering/override_book.hpp"

namespace weir::inline v0_1::steering {

// Where the next change has its place.
struct OverrideFileEnd {
  std::uint64_t size = 0;
  std::uint64_t sum = 0;
  std::size_t entries = 0;  // overrides and changes
};

// What changes: those of `book` without `ended` and with `made`, which replaces what has its words.
struct BookChange {
  const OverrideBook& book;
  const OperatorOverride* made = nullptr;  // null: none
  const std::vector<OverrideBook::Ptr>& ended;
};

struct OverrideFile {
  OverrideBook book;
  // Nothing: it has to be written again first.
  std::optional<OverrideFileEnd> end;
};
// Whether it has ended or not: all that the file has. Or what is wrong with it.
tl::expected<OverrideFile, std::string> read_override_file(std::string_view bytes);

// A whole file, and its end.
std::string override_file(const BookChange& change, OverrideFileEnd& end);
// A line, or two where some have been ended and one is made; the end is after it.
std::string override_line(const BookChange& change, OverrideFileEnd& end);

// The last bytes of a file with that end.
std::string last_bytes(const OverrideFileEnd& end);

}  // namespace weir::steering
