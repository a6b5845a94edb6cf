#include "sim/page_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "sim/number_text.hpp"
#include "sim/page_html.hpp"

namespace weir::inline v0_1::sim {
namespace {

constexpr double kHigh = 100;  // units of a drawing from its foot to its top

std::uint64_t value_at(const std::vector<std::uint64_t>& values, std::size_t i) {
  return i < values.size() ? values[i] : 0;
}

// An area of steps, one for each bin.
template <class Value>
std::string steps(std::size_t bins, double peak, Value value) {
  std::string path = fmt::format("M0 {}", kHigh);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    const std::uint64_t now = value(i);
    if (now != last || i == 0)
      path += fmt::format("H{}V{:.2f}", i, kHigh - kHigh * static_cast<double>(now) / peak);
    last = now;
  }
  return path + fmt::format("H{}V{}Z", bins, kHigh);
}

// Where anything was denied, however little: a line below the foot.
std::string marks(const std::vector<std::uint64_t>& denied) {
  std::string path;
  for (std::size_t i = 0; i < denied.size(); ++i) {
    if (denied[i] == 0) continue;
    std::size_t end = i + 1;
    while (end < denied.size() && denied[end] > 0) ++end;
    path += fmt::format("M{} 105H{}", i, end);
    i = end;
  }
  return path;
}

std::string drawing(const OverTime& series, const std::vector<double>& lines) {
  const std::size_t bins = std::max<std::size_t>(1, series.requests.size());
  const double peak = static_cast<double>(std::max<std::uint64_t>(1, series.peak));
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} 107\" preserveAspectRatio=\"none\" aria-hidden=\"true\">", bins);
  for (const double each : lines)
    svg += fmt::format("<path class=\"grid\" d=\"M0 {0:.2f}H{1}\"/>", kHigh - kHigh * each / peak, bins);
  const std::string below = marks(series.denied);
  if (!below.empty()) {
    svg += fmt::format("<path class=\"denied\" d=\"{}\"/>",
                       steps(bins, peak, [&](std::size_t i) { return value_at(series.requests, i); }));
  }
  svg += fmt::format("<path class=\"allowed\" d=\"{}\"/>", steps(bins, peak, [&](std::size_t i) {
                       return value_at(series.requests, i) - value_at(series.denied, i);
                     }));
  if (!below.empty()) svg += fmt::format("<path class=\"below\" d=\"{}\"/>", below);
  return svg + "</svg>";
}

// 1, 2 or 5 times a power of ten, for about `wanted` steps.
double step_for(double most, double wanted) {
  const double rough = std::max(most / wanted, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double each : {1.0, 2.0, 5.0}) {
    if (each * power >= rough * 0.999) return each * power;
  }
  return 10 * power;
}

std::string short_number(double number) {
  struct Unit {
    double size;
    const char* name;
  };
  for (const Unit& each : {Unit{1e12, " T"}, Unit{1e9, " G"}, Unit{1e6, " M"}, Unit{1e4, ""}}) {
    if (number < each.size) continue;
    if (each.size < 1e5) break;
    return fmt::format("{:.3g}{}", number / each.size, each.name);
  }
  return grouped(static_cast<std::uint64_t>(number));
}

struct Tick {
  double at;  // from 0 to 1
  std::string text;
};

constexpr std::int64_t kDay = 86'400;
constexpr std::array<std::int64_t, 16> kTimeSteps{
    1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, kDay, 2 * kDay, 7 * kDay, 14 * kDay};

// The first days of at most four months, two or more apart where the span is long; of a span of eight weeks
// or more there is always one.
std::vector<Tick> months(std::int64_t from_s, std::int64_t span_s) {
  using namespace std::chrono;
  constexpr std::int64_t kMonth = 30 * kDay;
  constexpr std::int64_t kMost = 4;
  std::int64_t step = 480;
  for (const std::int64_t each : {1, 2, 3, 6, 12, 24, 60, 120, 240}) {
    if (span_s / kMonth / each > kMost - 1) continue;
    step = each;
    break;
  }
  const year_month_day first{floor<days>(sys_seconds{seconds{from_s}})};
  std::vector<Tick> ticks;
  // Months since the year 0, so that each step begins with a January.
  const std::int64_t from =
      static_cast<int>(first.year()) * 12 + static_cast<int>(static_cast<unsigned>(first.month())) - 1;
  for (std::int64_t month = from / step * step;; month += step) {
    const sys_days day{year{static_cast<int>(month / 12)} / static_cast<int>(month % 12 + 1) / 1};
    const std::int64_t at = day.time_since_epoch().count() * kDay;
    if (at > from_s + span_s) return ticks;
    if (at >= from_s)
      ticks.push_back({static_cast<double>(at - from_s) / static_cast<double>(span_s),
                       stamp(at * 1'000'000'000).substr(0, 10)});
  }
}

// At most six times, or four days, each with room to its neighbours.
std::vector<Tick> times(std::int64_t from_s, std::int64_t span_s) {
  const auto most = [](std::int64_t step) { return step >= kDay ? 4 : 6; };
  if (span_s / kTimeSteps.back() > most(kTimeSteps.back()) - 1) return months(from_s, span_s);
  std::int64_t step = kTimeSteps.front();
  for (const std::int64_t each : kTimeSteps) {
    step = each;
    if (span_s / each <= most(step)) break;
  }
  std::vector<Tick> ticks;
  for (std::int64_t at = (from_s + step - 1) / step * step; at <= from_s + span_s; at += step) {
    const std::string text = stamp(at * 1'000'000'000);
    const double place = static_cast<double>(at - from_s) / static_cast<double>(span_s);
    ticks.push_back({place, step >= kDay ? text.substr(0, 10) : text.substr(11, step % 60 == 0 ? 5 : 8)});
  }
  return ticks;
}

std::string axis(const char* kind, const char* side, const std::vector<Tick>& ticks) {
  std::string out;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    // A label at an end hangs inwards, and every second one makes room on a narrow page.
    const char* const edge = ticks[i].at < 0.06 ? " first" : ticks[i].at > 0.94 ? " last" : "";
    out += fmt::format("<span class=\"{}{}{}\" style=\"{}:{:.2f}%\">{}</span>", kind, edge,
                       i % 2 == 1 ? " odd" : "", side, ticks[i].at * 100, escaped(ticks[i].text));
  }
  return out;
}

// `data`: the attributes by which the script finds what is drawn.
std::string plot(const char* kind, const std::string& what, const std::string& data,
                 const std::string& inside) {
  return fmt::format(
      "<div class=\"plot {0}\" role=\"img\" aria-label=\"{1}\" data-plot=\"{0}\" {2}>{3}</div>", kind,
      escaped(what), data, inside);
}

}  // namespace

std::uint64_t peak_of(const std::vector<std::uint64_t>& requests) {
  return requests.empty() ? 0 : *std::max_element(requests.begin(), requests.end());
}

std::string chart_of(const OverTime& series, const std::string& what, const std::string& at) {
  const auto peak = static_cast<double>(std::max<std::uint64_t>(1, series.peak));
  std::vector<double> lines;
  std::vector<Tick> heights;
  const double step = step_for(peak, 3);
  for (double each = 0; each <= peak; each += step) {
    if (each > 0) lines.push_back(each);
    heights.push_back({each / peak * kHigh / 107 + 7.0 / 107, short_number(each)});
  }
  const auto span =
      static_cast<std::int64_t>(std::max<std::size_t>(1, series.requests.size())) * series.bin_s;
  return fmt::format("<p class=\"unit\">requests in {}</p>", span_in_words(series.bin_s)) +
         plot("over-time", what, "data-at=\"" + at + "\"",
              drawing(series, lines) + axis("y", "bottom", heights) +
                  axis("x", "left", times(series.from_s, span)));
}

std::string strip_of(const OverTime& series, const std::string& what, const std::string& at) {
  return plot("strip", what, "data-at=\"" + at + "\"", drawing(series, {}));
}

std::string sizes_of(const std::vector<std::uint64_t>& clients, const std::vector<std::uint64_t>& denied) {
  std::string out =
      "<table class=\"sizes\"><thead><tr><th>requests</th><th>clients</th><th>ever "
      "denied</th><th class=\"wide\">share of them</th></tr></thead><tbody>";
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (clients[i] == 0) continue;
    const std::uint64_t from = std::uint64_t{1} << i;
    const std::uint64_t few = value_at(denied, i);
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td{}>{}</td>{}</tr>",
        i == 0 ? "1" : grouped(from) + "\u2013" + grouped(2 * from - 1), grouped(clients[i]),
        few > 0 ? " class=\"red\"" : "", grouped(few),
        bar_cell(static_cast<double>(few), static_cast<double>(clients[i]), share(few, clients[i])));
  }
  return out + "</tbody></table>";
}

namespace {

// Both axes are logarithms, so that a day's rate and a second's are on one page.
struct Scale {
  double low;
  double high;
  double place(double value) const { return std::log(value / low) / std::log(high / low); }
};

// The most telling ones first; the others where there is room.
std::vector<Tick> rate_ticks(const Scale& scale) {
  std::vector<Tick> ticks;
  for (const double each :
       {1.0, 1.0 / 60, 1.0 / 3600, 1.0 / 86'400, 1e3, 1e6, 10.0, 100.0, 10.0 / 60, 10.0 / 3600, 1e4, 1e5}) {
    if (each < scale.low || each > scale.high) continue;
    const double at = scale.place(each);
    if (std::all_of(ticks.begin(), ticks.end(),
                    [at](const Tick& other) { return std::abs(other.at - at) > 0.15; }))
      ticks.push_back({at, rate_in_words(each)});
  }
  std::sort(ticks.begin(), ticks.end(), [](const Tick& a, const Tick& b) { return a.at < b.at; });
  return ticks;
}

std::vector<Tick> burst_ticks(const Scale& scale) {
  std::vector<Tick> ticks;
  for (double power = 1; power <= scale.high; power *= 10) {
    for (const double each : {power, 2 * power, 5 * power}) {
      if (each < scale.low || each > scale.high) continue;
      const double at = scale.place(each);
      if (ticks.empty() || at - ticks.back().at > 0.07) ticks.push_back({at, short_number(each)});
    }
  }
  return ticks;
}

}  // namespace

std::string curve_of(const SuggestReport& report, const std::vector<Figures>& dots) {
  std::vector<std::pair<double, double>> points;  // rate, burst
  for (const CurvePoint& each : report.curve)
    points.emplace_back(1e9 / static_cast<double>(each.interval_ns), static_cast<double>(each.burst));
  std::vector<std::pair<double, double>> all = points;
  for (const Figures& each : dots) all.emplace_back(each.per_second, static_cast<double>(each.burst));
  if (all.empty()) return "";
  Scale x{all[0].first, all[0].first};
  Scale y{all[0].second, all[0].second};
  for (const auto& [rate, burst] : all) {
    x = {std::min(x.low, rate), std::max(x.high, rate)};
    y = {std::min(y.low, burst), std::max(y.high, burst)};
  }
  x = {x.low / 1.4, x.high * 1.4};
  y = {y.low / 1.4, y.high * 1.4};
  const std::vector<Tick> rates = rate_ticks(x);
  const std::vector<Tick> bursts = burst_ticks(y);
  std::string svg = "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
  for (const Tick& each : rates)
    svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} 0V1000\"/>", each.at * 1000);
  for (const Tick& each : bursts)
    svg += fmt::format("<path class=\"grid\" d=\"M0 {:.1f}H1000\"/>", 1000 - each.at * 1000);
  if (!points.empty()) {
    std::string line;
    for (const auto& [rate, burst] : points) {
      const double across = x.place(rate) * 1000;
      const double down = 1000 - y.place(burst) * 1000;
      line += line.empty() ? fmt::format("M{:.1f} {:.1f}", across, down)
                           : fmt::format("H{:.1f}V{:.1f}", across, down);
    }
    const std::string to_the_edge = line + "H1000";
    if (report.greater_meets_it_too) {
      svg += fmt::format("<path class=\"enough\" d=\"{}V0H{:.1f}Z\"/><path class=\"curve\" d=\"{}\"/>",
                         to_the_edge, x.place(points.front().first) * 1000, to_the_edge);
    } else {
      // Nothing is known between the points.
      std::string dots_alone;
      for (const auto& [rate, burst] : points)
        dots_alone += fmt::format("M{:.1f} {:.1f}h0", x.place(rate) * 1000, 1000 - y.place(burst) * 1000);
      svg += fmt::format("<path class=\"curve alone\" d=\"{}\"/>", dots_alone);
    }
  }
  svg += "</svg>";
  for (std::size_t i = 0; i < dots.size(); ++i) {
    svg += fmt::format("<b class=\"dot\" style=\"left:{:.2f}%;bottom:{:.2f}%\" title=\"{}\">{}</b>",
                       x.place(dots[i].per_second) * 100, y.place(static_cast<double>(dots[i].burst)) * 100,
                       escaped(dots[i].limit), i + 1);
  }
  return "<p class=\"unit\">burst</p>" +
         plot("curve", fmt::format("The burst that each rate needs, and {}", counted(dots.size(), "limit")),
              fmt::format("data-low=\"{}\" data-high=\"{}\"", x.low, x.high),
              svg + axis("y", "bottom", bursts) + axis("x", "left", rates)) +
         "<p class=\"unit across\">rate; both axes are logarithmic</p>";
}

}  // namespace weir::sim
