#include "store/reservation_memory.hpp"

#include <algorithm>

namespace weir::inline v0_1::store {

// Whether it would be above the part of its kind, or take what is left to another.
ReservationMemory::Full ReservationMemory::look(std::size_t bytes, Kind kind) const {
  const std::size_t its = this->bytes(kind);
  if (bytes > part_of(kind) || its > part_of(kind) - bytes) return Full::part;
  std::size_t all = its + bytes;
  for (const Kind other : {Kind::wait, Kind::hold, Kind::pause})
    if (other != kind) all += std::max(this->bytes(other), left_to_each());
  return all > bound_ ? Full::all : Full::no;
}

ReservationMemory::Full ReservationMemory::add(std::size_t bytes, Kind kind) {
  const Held lock(adding_);
  const Full full = look(bytes, kind);
  if (full == Full::no) bytes_[static_cast<std::size_t>(kind)].fetch_add(bytes, std::memory_order_relaxed);
  return full;
}

void ReservationMemory::subtract(std::size_t bytes, Kind kind) noexcept {
  bytes_[static_cast<std::size_t>(kind)].fetch_sub(bytes, std::memory_order_relaxed);
}

ReservationMemory::Share ReservationMemory::take(std::uint64_t client, std::size_t bytes, Kind kind,
                                                 Full& full) {
  full = add(bytes, kind);
  if (full != Full::no) return {};
  if (client != 0) {
    Shelf& shelf = shelf_of(client);
    const Held lock(shelf.mutex);
    const auto its = shelf.of(kind).try_emplace(client).first;
    if (its->second + bytes > share_of(kind)) {
      if (its->second == 0) shelf.of(kind).erase(its);
      subtract(bytes, kind);
      full = Full::client;
      return {};
    }
    its->second += bytes;
  }
  return Share(*this, client, bytes, kind);
}

void ReservationMemory::give_back(std::uint64_t client, std::size_t bytes, Kind kind) noexcept {
  subtract(bytes, kind);
  if (client == 0) return;
  Shelf& shelf = shelf_of(client);
  const Held lock(shelf.mutex);
  const auto found = shelf.of(kind).find(client);
  if (found == shelf.of(kind).end()) return;
  found->second -= bytes;
  if (found->second == 0) shelf.of(kind).erase(found);
}

std::string ReservationMemory::describe(Full full, Kind kind) const {
  constexpr std::array kNames = {"waits", "holds", "pauses"};
  const std::string part = std::string("what ") + kNames[static_cast<std::size_t>(kind)] + " may take of ";
  const auto is_full = [](const std::string& whose, std::size_t bytes) {
    return whose + "the memory for reservations is full: " + std::to_string(bytes) + " bytes";
  };
  switch (full) {
    case Full::no:
      break;
    case Full::all:
      return is_full("", bound_);
    case Full::part:
      return is_full(part, part_of(kind));
    case Full::client:
      return is_full(kind == Kind::pause ? "this address's share of " + part : "this client's share of ",
                     share_of(kind));
  }
  return "there is room";
}

}  // namespace weir::store
