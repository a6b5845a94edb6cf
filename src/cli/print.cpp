#include "cli/print.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace weir::inline v0_1::cli {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0 && errno != EPIPE)
    throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
}

}  // namespace weir::cli
