// The manual pages, and what shells complete: written from the same table of options as --help, so they
// cannot disagree with it.
//
// Pure functions of the App; any thread. Not for reading options: that is CLI11's.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

// The page of `weir`, or of one of its commands, as source for man(1); see man-pages(7) and groff_man(7).
// `date` is when the program was made, as in 2026-11-21; empty: the page has none.
std::string manual_page(const CLI::App& program, const CLI::App& command, const std::string& date);

}  // namespace weir::cli
