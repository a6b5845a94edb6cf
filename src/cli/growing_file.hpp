// A file that is written piece by piece, or at once, and exists whole or not at all: neither a full disk nor
// kill -9 leaves half of it.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>

namespace weir::inline v0_1::cli {

class GrowingFile {
 public:
  // A device or a pipe is written to directly, anything else under a name beside `path` until finish(). A new
  // file permits what `mode` says, which the umask narrows. Throws std::runtime_error, here and below, whose
  // text names the file.
  GrowingFile(const std::string& path, unsigned mode);
  static GrowingFile standard_output() { return {}; }
  // What was not finished is removed.
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // To be appended to, then flushed.
  std::string& text() { return text_; }
  void flush_if_much() {
    if (text_.size() >= kMuch) flush();
  }
  void finish();

 private:
  static constexpr std::size_t kMuch = std::size_t{256} << 10;
  GrowingFile();
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string target_;  // empty for standard output
  std::string beside_;  // what becomes the target; empty for what is written to directly
  int fd_ = -1;
  std::string text_;
};

// Permissions of a file that names clients.
inline constexpr unsigned kOwnerOnly = 0600;

// A file of what is in memory already.
void write_file(const std::string& path, std::string bytes, unsigned mode = 0644);

}  // namespace weir::cli
