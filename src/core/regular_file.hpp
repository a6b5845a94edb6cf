// Files that are read whole: settings, lists, certificates, snapshots. Only regular ones: to open
// a pipe, or to read from one or from a device, may wait without end for another program, and many of these
// files are read again while a server serves.
//
// Any thread. Not for: the standard input, and logs, which may be pipes.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <tl/expected.hpp>

namespace weir::inline v0_1::core {

// A descriptor, the caller's, or why there is none: "No such file or directory", "Not a regular file". To
// read from, or for what the flags of open(2) say. Never waits.
tl::expected<int, std::string> open_regular_file(const std::string& path, int flags = 0);

// The bytes of the file, or why there are none. Stops after `most` + 1 bytes.
tl::expected<std::string, std::string> read_regular_file(
    const std::string& path, std::size_t most = std::numeric_limits<std::size_t>::max() - 1);

// The same of what is open already, to its end; waits as long as that takes.
tl::expected<std::string, std::string> read_to_end(int descriptor, std::size_t most);

}  // namespace weir::core
