// Writing a file so that it exists whole or not at all.
#pragma once

#include <string>

namespace weir::cli {

// Writes a temporary file next to `path` and renames it, so that neither a full disk nor kill -9 leaves half
// a file; a device or a pipe is written to directly. `mode`: what a new file permits, which the umask
// narrows. Throws std::runtime_error, whose text names the file.
void write_file(const std::string& path, const std::string& bytes, unsigned mode = 0644);

}  // namespace weir::cli
