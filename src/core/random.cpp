#include "core/random.hpp"

#include <cstdint>
#include <random>

namespace weir::inline v0_1::core {

HashKey random_key() {
  std::random_device source;  // the kernel's generator on every platform we build for
  const auto word = [&source] { return std::uint64_t{source()} << 32 | source(); };
  return {word(), word()};
}

}  // namespace weir::core
