#include "store/reservation_memory.hpp"

namespace weir::inline v0_1::store {

namespace {

// Adds unless the sum would be above the bound.
bool add(std::atomic<std::size_t>& sum, std::size_t bytes, std::size_t bound) {
  std::size_t seen = sum.load(std::memory_order_relaxed);
  do {
    if (bytes > bound || seen > bound - bytes) return false;
  } while (!sum.compare_exchange_weak(seen, seen + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace

ReservationMemory::Share ReservationMemory::take(std::uint64_t client, std::size_t bytes, Kind kind,
                                                 Full& full) {
  const bool holds = kind == Kind::hold;
  if (!add(bytes_, bytes, bound_)) {
    full = Full::all;
    return {};
  }
  if (holds && !add(held_, bytes, bound_ - bound_ / 4)) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    full = Full::holds;
    return {};
  }
  if (client != 0) {
    Shelf& shelf = shelf_of(client);
    const Held lock(shelf.mutex);
    std::size_t& its = shelf.bytes[client];
    if (its + bytes > bound_ / 2) {
      if (its == 0) shelf.bytes.erase(client);
      bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      if (holds) held_.fetch_sub(bytes, std::memory_order_relaxed);
      full = Full::client;
      return {};
    }
    its += bytes;
  }
  full = Full::no;
  return Share(*this, client, bytes, kind);
}

void ReservationMemory::give_back(std::uint64_t client, std::size_t bytes, Kind kind) noexcept {
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (kind == Kind::hold) held_.fetch_sub(bytes, std::memory_order_relaxed);
  if (client == 0) return;
  Shelf& shelf = shelf_of(client);
  const Held lock(shelf.mutex);
  const auto found = shelf.bytes.find(client);
  if (found == shelf.bytes.end()) return;
  found->second -= bytes;
  if (found->second == 0) shelf.bytes.erase(found);
}

std::string ReservationMemory::describe(Full full) const {
  const auto of = [](std::size_t bytes) { return std::to_string(bytes) + " bytes"; };
  switch (full) {
    case Full::no:
      break;
    case Full::all:
      return "the memory for reservations is full: " + of(bound_);
    case Full::client:
      return "this client's share of the memory for reservations is full: " + of(bound_ / 2);
    case Full::holds:
      return "what holds may take of the memory for reservations is full: " + of(bound_ - bound_ / 4);
  }
  return "there is room";
}

}  // namespace weir::store
