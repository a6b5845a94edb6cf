// Address space for a table: reserved now, memory is taken as it is touched, zero at first.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

namespace weir::inline v0_1::store {

// To be given back by munmap(). Throws std::system_error when the system refuses it.
inline std::byte* reserve_memory(std::size_t bytes) {
  void* const mapping =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "memory: cannot reserve " + std::to_string(bytes) + " bytes");
  }
  return static_cast<std::byte*>(mapping);
}

}  // namespace weir::store
