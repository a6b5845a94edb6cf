// Writes lines to a descriptor without ever making their author wait: a thread of its own writes, and what is
// not taken in time waits in a bounded buffer. When that is full, or nothing can be written, lines are
// dropped and counted; the next that is written says how many.
//
// Any thread. The descriptor stays the caller's, and as it is: another program may share it, so it must not
// be made non-blocking.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weir::inline v0_1::server {

class LineWriter {
 public:
  // What says that lines were dropped, as a line.
  using Dropped = std::function<std::string(std::uint64_t lines)>;

  LineWriter(int descriptor, Dropped dropped, std::size_t most_bytes = std::size_t{64} << 10);
  // Leaves a write that is under way to its thread, which ends when that does, or with the program.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // `line` ends in a newline.
  void write(std::string_view line);
  // Waits until all has been written, at most this long.
  bool flush(std::chrono::milliseconds longest);
  std::uint64_t dropped() const;  // since the start

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace weir::server
