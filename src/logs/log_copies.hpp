// Copies among the files of a log: access.log.1 beside access.log.1.gz, whose requests would count twice.
//
// One call, any thread. Not for: one file under two names (log_reader.cpp).
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace weir::inline v0_1::logs {

// Two files are copies that have as many lines, and whose first 1,000 and last 1,000 are the same; of ten
// lines at least, since days on which nothing happened are alike. What is not a file on disk, or cannot be
// read, is left. Throws std::runtime_error, which names the two.
void refuse_copies(const std::vector<std::string>& files, const std::atomic<bool>& stop);

}  // namespace weir::logs
