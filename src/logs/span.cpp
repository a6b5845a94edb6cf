#include "logs/span.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "core/digits.hpp"
#include "logs/zone.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array kUnits{Unit{"s", kSecond}, Unit{"ms", kMillisecond}, Unit{"us", 1000}, Unit{"ns", 1}};

// Of a format, or of a program that writes it: the one whose lines have the field `mark`. Without a `field`
// it says which end of a request the time is, whatever holds its length. The first that fits counts.
struct Program {
  std::string_view format;
  std::string_view mark;
  std::string_view field;
  std::int64_t unit_ns;
  SpanEnd stamp;
};
constexpr std::array kPrograms{
    Program{"combined", "", "rt", kSecond, SpanEnd::end},  // as nginx is mostly told to write $request_time
    Program{"combined", "", "request_time", kSecond, SpanEnd::end},
    Program{"haproxy", "", "timers", kMillisecond, SpanEnd::begin},
    Program{"haproxy", "", "", 0, SpanEnd::begin},
    Program{"envoy", "", "duration", kMillisecond, SpanEnd::begin},
    Program{"envoy", "", "", 0, SpanEnd::begin},
    Program{"istio", "", "duration", kMillisecond, SpanEnd::begin},
    Program{"istio", "", "", 0, SpanEnd::begin},
    Program{"jsonl", "start_time", "duration", kMillisecond, SpanEnd::begin},  // Envoy, Istio
    Program{"jsonl", "start_time", "", 0, SpanEnd::begin},
    Program{"jsonl", "StartUTC", "Duration", 1, SpanEnd::begin},  // Traefik
    Program{"jsonl", "StartUTC", "", 0, SpanEnd::begin},
    Program{"jsonl", "EdgeStartTimestamp", "", 0, SpanEnd::begin},                      // Cloudflare
    Program{"jsonl", "started_at", "latencies.request", kMillisecond, SpanEnd::begin},  // Kong
    Program{"jsonl", "started_at", "", 0, SpanEnd::begin},
    Program{"jsonl", "ts", "duration", kSecond, SpanEnd::end},    // Caddy
    Program{"jsonl", "", "request_time", kSecond, SpanEnd::end},  // nginx
    Program{"jsonl", "requestTimeEpoch", "", 0, SpanEnd::begin},  // API Gateway
    Program{"squid", "", "elapsed", kMillisecond, SpanEnd::end},
    Program{"squid", "", "", 0, SpanEnd::end},
    Program{"zeek", "", "duration", kSecond, SpanEnd::begin},
    Program{"zeek", "", "", 0, SpanEnd::begin},
    Program{"w3c", "#Version", "time-taken", kSecond, SpanEnd::end},        // CloudFront's first line
    Program{"w3c", "#Software", "time-taken", kMillisecond, SpanEnd::end},  // that of IIS
    Program{"w3c", "", "", 0, SpanEnd::end},
    Program{"alb", "", "", 0, SpanEnd::end},
    Program{"elb", "", "", 0, SpanEnd::begin},
};

}  // namespace

void WantedSpan::set_field(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  field = text;
  unit_ns = 0;
  if (colon == std::string_view::npos) return;
  for (const Unit& unit : kUnits) {
    if (text.substr(colon + 1) != unit.name) continue;
    field = text.substr(0, colon);
    unit_ns = unit.ns;
  }
}

void WantedSpan::set_stamp(std::string_view text) {
  if (text != "begin" && text != "end")
    throw std::runtime_error("stamp: '" + std::string(text) +
                             "' is neither begin nor end, of a request, which the time of its line is");
  stamp = text == "begin" ? SpanEnd::begin : SpanEnd::end;
}

KnownSpan span_of(std::string_view format, const WantedSpan& wanted, bool own_time,
                  const std::function<bool(std::string_view name)>& has) {
  const auto first = [&](const auto& what) {
    return std::find_if(kPrograms.begin(), kPrograms.end(), [&](const Program& each) {
      return each.format == format && (each.mark.empty() || has(each.mark)) && what(each);
    });
  };
  const auto* known = first([&](const Program& each) {
    return !each.field.empty() && (wanted.field.empty() ? has(each.field) : each.field == wanted.field);
  });
  const bool found = known != kPrograms.end();
  if (wanted.field.empty() && !found)
    throw std::runtime_error(
        "duration: no field of this log is known to hold how long a request took; --duration FIELD:UNIT "
        "names "
        "it, as in request_time:s");
  KnownSpan span{wanted.field.empty() ? std::string(known->field) : wanted.field, wanted.unit_ns,
                 SpanEnd::end};
  if (span.unit_ns == 0 && !found)
    throw std::runtime_error("duration: what '" + span.field + "' counts by is not known; say " + span.field +
                             ":s, :ms, :us or :ns");
  if (span.unit_ns == 0) span.unit_ns = known->unit_ns;
  if (!found) known = first([](const Program& each) { return each.field.empty(); });
  if (!wanted.stamp && (own_time || known == kPrograms.end()))
    throw std::runtime_error(
        "stamp: whether a line has the time at which a request began or ended is not known; say --stamp "
        "begin "
        "(as Apache writes) or --stamp end (as nginx does)");
  span.stamp = wanted.stamp ? *wanted.stamp : known->stamp;
  return span;
}

std::optional<std::int64_t> read_duration(std::string_view text, std::int64_t unit_ns) {
  text.remove_prefix(text.rfind('/') + 1);  // npos + 1 is 0
  if (text.starts_with('+')) text.remove_prefix(1);
  // `digits` times ten to the power of `scale`.
  unsigned __int128 digits = 0;
  int scale = 0;
  bool any = false;
  bool point = false;
  std::size_t at = 0;
  constexpr std::uint64_t kEnough = 1'000'000'000'000'000'000;  // more digits change no nanosecond
  for (; at < text.size() && (core::is_digit(text[at]) || (text[at] == '.' && !point && any)); ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (digits >= kEnough) {
      if (!point) return std::nullopt;
      continue;
    }
    digits = digits * 10 + static_cast<unsigned>(text[at] - '0');
    scale -= point ? 1 : 0;
  }
  if (!any || text[at - 1] == '.') return std::nullopt;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    int power = 0;
    const char* const end = text.data() + text.size();
    const char* begin = text.data() + at + 1;
    if (begin != end && *begin == '+') ++begin;
    const auto [rest, error] = std::from_chars(begin, end, power);
    if (error != std::errc{} || rest != end || power < -99 || power > 99) return std::nullopt;
    scale += power;
  }
  constexpr unsigned __int128 kMost = std::uint64_t{1} << 62;
  unsigned __int128 ns = digits * static_cast<std::uint64_t>(unit_ns);
  for (; scale > 0 && ns <= kMost; --scale) ns *= 10;
  for (; scale < 0 && ns > 0; ++scale) ns /= 10;
  return ns > kMost ? std::nullopt : std::optional(static_cast<std::int64_t>(ns));
}

}  // namespace weir::logs
