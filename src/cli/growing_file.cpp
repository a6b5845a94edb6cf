#include "cli/growing_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace weir::inline v0_1::cli {

GrowingFile::GrowingFile() : path_("standard output"), fd_(::dup(STDOUT_FILENO)) {
  if (fd_ < 0) fail(errno);
}

GrowingFile::GrowingFile(const std::string& path, unsigned mode) : path_(path), target_(path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    // For a symbolic link, the file that it names is replaced, not the link.
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    if (real) target_ = real.get();
    beside_ = target_ + ".tmp" + std::to_string(::getpid());
    fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  }
  if (fd_ < 0) fail(errno);
}

GrowingFile::~GrowingFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void GrowingFile::fail(int error) const {
  throw std::runtime_error(path_ + ": cannot be written: " + std::strerror(error));
}

void GrowingFile::flush() {
  for (std::size_t done = 0; done < text_.size();) {
    const ssize_t wrote = ::write(fd_, text_.data() + done, text_.size() - done);
    if (wrote < 0 && errno == EPIPE && target_.empty()) break;  // `| head` has seen enough
    if (wrote < 0 && errno != EINTR) fail(errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  text_.clear();
  // The disk begins now, so that finish() waits for the last piece only. Where it cannot, fsync() says so.
  if (!beside_.empty()) ::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void GrowingFile::finish() {
  flush();
  if (!beside_.empty() && ::fsync(fd_) != 0) fail(errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail(errno);
  if (!beside_.empty() && ::rename(beside_.c_str(), target_.c_str()) != 0) fail(errno);
  beside_.clear();
}

void write_file(const std::string& path, std::string bytes, unsigned mode) {
  GrowingFile file(path, mode);
  file.text() = std::move(bytes);
  file.finish();
}

}  // namespace weir::cli
