// What reservations may take of memory: a bound for all of them together, and a share of it for each client,
// so that nobody who makes reservations without end takes those of others.
//
// Counted are the bytes of what is kept (records, lines, holes), as their authors state them. Any thread may
// call anything at any time. What is taken goes back when the Share is destroyed, so a Share must not outlive
// the ReservationMemory. Not for: the table of states, which has a bound of its own (table.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "store/spin.hpp"

namespace weir::inline v0_1::store {

class ReservationMemory {
 public:
  // What is asked for. Those that only wait end by themselves, soon; holds last as long as a client likes, so
  // they leave a quarter free.
  enum class Kind : std::uint8_t { wait, hold };
  enum class Full : std::uint8_t { no, all, client, holds };

  class Share {
   public:
    Share() = default;
    Share(Share&& from) noexcept
        : memory_(std::exchange(from.memory_, nullptr)),
          client_(from.client_),
          bytes_(from.bytes_),
          kind_(from.kind_) {}
    Share& operator=(Share&& from) noexcept {
      if (this == &from) return *this;
      release();
      memory_ = std::exchange(from.memory_, nullptr);
      client_ = from.client_;
      bytes_ = from.bytes_;
      kind_ = from.kind_;
      return *this;
    }
    ~Share() { release(); }

    explicit operator bool() const { return memory_ != nullptr; }
    std::uint64_t client() const { return client_; }

   private:
    friend class ReservationMemory;
    Share(ReservationMemory& memory, std::uint64_t client, std::size_t bytes, Kind kind)
        : memory_(&memory), client_(client), bytes_(bytes), kind_(kind) {}
    void release() noexcept {
      if (memory_ != nullptr) std::exchange(memory_, nullptr)->give_back(client_, bytes_, kind_);
    }

    ReservationMemory* memory_ = nullptr;
    std::uint64_t client_ = 0;
    std::size_t bytes_ = 0;
    Kind kind_ = Kind::wait;
  };

  explicit ReservationMemory(std::size_t bound) : bound_(bound) {}
  ReservationMemory(const ReservationMemory&) = delete;
  ReservationMemory& operator=(const ReservationMemory&) = delete;

  // An empty Share when there is no room; `full` then says why. One client may take at most half of all,
  // holds three quarters. The client 0 is this program itself, which shares with nobody.
  Share take(std::uint64_t client, std::size_t bytes, Kind kind, Full& full);
  Share take(std::uint64_t client, std::size_t bytes, Kind kind) {
    Full ignored = Full::no;
    return take(client, bytes, kind, ignored);
  }

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t bound() const { return bound_; }
  // For people: what is full, and whose it is.
  std::string describe(Full full) const;

 private:
  static constexpr std::size_t kShelves = 16;
  struct Shelf {
    SpinLock mutex;
    // By client; those that have none are not here.
    std::unordered_map<std::uint64_t, std::size_t> bytes WEIR_GUARDED_BY(mutex);
  };

  Shelf& shelf_of(std::uint64_t client) { return shelves_[(client * 0x9e3779b97f4a7c15U) >> 60]; }
  void give_back(std::uint64_t client, std::size_t bytes, Kind kind) noexcept;

  const std::size_t bound_;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> held_{0};
  std::array<Shelf, kShelves> shelves_;
};

}  // namespace weir::store
