// The answer that a page begins with: one sentence made from the report.
//
// Pure, any thread; the text is plain, not HTML, with limits between backticks.
#pragma once

#include <string>

#include "sim/file_comparison.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

// "`100/min` would have denied nobody; `60/min` 2 of 28 clients, one of them, 192.0.2.1, with 89 % of the
// denials, which asked every 1.2s for 6h." A client with more than half of the denials is named, with what it
// did as far as the log shows it.
std::string answer_of(const ReplayReport& report);
// "`60/min` would have denied 1 of 153 clients; today's `100/min` nobody."
std::string answer_of(const SuggestReport& report);
// "The new file would have denied 12 requests more, of 45,300."
std::string answer_of(const FileDifference& difference);

}  // namespace weir::sim
