// The open holds of one connection that end with it.
//
// What is settled or cancelled by this connection leaves at once. What ends otherwise, by its time or by
// another's settlement, is not told here: with each hold that comes, two of the others are looked at, those
// that were longest ago, and one that should be over is asked about. So what is kept is about twice what is
// open, and no call costs more the longer the connection lasts.
//
// The thread of its loop. Destroying it ends them (hold_ender.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/packed.hpp"
#include "service/hold_ender.hpp"

namespace weir::inline v0_1::service {

class BoundHolds {
 public:
  // More would take more than some 4 MiB of a connection.
  static constexpr std::size_t kMost = 16'384;

  explicit BoundHolds(HoldEnder& ender) : ender_(ender) {}
  ~BoundHolds();
  BoundHolds(const BoundHolds&) = delete;
  BoundHolds& operator=(const BoundHolds&) = delete;

  // One is asked for, and is answered: then it has been added, or there is none.
  void expect() { ++expected_; }
  void answered() { --expected_; }
  bool full() const { return holds_.size() + expected_ >= kMost; }

  // At `now` it ends in `time` from now, if nobody ends or extends it. It may be cancelled while its moment
  // is yet to come.
  void add(std::string_view id, bool may_wait, std::chrono::nanoseconds time, std::chrono::nanoseconds now);
  void drop(std::string_view id);

  // For another process, which goes on with them; then leave(), and nothing ends with this.
  void pack(core::Packing& to) const;
  void take_over(core::Unpacking& from);
  void leave();

  std::size_t size() const { return holds_.size(); }
  std::size_t kept() const { return holds_.size() * kBytes; }

 private:
  // About what one takes.
  static constexpr std::size_t kBytes = 224;

  struct Held {
    HoldEnder::Hold hold;
    std::chrono::nanoseconds time;
    std::chrono::nanoseconds ends;  // at the earliest, as far as is known
  };

  void look_at_oldest(std::chrono::nanoseconds now);

  HoldEnder& ender_;
  std::size_t expected_ = 0;
  std::list<Held> holds_;  // those looked at longest ago first
  std::unordered_map<std::string_view, std::list<Held>::iterator> by_id_;
  std::shared_ptr<BoundHolds*> self_ = std::make_shared<BoundHolds*>(this);
};

}  // namespace weir::service
