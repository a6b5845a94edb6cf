#include "sim/event_spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace weir::inline v0_1::sim {
namespace {

static_assert(std::is_trivially_copyable_v<logs::Event>);

std::string folder() {
  const char* const given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/tmp";
}

[[noreturn]] void fail() {
  throw std::runtime_error("the temporary file in " + folder() + ": " + std::strerror(errno) +
                           "; set TMPDIR to use another folder");
}

}  // namespace

EventSpool::EventSpool() {
  std::string path = folder() + "/weir-XXXXXX";
  fd_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) fail();
  ::unlink(path.c_str());
}

EventSpool::~EventSpool() { ::close(fd_); }

void EventSpool::add(std::span<const logs::Event> events) {
  const auto* bytes = reinterpret_cast<const char*>(events.data());
  for (std::size_t left = events.size_bytes(); left > 0;) {
    const ssize_t wrote = ::write(fd_, bytes, left);
    if (wrote < 0 && errno != EINTR) fail();
    if (wrote <= 0) continue;
    bytes += wrote;
    left -= static_cast<std::size_t>(wrote);
  }
  count_ += events.size();
}

void EventSpool::read(std::uint64_t at, std::vector<logs::Event>& piece) {
  piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, count_ - at)));
  auto* const bytes = reinterpret_cast<char*>(piece.data());
  const std::size_t size = piece.size() * sizeof(logs::Event);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(fd_, bytes + done, size - done, static_cast<off_t>(at * sizeof(logs::Event) + done));
    if (got == 0) errno = EIO;
    if (got <= 0 && errno != EINTR) fail();
    if (got > 0) done += static_cast<std::size_t>(got);
  }
}

}  // namespace weir::sim
