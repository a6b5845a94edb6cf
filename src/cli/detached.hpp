// A part of the program that goes on when its starter has ended: out of its process group and its terminal,
// with none of its files open.
//
// The process must have one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weir::inline v0_1::cli {

// Runs `serve` in a process of its own, with standard error at the end of `log`, whose file grows to 1 MiB at
// most; of what is open it keeps `kept`. Returns when `serve` has called what it is given: then it is ready.
// Throws what it threw before that, as a std::runtime_error.
void run_detached(const std::string& log, const std::vector<int>& kept,
                  const std::function<int(const std::function<void()>& ready)>& serve);

}  // namespace weir::cli
