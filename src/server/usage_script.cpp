#include "server/usage_script.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "core/number.hpp"
#include "core/siphash.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::server {
namespace {

using std::chrono::nanoseconds;

// As steering::Usage books it: ARGV are the sum and the least of a UnitChange, for how long the key is kept,
// the hour; and of each window its name, when the period began, and the one before it.
constexpr std::string_view kAddUsage = R"(local key, sum, least = KEYS[1], ARGV[1], tonumber(ARGV[2])
local function add(field)
  if redis.call('HINCRBY', key, field, sum) < least then redis.call('HSET', key, field, ARGV[2]) end
end
for i = 5, #ARGV, 3 do
  local window, began, before = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local units = 'u' .. window .. ':'
  local last, older = redis.call('HGET', key, 'b' .. window), redis.call('HGET', key, 'p' .. window)
  if not last or tonumber(began) > tonumber(last) then
    for _, each in ipairs({last or '', older or ''}) do
      if each ~= before then redis.call('HDEL', key, units .. each) end
    end
    redis.call('HSET', key, 'b' .. window, began, 'p' .. window, before)
    add(units .. began)
  elseif began == last or began == older then
    add(units .. began)
  end
end
local hour, latest = tonumber(ARGV[4]), tonumber(redis.call('HGET', key, 'H') or -1)
if hour > latest then
  for each = math.max(latest - 23, 0), math.min(latest, hour - 24) do redis.call('HDEL', key, 'h' .. each) end
  redis.call('HSET', key, 'H', hour)
end
if hour > latest - 24 then add('h' .. hour) end
-- What comes late keeps it no shorter.
if redis.call('PTTL', key) < tonumber(ARGV[3]) then redis.call('PEXPIRE', key, ARGV[3]) end
return 1
)";

constexpr nanoseconds kHour = std::chrono::hours{1};

std::string text_of(nanoseconds time) { return std::to_string(time.count()); }

std::string name_of(const steering::UsageWindow& window) {
  if (window.calendar == nullptr) return text_of(window.length);
  return std::string(core::Calendar::name_of(window.calendar->unit())) + "@" + window.calendar->zone();
}

}  // namespace

std::string usage_key(std::string_view prefix, const steering::Booking& booking) {
  std::string name = std::to_string(booking.limit.size()) + ":" + booking.limit + booking.key;
  // Without a secret, as all servers name it alike.
  std::uint64_t tag = core::siphash<2, 4>({0, 0}, name);
  std::string key(prefix);
  key += '{';
  for (int i = 0; i < 16; ++i, tag <<= 4) key += "0123456789abcdef"[tag >> 60];
  return key + "}limit#usage:" + name;  // a form that no key of a request has
}

void append_add_usage(std::string& out, std::string_view key, const steering::Booking& booking) {
  nanoseconds kept = 25 * kHour;
  for (const steering::UsageWindow& each : booking.windows)
    kept = std::max(kept, each.at(each.at(booking.utc).ends).ends - booking.utc + kHour);
  resp::Writer to(out);
  to.array(3 + 1 + 4 + 3 * booking.windows.size());
  to.bulk("EVAL");
  to.bulk(kAddUsage);
  to.bulk("1");
  to.bulk(key);
  to.bulk(std::to_string(booking.change.sum));
  to.bulk(std::to_string(booking.change.least));
  to.bulk(std::to_string(std::chrono::ceil<std::chrono::milliseconds>(kept).count()));
  to.bulk(std::to_string(booking.utc / kHour));
  for (const steering::UsageWindow& each : booking.windows) {
    const steering::UsagePeriod period = each.at(booking.utc);
    to.bulk(name_of(each));
    to.bulk(text_of(period.began));
    to.bulk(text_of(each.before(period).began));
  }
}

void append_find_usage(std::string& out, std::string_view key) {
  resp::Writer to(out);
  to.array(2);
  to.bulk("HGETALL");
  to.bulk(key);
}

steering::Usage read_usage(const resp::Value& answer, const std::vector<steering::UsageWindow>& windows,
                           nanoseconds utc) {
  std::map<std::string_view, std::int64_t, std::less<>> fields;
  for (std::size_t i = 0; i + 1 < answer.items.size(); i += 2)
    fields[answer.items[i].text] = core::parse_integer(answer.items[i + 1].text).value_or(0);
  const auto units = [&fields](const std::string& field) {
    const auto found = fields.find(field);
    return found == fields.end() ? 0 : std::max<std::int64_t>(0, found->second);
  };
  steering::Usage usage;
  for (const steering::UsageWindow& each : windows) {
    const steering::UsagePeriod now = each.at(utc);
    const std::string name = "u" + name_of(each) + ":";
    usage.windows.push_back(
        {each, now, units(name + text_of(now.began)), units(name + text_of(each.before(now).began))});
  }
  usage.hour = utc / kHour;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(steering::Usage::kHours); ++i) {
    const std::int64_t hour = usage.hour - i;
    usage.hours[static_cast<std::size_t>(hour) % steering::Usage::kHours] = units("h" + std::to_string(hour));
  }
  return usage;
}

}  // namespace weir::server
