// A text as one word of a shell's command.
//
// Pure, any thread.
#pragma once

#include <string>

namespace weir::inline v0_1::logs {

std::string shell_word(const std::string& text);

}  // namespace weir::logs
