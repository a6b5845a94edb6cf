#include "redis/reservation_id.hpp"

#include <array>
#include <memory>

#include "redis/slot.hpp"

namespace weir::inline v0_1::redis {
namespace {

constexpr std::size_t kTag = 16;
constexpr std::size_t kRandom = 22;
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using Tags = std::array<std::array<char, kTag>, kSlots>;

constexpr std::string_view kTagDigits = "0123456789abcdef";

// What a digit adds to the CRC of a text, which is the sum of what its characters add (a CRC is linear): a
// text of each slot is thus found in a millisecond, and nobody who waits for the loop notices.
using Adds = std::array<std::array<std::uint16_t, 16>, kTag>;

Adds all_adds() {
  Adds adds{};
  for (std::size_t at = 0; at < kTag; ++at) {
    for (std::size_t digit = 0; digit < kTagDigits.size(); ++digit) {
      unsigned crc = kCrc16[static_cast<unsigned char>(kTagDigits[digit])];
      for (std::size_t after = at + 1; after < kTag; ++after) crc = ((crc << 8) ^ kCrc16[crc >> 8]) & 0xFFFFU;
      adds[at][digit] = static_cast<std::uint16_t>(crc);
    }
  }
  return adds;
}

// For each slot the least number that lies in it.
std::unique_ptr<Tags> all_tags() {
  const Adds adds = all_adds();
  auto tags = std::make_unique<Tags>();
  std::size_t left = kSlots;
  for (std::uint64_t sixteen = 0; left > 0; ++sixteen) {
    std::array<std::uint8_t, kTag> digits{};
    unsigned crc = 0;
    std::uint64_t rest = sixteen;
    for (std::size_t at = kTag - 1; at > 0; --at, rest >>= 4) {
      digits[at - 1] = rest & 15;
      crc ^= adds[at - 1][rest & 15];
    }
    for (std::uint8_t last = 0; last < 16; ++last) {
      auto& tag = (*tags)[(crc ^ adds[kTag - 1][last]) % kSlots];
      if (tag[0] != 0) continue;
      digits[kTag - 1] = last;
      for (std::size_t at = 0; at < kTag; ++at) tag[at] = kTagDigits[digits[at]];
      --left;
    }
  }
  return tags;
}

// A prefix with a tag of its own has all in that one's slot. One that begins a tag and does not end it comes
// later: it would swallow ours.
std::string name(std::string_view prefix, std::uint16_t slot, std::string_view kind, std::string_view rest) {
  const std::string mark = "{" + std::string(tag_of(slot)) + "}limit#" + std::string(kind);
  std::string text(prefix);
  text += mark;
  text += rest;
  if (slot_of(text) == slot) return text;
  return mark + std::string(prefix) + std::string(rest);
}

}  // namespace

std::string_view tag_of(std::uint16_t slot) {
  static const std::unique_ptr<const Tags> kTags = all_tags();
  return {(*kTags)[slot % kSlots].data(), kTag};
}

std::string reservation_id(store::ReservationId id, std::uint16_t slot) {
  std::string text = id.text();
  for (const int shift : {12, 6, 0}) text += kDigits[static_cast<std::size_t>(slot >> shift) & 63];
  return text;
}

std::optional<std::uint16_t> slot_of_reservation(std::string_view id) {
  if (id.size() != kRandom + 3 || !store::ReservationId::read(id.substr(0, kRandom))) return std::nullopt;
  std::size_t slot = 0;
  for (const char each : id.substr(kRandom)) {
    const std::size_t digit = kDigits.find(each);
    if (digit == std::string_view::npos) return std::nullopt;
    slot = slot << 6 | digit;
  }
  if (slot >= kSlots) return std::nullopt;
  return static_cast<std::uint16_t>(slot);
}

std::string record_in_redis(std::string_view prefix, std::string_view id, std::uint16_t slot) {
  return name(prefix, slot, "id:", id);
}

std::string line_in_redis(std::string_view prefix, std::string_view state) {
  return name(prefix, slot_of(state), "line:", state);
}

std::string breaches_in_redis(std::string_view prefix, std::string_view state) {
  return name(prefix, slot_of(state), "breaches:", state);
}

}  // namespace weir::redis
