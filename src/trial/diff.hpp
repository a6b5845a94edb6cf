// What changes from one limits file to another: what each says, thing by thing, where a limit is known by its
// id, so that one that is renamed is the same.
//
// Pure, any thread; the result owns its texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

struct Difference {
  enum class Kind : std::uint8_t { added, removed, changed };
  Kind kind = Kind::changed;
  std::string path;    // "limits.user.rate"; the new name of a limit that is renamed
  std::string before;  // empty when it was added
  std::string after;   // empty when it was removed
  std::uint32_t line_before = 0;
  std::uint32_t line_after = 0;
  std::string note;  // what happens to the debts, where they do not simply stay
};

// In the order of the new file; what was removed stands where it was in the old one, after what is left.
std::vector<Difference> differences(const File& before, const File& after);

// For people: a line for each; empty when there are none.
std::string to_text(const std::vector<Difference>& differences, const std::string& before,
                    const std::string& after);

}  // namespace weir::limits
