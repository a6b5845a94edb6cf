// What clients make a program keep, against one bound: half commands, transactions, replies that are not
// taken, what waits for a store, TLS.
//
// Each session charges what it keeps to its loop, in steps: only a change of several KiB is counted. Above
// the bound the largest holders are closed, whichever loop they are on, and of equals the oldest first: half
// handshakes are much alike, and a client ends its own soon. Connections that keep nothing but themselves
// are never closed for it; when those alone reach the bound, no further one is accepted.
//
// ClientMemory: any thread. Holders: its loop's, but for largest(). Not for: what is kept for all clients
// together, such as the table.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>

namespace weir::net {

class Session;

struct ClientMemory {
  std::size_t most = std::numeric_limits<std::size_t>::max();  // set before the first thread
  std::atomic<std::size_t> used{0};
  std::atomic<std::uint64_t> closed{0};  // connections, for it

  bool over() const { return used.load(std::memory_order_relaxed) > most; }
  // Whether it is much less than it was at its most since this last said so. One thread.
  bool fell() {
    constexpr std::size_t kMuch = std::size_t{4} << 20;
    const std::size_t now = used.load(std::memory_order_relaxed);
    peak_ = std::max(peak_, now);
    if (peak_ - now < kMuch) return false;
    peak_ = now;
    return true;
  }

 private:
  std::size_t peak_ = 0;
};

// What one session is charged.
struct Charge {
  std::size_t rest = 0;    // for being connected
  std::size_t beyond = 0;  // for what it makes us keep besides

  // Half a command of a few hundred bytes is in what each connection costs; beyond that whole pages count.
  static constexpr std::size_t steps(std::size_t bytes) {
    constexpr std::size_t kFree = 1024;
    constexpr std::size_t kPage = 4096;
    return bytes <= kFree ? 0 : (bytes + kPage - 1) / kPage * kPage;
  }
  std::size_t sum() const { return rest + beyond; }
  bool operator==(const Charge&) const = default;
};

// The sessions of one loop that keep more than themselves, in the order in which they are to be closed.
class Holders {
 public:
  // `came` tells which of equals is the oldest.
  void change(Session& session, std::chrono::nanoseconds came, std::size_t from, std::size_t to) {
    if (from > 0) order_.erase({from, -came, &session});
    if (to > 0) order_.insert({to, -came, &session});
    largest_.store(order_.empty() ? 0 : std::get<0>(*order_.rbegin()), std::memory_order_relaxed);
  }
  // What the first to be closed keeps; 0 when there is none. Any thread.
  std::size_t largest() const { return largest_.load(std::memory_order_relaxed); }
  Session& first() const { return *std::get<2>(*order_.rbegin()); }

 private:
  std::set<std::tuple<std::size_t, std::chrono::nanoseconds, Session*>> order_;
  std::atomic<std::size_t> largest_{0};
};

}  // namespace weir::net
