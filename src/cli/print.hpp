// Standard output, whole or with an error.
//
// One thread.
#pragma once

#include <string>

namespace weir::inline v0_1::cli {

// Throws std::runtime_error when it cannot be written; that its reader has gone is fine.
void print(const std::string& text);

}  // namespace weir::cli
