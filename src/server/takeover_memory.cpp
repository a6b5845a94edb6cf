#include "server/takeover_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace weir::inline v0_1::server {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

net::OwnedDescriptor make() {
  net::OwnedDescriptor memory(memfd_create("weir", MFD_CLOEXEC));
  if (!memory) fail("memfd_create");
  return memory;
}

}  // namespace

net::OwnedDescriptor in_memory(std::string_view bytes) {
  net::OwnedDescriptor memory = make();
  while (!bytes.empty()) {
    const ssize_t n = write(memory.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return memory;
}

std::string read_all(const net::OwnedDescriptor& memory) {
  const off_t size = lseek(memory.get(), 0, SEEK_END);
  if (size < 0) fail("lseek");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = pread(memory.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("read");
    at += static_cast<std::size_t>(n);
  }
  return bytes;
}

int MemoryDisk::create(std::string&) {
  file_ = make();
  return file_.get();
}

tl::expected<int, std::string> MemoryDisk::open(const std::string&) {
  if (lseek(file_.get(), 0, SEEK_SET) < 0) return tl::unexpected(std::string("it cannot be read"));
  return file_.get();
}

}  // namespace weir::server
