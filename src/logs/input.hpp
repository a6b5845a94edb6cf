// The bytes of a log: a file or standard input; plain, gzip or zstd, recognised by the first bytes.
//
// One thread at a time; the object owns the descriptor and the decoder. Not for: lines
// (src/logs/log_source.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::inline v0_1::logs {

class Input {
 public:
  // "-" is standard input. `stop` ends a read that waits. With `follow` the end of a file on disk is not the
  // end: it may grow, be truncated, or be replaced by another of its name, as `tail -F` has it. Throws
  // std::runtime_error, which names the file.
  Input(const std::string& path, const std::atomic<bool>& stop, bool follow = false);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Up to `size` decoded bytes; 0 at the end, or, of what is followed, when there is nothing yet (waiting()).
  // Throws std::runtime_error when the file cannot be read, or its compressed data is truncated or damaged;
  // by then every byte before the fault has been returned.
  std::size_t read(char* out, std::size_t size);

  bool waiting() const { return waiting_; }

  // Bytes read of the file as it is on disk, for progress.
  std::uint64_t consumed() const { return consumed_; }

  // The size of a regular file, 0 for anything else.
  static std::uint64_t size_of(const std::string& path);

 private:
  class Decoder;
  class Gzip;
  class Zstd;

  std::size_t read_raw(char* out, std::size_t size);
  std::size_t read_followed(char* out, std::size_t size);
  bool moved_on();
  void look_at(std::string_view begin);
  void fill();
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  const std::atomic<bool>& stop_;
  int fd_ = -1;
  bool waits_ = false;  // not a file on disk
  bool follow_ = false;
  bool waiting_ = false;
  bool inside_line_ = false;      // of what is followed
  std::uint64_t read_of_it_ = 0;  // bytes of the file that is followed now
  std::uint64_t consumed_ = 0;
  std::unique_ptr<char[]> raw_;  // read, not yet decoded
  std::size_t raw_begin_ = 0;
  std::size_t raw_end_ = 0;
  bool raw_ended_ = false;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace weir::logs
