// What keys have used, in bounded memory: of each that is tracked a Usage.
//
// A key that finds the memory full is not tracked: it is turned away, and is told so for as long as anything
// of it might be missing. What is over makes room, a few keys at a time.
//
// One thread at a time. Times are of the wall clock. Not for: which requests are booked, and other servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "steering/usage.hpp"

namespace weir::inline v0_1::steering {

// Where a store has what a key is counted by: its limit's number, and the store's own of the key.
using UsagePlace = std::pair<std::uint64_t, std::uint64_t>;
struct UsagePlaceHash {
  std::size_t operator()(const UsagePlace& place) const { return place.first * 31 ^ place.second; }
};

// What was booked of a key within a time in which no period of it ends.
struct Booking {
  std::uint64_t hash = 0;  // of limit and key, with a secret; 0: its place alone is known
  UsagePlace place{};      // of one of its states; {}: not known
  std::string limit{};     // its id
  std::string key{};       // as its state has it
  std::vector<UsageWindow> windows{};
  std::chrono::nanoseconds utc{0};
  UnitChange change{};

  std::size_t bytes() const {
    return sizeof(Booking) + limit.capacity() + key.capacity() + windows.capacity() * sizeof(UsageWindow);
  }
};

class UsageBook {
 public:
  explicit UsageBook(std::size_t memory) : memory_(memory) {}

  // False: it is turned away.
  bool book(const Booking& booking);
  // Of a state that a store knows by that place; no other key is known by one.
  void book(const UsagePlace& place, const UnitChange& change, std::chrono::nanoseconds utc);
  // Nothing: it is not tracked, or may have been turned away. One that was never booked has used nothing.
  std::optional<Usage> find(std::uint64_t hash, std::chrono::nanoseconds utc) const;

  std::size_t keys() const { return keys_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  // About what a key takes beside its texts: its nodes in both tables, and their share of the buckets.
  static constexpr std::size_t kKeyBytes = 192;

  struct Record {
    Usage usage{};
    std::vector<UsageWindow> windows{};
    UsagePlace place{};
  };

  static std::size_t bytes_of(const Record& record);
  void clear_away(std::chrono::nanoseconds utc);

  std::size_t memory_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, Record> keys_;
  std::unordered_map<UsagePlace, std::uint64_t, UsagePlaceHash> places_;
  std::size_t looked_ = 0;                     // whose turn it is of the buckets
  std::chrono::nanoseconds complete_from_{0};  // from then on nothing is told that a key turned away used
};

}  // namespace weir::steering
