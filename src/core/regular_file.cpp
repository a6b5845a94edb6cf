#include "core/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weir::inline v0_1::core {
namespace {

tl::unexpected<std::string> failed(int error) { return tl::unexpected(std::string(std::strerror(error))); }

}  // namespace

tl::expected<int, std::string> open_regular_file(const std::string& path, int flags) {
  // Without O_NONBLOCK the call waits for a pipe's writer.
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return failed(errno);
  struct stat about{};
  const int error = fstat(descriptor, &about) != 0 ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
  if (error == 0 && S_ISREG(about.st_mode)) return descriptor;
  close(descriptor);
  if (error != 0) return failed(error);
  return tl::unexpected(std::string("Not a regular file"));
}

tl::expected<std::string, std::string> read_regular_file(const std::string& path, std::size_t most) {
  const auto descriptor = open_regular_file(path);
  if (!descriptor) return tl::unexpected(descriptor.error());
  auto text = read_to_end(*descriptor, most);
  close(*descriptor);
  return text;
}

tl::expected<std::string, std::string> read_to_end(int descriptor, std::size_t most) {
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (text.size() <= most) {
    const ssize_t got = read(descriptor, buffer.data(), std::min(buffer.size(), most + 1 - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace weir::core
