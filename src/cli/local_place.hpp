// Where a local server's socket, lock and log are.
//
// Throws std::runtime_error of one line. Not for: making them, but for the folder.
#pragma once

#include <string>

namespace weir::inline v0_1::cli {

struct LocalPlace {
  std::string socket;
  std::string lock;
  std::string log;
};

// That which all share who ask for the same limits file, or without one work in the same project: it is
// called after them. Its folder is made.
LocalPlace local_place(const std::string& limits);
// One that nobody else knows, in the same folder.
LocalPlace new_local_place();
// The one with this socket; the others lie beside it.
LocalPlace local_place_of(const std::string& socket);

}  // namespace weir::cli
