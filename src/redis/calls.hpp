// The calls of a client that have no result yet, and when each is due.
//
// One thread. A call's number is used again once it has its result; a CallRef tells whether it still means
// the call that it was made for. Not for: sending (client.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis/call.hpp"

namespace weir::inline v0_1::redis {

// A call that waits; its number may be another's by the time it is looked at.
struct CallRef {
  std::uint32_t call;
  std::uint32_t generation;
};

// Which of the calls that wait for a busy node leave first.
enum class Rank : std::uint8_t {
  usual,  // in order; passed over when its answer would come too late
  kept,   // in order among the usual ones; sent at any time before its deadline
  first,  // before those; sent at any time before its deadline
};

struct OpenCall {
  std::unique_ptr<Call> its{};  // null: the number is free
  std::string command{};
  Rank rank = Rank::usual;
  std::uint16_t slot = 0;
  std::uint16_t hops = 0;
  std::uint16_t again = 0;               // TRYAGAINs
  std::chrono::nanoseconds patience{0};  // from when it was made to
  std::chrono::nanoseconds deadline{0};
  std::uint32_t node = ~std::uint32_t{0};  // that it was sent to
  std::uint32_t generation = 0;
  bool asking = false;  // was sent after an ASKING
  bool held = false;    // back, because the node is busy
};

class Calls {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  // What is to be done about a call at a time.
  struct Due {
    nanoseconds at;
    CallRef ref;
    bool retry;  // else: its deadline
    friend bool operator>(const Due& a, const Due& b) { return a.at > b.at; }
  };

  OpenCall& operator[](std::uint32_t call) { return calls_[call]; }
  const OpenCall& operator[](std::uint32_t call) const { return calls_[call]; }
  CallRef ref(std::uint32_t call) const { return {call, calls_[call].generation}; }
  bool waits(CallRef ref) const { return calls_[ref.call].generation == ref.generation; }
  std::size_t open() const { return calls_.size() - free_.size(); }
  // Of the open ones, about.
  std::size_t bytes() const { return bytes_; }

  std::uint32_t add(OpenCall call);
  // The call has its result; null when it had one already.
  std::unique_ptr<Call> close(std::uint32_t call);

  void schedule(Due due);
  // The first that is due by `now`, of a call that waits.
  std::optional<Due> take_due(nanoseconds now);
  std::optional<nanoseconds> next_due() const;

 private:
  void pop();

  std::vector<OpenCall> calls_;
  std::vector<std::uint32_t> free_;
  std::size_t bytes_ = 0;
  std::vector<Due> due_;  // a heap
};

}  // namespace weir::redis
