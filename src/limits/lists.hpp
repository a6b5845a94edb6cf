// What values are compared with: entries, written in place or in lists, which may be files of their own.
//
// One thread.
#pragma once

#include "limits/file_field.hpp"

namespace weir::inline v0_1::limits {

// A text, a pattern, an address or a CIDR; empty `wrong`, or what is wrong with it, and the number of the
// rule.
struct ReadEntry {
  ListEntry entry;
  FileRule rule = FileRule::none;
  std::string wrong{};
};
ReadEntry read_entry(std::string_view text, Position place);

// The whole of `lists:`.
void read_lists(Context& context, const FileField& lists);

// A map from attributes to what they have to be.
When read_when(Context& context, const FileField& when);

}  // namespace weir::limits
