// The events of a log, kept in an unnamed temporary file, so that several passes take constant memory: also
// over a pipe, and without decoding and parsing each time.
//
// One thread at a time. 24 bytes an event in $TMPDIR, or in /tmp; gone with the object, however the program
// ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "logs/log_reader.hpp"

namespace weir::inline v0_1::sim {

class EventSpool {
 public:
  // Throws std::runtime_error, here and below, when the file cannot be made, written or read.
  EventSpool();
  ~EventSpool();
  EventSpool(const EventSpool&) = delete;
  EventSpool& operator=(const EventSpool&) = delete;

  void add(std::span<const logs::Event> events);

  // All events, in order.
  template <class Each>
  void each(Each&& each) {
    std::vector<logs::Event> piece(kPiece);
    for (std::uint64_t at = 0; at < count_; at += piece.size()) {
      read(at, piece);
      for (const logs::Event& event : piece) each(event);
    }
  }

 private:
  static constexpr std::size_t kPiece = 16'384;
  void read(std::uint64_t at, std::vector<logs::Event>& piece);

  int fd_ = -1;
  std::uint64_t count_ = 0;
};

}  // namespace weir::sim
