// A file that is written piece by piece and exists whole or not at all.
//
// One thread. Not for: what is in memory already (cli/write_file.hpp).
#pragma once

#include <string>

namespace weir::cli {

class GrowingFile {
 public:
  // "-" is standard output. A device or a pipe is written to directly, anything else under a name beside
  // `path` until finish(). A new file permits what `mode` says. Throws std::runtime_error, here and below,
  // whose text names the file.
  GrowingFile(std::string path, unsigned mode);
  // What was not finished is removed.
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // To be appended to, then flushed.
  std::string& text() { return text_; }
  void flush_if_much() {
    if (text_.size() >= kMuch) flush();
  }
  void flush();
  void finish();

 private:
  static constexpr std::size_t kMuch = std::size_t{256} << 10;
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string target_;
  std::string beside_;  // empty for what is written to directly
  int fd_ = -1;
  std::string text_;
};

}  // namespace weir::cli
