// A file that is there whole or not at all.
#pragma once

#include <string>

namespace weir::cli {

// Written beside and renamed, so that neither a full disk nor kill -9 leaves half of it; a device or a pipe
// is written to as it is. Throws std::runtime_error, whose text names the file.
void write_file(const std::string& path, const std::string& bytes);

}  // namespace weir::cli
