// What reservations and pauses may take of memory: a bound for all of them together, a part of it for each
// kind, and a share of that for each client, so that nobody who makes one of them without end takes the
// place of others.
//
// Counted are the bytes of what is kept (records, ledgers, slots), as their authors state them. Any thread
// may call anything at any time. What is taken goes back when the Share is destroyed, so a Share must not
// outlive the ReservationMemory. Not for: the table of states, which has a bound of its own (table.hpp).
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
  // What is asked for. An eighth is left to each kind by the others, so that what lasts for a day shuts out
  // neither the other that does nor those that only wait. So waits and holds may take three quarters; pauses
  // a quarter.
  enum class Kind : std::uint8_t { wait, hold, pause };
  // Why there is no room: all is taken that is not left to others, or the kind's part, or the client's share.
  enum class Full : std::uint8_t { no, all, part, client };

  // Of pauses: who takes them that no client has asked for, which are penalties.
  static constexpr std::uint64_t kPenalties = ~std::uint64_t{0};

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
    Kind kind() const { return kind_; }
    bool is_of(std::uint64_t client, Kind kind) const { return *this && client_ == client && kind_ == kind; }

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

  // An empty Share when there is no room; `full` then says why. One client may take at most half of all, and
  // of the part of pauses half, for which a client is an address. The client 0 is this program itself, which
  // shares with nobody.
  Share take(std::uint64_t client, std::size_t bytes, Kind kind, Full& full);
  Share take(std::uint64_t client, std::size_t bytes, Kind kind) {
    Full ignored = Full::no;
    return take(client, bytes, kind, ignored);
  }

  std::size_t bytes() const { return bytes(Kind::wait) + bytes(Kind::hold) + bytes(Kind::pause); }
  std::size_t bytes(Kind kind) const {
    return bytes_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  std::size_t bound() const { return bound_; }
  // For people: what is full for that kind, and whose it is.
  std::string describe(Full full, Kind kind) const;

 private:
  static constexpr std::size_t kKinds = 3;
  static constexpr std::size_t kShelves = 16;
  // By client; those that have none are not here.
  using Shares = std::unordered_map<std::uint64_t, std::size_t>;
  struct Shelf {
    SpinLock mutex;
    Shares of_reservations WEIR_GUARDED_BY(mutex);
    Shares of_pauses WEIR_GUARDED_BY(mutex);

    Shares& of(Kind kind) WEIR_REQUIRES(mutex) { return kind == Kind::pause ? of_pauses : of_reservations; }
  };

  Shelf& shelf_of(std::uint64_t client) { return shelves_[(client * 0x9e3779b97f4a7c15U) >> 60]; }
  std::size_t left_to_each() const { return bound_ / 8; }
  std::size_t part_of(Kind kind) const {
    return kind == Kind::pause ? bound_ / 4 : bound_ - (kKinds - 1) * left_to_each();
  }
  std::size_t share_of(Kind kind) const { return kind == Kind::pause ? part_of(kind) / 2 : bound_ / 2; }
  Full look(std::size_t bytes, Kind kind) const WEIR_REQUIRES(adding_);
  Full add(std::size_t bytes, Kind kind);
  void subtract(std::size_t bytes, Kind kind) noexcept;
  void give_back(std::uint64_t client, std::size_t bytes, Kind kind) noexcept;

  const std::size_t bound_;
  SpinLock adding_;
  // By kind; they grow under that lock.
  std::array<std::atomic<std::size_t>, kKinds> bytes_{};
  std::array<Shelf, kShelves> shelves_;
};

}  // namespace weir::store
