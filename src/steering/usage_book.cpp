#include "steering/usage_book.hpp"

#include <algorithm>

namespace weir::inline v0_1::steering {

std::size_t UsageBook::bytes_of(const Record& record) {
  return sizeof(Record) + kKeyBytes + record.usage.windows.capacity() * sizeof(Usage::Kept) +
         record.windows.capacity() * sizeof(UsageWindow);
}

bool UsageBook::book(const Booking& booking) {
  if (booking.hash == 0) {
    book(booking.place, booking.change, booking.utc);
    return true;
  }
  clear_away(booking.utc);
  auto found = keys_.find(booking.hash);
  if (found == keys_.end()) {
    Record record{.usage = {}, .windows = booking.windows, .place = booking.place};
    record.usage.book(booking.windows, booking.change, booking.utc);
    const std::size_t bytes = bytes_of(record);
    if (bytes_ + bytes > memory_) {
      complete_from_ = std::max(complete_from_, record.usage.over());
      return false;
    }
    bytes_ += bytes;
    if (booking.place != UsagePlace{}) places_.emplace(booking.place, booking.hash);
    keys_.emplace(booking.hash, std::move(record));
    return true;
  }
  Record& record = found->second;
  bytes_ -= bytes_of(record);
  record.windows = booking.windows;
  record.usage.book(booking.windows, booking.change, booking.utc);
  bytes_ += bytes_of(record);
  if (record.place != booking.place && booking.place != UsagePlace{}) {
    places_.erase(record.place);
    record.place = booking.place;
    places_.emplace(booking.place, booking.hash);
  }
  return true;
}

void UsageBook::book(const UsagePlace& place, const UnitChange& change, std::chrono::nanoseconds utc) {
  const auto found = places_.find(place);
  if (found == places_.end()) return;
  Record& record = keys_.find(found->second)->second;
  record.usage.book(record.windows, change, utc);
}

std::optional<Usage> UsageBook::find(std::uint64_t hash, std::chrono::nanoseconds utc) const {
  const auto found = keys_.find(hash);
  if (found != keys_.end()) return found->second.usage;
  return utc < complete_from_ ? std::nullopt : std::optional<Usage>(std::in_place);
}

// A few buckets of the table at a time, and all of them by and by.
void UsageBook::clear_away(std::chrono::nanoseconds utc) {
  constexpr std::size_t kBucketsAtOnce = 8;
  for (std::size_t i = 0; i < std::min(kBucketsAtOnce, keys_.bucket_count()) && !keys_.empty(); ++i) {
    looked_ = (looked_ + 1) % keys_.bucket_count();
    std::vector<std::uint64_t> over;
    for (auto each = keys_.begin(looked_); each != keys_.end(looked_); ++each)
      if (each->second.usage.over() <= utc) over.push_back(each->first);
    for (const std::uint64_t hash : over) {
      const auto found = keys_.find(hash);
      bytes_ -= bytes_of(found->second);
      places_.erase(found->second.place);
      keys_.erase(found);
    }
  }
}

}  // namespace weir::steering
