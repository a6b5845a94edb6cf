// What clients make a program keep, against one bound: half commands, transactions, replies that are not
// taken, what waits for a store, handshakes of TLS.
//
// Each session charges what it keeps to its loop, in steps: only a change of several KiB is counted. Above
// the bound the largest holders are closed, whichever loop they are on. What a connection costs by itself
// does not count against it: how many there may be is that bound.
//
// ClientMemory: any thread. Holders: its loop's, but for largest(). Not for: what is kept for all clients
// together, such as the table.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

namespace weir::inline v0_1::net {

class Session;

// What one session is charged.
struct MemoryCharge {
  std::size_t rest = 0;    // for being connected, which no bound counts
  std::size_t beyond = 0;  // for what it makes us keep besides

  // Half a command of a few hundred bytes is in what each connection costs; beyond that whole pages count.
  static constexpr std::size_t kFree = 1024;
  static constexpr std::size_t steps(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    return bytes <= kFree ? 0 : (bytes + kPage - 1) / kPage * kPage;
  }
  std::size_t sum() const { return rest + beyond; }
  bool operator==(const MemoryCharge&) const = default;
};

struct ClientMemory {
  std::size_t most = std::numeric_limits<std::size_t>::max();  // set before the first thread
  std::atomic<std::size_t> used{0};
  std::atomic<std::size_t> at_rest{0};   // what connections cost by themselves
  std::atomic<std::size_t> leaving{0};   // no longer charged, and freed when its session is
  std::atomic<std::uint64_t> closed{0};  // connections, for it

  bool over() const { return used.load(std::memory_order_relaxed) > most; }
  void change(const MemoryCharge& from, const MemoryCharge& to) {
    at_rest.fetch_add(to.rest - from.rest, std::memory_order_relaxed);
    used.fetch_add(to.beyond - from.beyond, std::memory_order_relaxed);
    const std::size_t now = all();
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  // Whether much has been freed since it was at its most, or since this last said so. One thread.
  bool fell() {
    constexpr std::size_t kMuch = std::size_t{4} << 20;
    const std::size_t now = all() + leaving.load(std::memory_order_relaxed);
    if (peak_.load(std::memory_order_relaxed) < now + kMuch) return false;
    peak_.store(now, std::memory_order_relaxed);
    return true;
  }

 private:
  std::size_t all() const {
    return used.load(std::memory_order_relaxed) + at_rest.load(std::memory_order_relaxed);
  }

  std::atomic<std::size_t> peak_{0};  // also when nobody was looking
};

// The sessions of one loop that keep more than themselves, in the order in which they are to be closed. Of
// those whose charges are within one power of two, the one that has kept it for longest is the first: by
// exact sizes, an attacker that stays a little smaller than an honest handshake would have the honest one
// closed.
class Holders {
 public:
  using Rank = std::uint64_t;  // the greatest is the first to be closed; 0: nobody

  // `since` is when the session began to keep more than itself; it stays the same until it keeps nothing.
  void change(Session& session, std::chrono::nanoseconds since, std::size_t from, std::size_t to) {
    const Rank before = rank(from, since);
    const Rank after = rank(to, since);
    if (before == after) return;
    if (before > 0) order_.erase({before, &session});
    if (after > 0) order_.insert({after, &session});
    first_.store(order_.empty() ? 0 : order_.rbegin()->first, std::memory_order_relaxed);
  }
  Rank first_rank() const { return first_.load(std::memory_order_relaxed); }  // any thread
  Session& first() const { return *order_.rbegin()->second; }

 private:
  static Rank rank(std::size_t kept, std::chrono::nanoseconds since) {
    constexpr unsigned kTimeBits = 57;  // of microseconds
    if (kept == 0) return 0;
    const auto time = static_cast<Rank>(std::chrono::floor<std::chrono::microseconds>(since).count());
    return static_cast<Rank>(std::bit_width(kept)) << kTimeBits | ((Rank{1} << kTimeBits) - 1 - time);
  }

  std::set<std::pair<Rank, Session*>> order_;
  std::atomic<Rank> first_{0};
};

}  // namespace weir::net
