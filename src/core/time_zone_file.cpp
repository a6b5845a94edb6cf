#include "core/time_zone_file.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/time_zone_rule.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::seconds;

constexpr std::string_view kMagic = "TZif";
// Shifts this far away are of nobody's clock; sums with them stay in 64 bits.
constexpr std::int64_t kMostTime = std::int64_t{1} << 61U;
// What RFC 9636 lets a clock be ahead of UTC is less.
constexpr std::int64_t kMostEast = std::int64_t{26} * 3600;

struct Shift {
  seconds at;
  seconds east;
};

class ShiftingZone final : public TimeZone {
 public:
  ShiftingZone(seconds first, std::vector<Shift> shifts, std::optional<TimeZoneRule> rule)
      : first_(first), shifts_(std::move(shifts)), rule_(rule) {}

  Span at(seconds utc) const override {
    const auto after = std::upper_bound(shifts_.begin(), shifts_.end(), utc,
                                        [](seconds time, const Shift& each) { return time < each.at; });
    const bool is_before = after == shifts_.begin();
    Span span{seconds::min() / 2, seconds::max() / 2, first_};
    if (after != shifts_.end()) {
      span.to = after->at;
    } else if (rule_) {
      span = rule_->at(utc);
    }
    if (is_before) return span;
    span.from = std::max(span.from, (after - 1)->at);
    if (after != shifts_.end() || !rule_) span.east = (after - 1)->east;
    return span;
  }

 private:
  const seconds first_;  // how far it is ahead before the first shift
  const std::vector<Shift> shifts_;
  const std::optional<TimeZoneRule> rule_;  // from the last shift on
};

// Throws where there is no more. Numbers are big-endian.
class ZoneBytes {
 public:
  explicit ZoneBytes(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw std::runtime_error("it is cut off");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::int64_t number(std::size_t size) {
    std::uint64_t value = 0;
    for (const char byte : take(size)) value = value << 8U | static_cast<unsigned char>(byte);
    return size == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(value))
                     : static_cast<std::int64_t>(value);
  }

  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Header {
  explicit Header(ZoneBytes& bytes) {
    if (bytes.take(kMagic.size()) != kMagic) throw std::runtime_error("it does not begin with 'TZif'");
    version = bytes.take(1).front();
    (void)bytes.take(15);  // reserved
    for (std::uint32_t* const each : {&universals, &standards, &leaps, &times, &types, &letters})
      *each = static_cast<std::uint32_t>(bytes.number(4));
  }

  std::uint64_t size(std::size_t time_size) const {
    const auto of = [](std::uint32_t count, std::uint64_t each) { return count * each; };
    return of(times, time_size + 1) + of(types, 6) + letters + of(leaps, time_size + 4) +
           std::uint64_t{standards} + universals;
  }

  char version = '\0';
  std::uint32_t universals = 0;
  std::uint32_t standards = 0;
  std::uint32_t leaps = 0;
  std::uint32_t times = 0;
  std::uint32_t types = 0;
  std::uint32_t letters = 0;
};

std::vector<seconds> read_types(ZoneBytes& bytes, std::uint32_t count) {
  std::vector<seconds> easts;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t east = bytes.number(4);
    if (east <= -kMostEast || east >= kMostEast) throw std::runtime_error("a clock is more than a day ahead");
    easts.emplace_back(east);
    (void)bytes.take(2);  // whether it is summer, and what it is called
  }
  return easts;
}

// Those of the block that `header` is before, and how far the clocks are ahead before the first.
std::pair<seconds, std::vector<Shift>> read_shifts(ZoneBytes& bytes, const Header& header,
                                                   std::size_t time_size) {
  if (header.leaps != 0) throw std::runtime_error("it counts leap seconds");
  if (header.types == 0) throw std::runtime_error("it has no clock");
  ZoneBytes block(bytes.take(header.size(time_size)));
  ZoneBytes times(block.take(std::uint64_t{header.times} * time_size));
  const std::string_view numbers = block.take(header.times);
  const std::vector<seconds> easts = read_types(block, header.types);
  std::vector<Shift> shifts;
  for (const char each : numbers) {
    const std::int64_t time = times.number(time_size);
    const auto number = static_cast<unsigned char>(each);
    if (time < -kMostTime || time > kMostTime || number >= easts.size() ||
        (!shifts.empty() && seconds{time} <= shifts.back().at))
      throw std::runtime_error("a shift of its clocks is out of order or of range");
    shifts.push_back({seconds{time}, easts[number]});
  }
  return {easts.front(), std::move(shifts)};
}

std::optional<TimeZoneRule> read_footer(std::string_view rest) {
  const std::size_t end = rest.starts_with('\n') ? rest.find('\n', 1) : std::string_view::npos;
  if (end == std::string_view::npos) throw std::runtime_error("it is cut off");
  const std::string_view text = rest.substr(1, end - 1);
  if (text.empty()) return std::nullopt;
  const auto rule = TimeZoneRule::parse(text);
  if (!rule) throw std::runtime_error("its last line is not a rule of POSIX' TZ");
  return rule;
}

}  // namespace

bool looks_like_time_zone(std::string_view bytes) { return bytes.starts_with(kMagic); }

// A file from version 2 on has all of it twice: first with times of 32 bits, for readers of version 1.
tl::expected<std::unique_ptr<const TimeZone>, std::string> read_time_zone(std::string_view bytes) try {
  ZoneBytes all(bytes);
  const Header first(all);
  std::optional<TimeZoneRule> rule;
  std::pair<seconds, std::vector<Shift>> shifts;
  if (first.version == '\0') {
    shifts = read_shifts(all, first, 4);
  } else {
    (void)all.take(first.size(4));
    shifts = read_shifts(all, Header(all), 8);
    rule = read_footer(all.rest());
  }
  return std::make_unique<const ShiftingZone>(shifts.first, std::move(shifts.second), rule);
} catch (const std::runtime_error& error) {
  return tl::unexpected(std::string(error.what()));
}

}  // namespace weir::core
