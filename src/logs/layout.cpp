#include "logs/layout.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "logs/columns.hpp"
#include "logs/combined.hpp"
#include "logs/haproxy.hpp"
#include "logs/json_lines.hpp"
#include "logs/w3c.hpp"
#include "logs/word_splitter.hpp"

namespace weir::inline v0_1::logs {
namespace {

// The first that fits a line is its format.
constexpr std::array kFormats = {
    LogFormat{"combined", "the common and combined formats of Apache and nginx",
              "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512", fits_combined,
              make_combined},
    LogFormat{"jsonl", "one JSON object a line",
              "{\"time\":\"2026-11-21T05:49:47Z\",\"client_ip\":\"192.0.2.1\"}", fits_json, make_json},
    LogFormat{
        "haproxy", "HAProxy's option httplog and option tcplog",
        "192.0.2.1:40312 [21/Nov/2026:05:49:47.123] web app/a1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 "
        "\"GET / HTTP/1.1\"",
        fits_haproxy, make_haproxy},
    LogFormat{
        "alb", "AWS Application Load Balancer",
        "http 2026-11-21T05:49:47.593000Z app/lb/1 192.0.2.1:40312 10.0.0.1:80 0.000 0.001 0.000 200 200 34 "
        "512 \"GET http://example.org:80/ HTTP/1.1\" \"curl\" - - ...",
        fits_alb, make_alb},
    LogFormat{
        "elb", "AWS Classic Load Balancer",
        "2026-11-21T05:49:47.593000Z lb 192.0.2.1:40312 10.0.0.1:80 0.000 0.001 0.000 200 200 0 512 \"GET "
        "http://example.org:80/ HTTP/1.1\" \"curl\" - -",
        fits_elb, make_elb},
    LogFormat{"envoy", "Envoy's default text",
              "[2026-11-21T05:49:47.593Z] \"GET / HTTP/1.1\" 200 - 0 512 3 1 \"192.0.2.1\" \"curl\" \"id\" "
              "\"example.org\" \"10.0.0.1:80\"",
              fits_envoy, make_envoy},
    LogFormat{
        "istio", "Istio's default text",
        "[2026-11-21T05:49:47.593Z] \"GET / HTTP/1.1\" 200 - via_upstream - \"-\" 0 512 3 1 \"-\" \"curl\" "
        "\"id\" \"example.org\" \"10.0.0.1:80\" inbound|80|| 127.0.0.1:1 10.0.0.1:80 192.0.2.1:40312 - "
        "default",
        fits_istio, make_istio},
    LogFormat{"squid", "Squid's native format",
              "1795240187.593 3 192.0.2.1 TCP_MISS/200 512 GET http://example.org/ - HIER_DIRECT/10.0.0.1 "
              "text/html",
              fits_squid, make_squid},
    LogFormat{"w3c", "the W3C's extended format of CloudFront and IIS",
              "2026-11-21 05:49:47 192.0.2.1 under a line such as #Fields: date time c-ip", fits_w3c,
              make_w3c},
    LogFormat{"zeek", "Zeek's TSV",
              "1795240187.593<TAB>192.0.2.1 under a line such as #fields<TAB>ts<TAB>id.orig_h", fits_zeek,
              make_zeek},
    LogFormat{"csv", "columns with commas between, after a header",
              "2026-11-21T05:49:47Z,192.0.2.1 under a header such as time,ip", nullptr, make_csv},
    LogFormat{"tsv", "columns with tabs between, after a header",
              "2026-11-21T05:49:47Z<TAB>192.0.2.1 under a header such as time<TAB>ip", nullptr, make_tsv},
};

constexpr LogFormat kRegex{"regex", "lines of --regex", "", nullptr, nullptr};

const LogFormat* format_that_fits(std::string_view line) {
  for (const LogFormat& format : kFormats) {
    if (format.fits != nullptr && format.fits(line)) return &format;
  }
  return nullptr;
}

const LogFormat* format_of(std::string_view line, const Layout& asked) {
  if (asked.format == nullptr) return format_that_fits(line);
  const bool fits = asked.regex ? asked.regex->fits(line) : asked.format->fits(line);
  return fits ? asked.format : nullptr;
}

// Looks at a file's first lines, one after another.
class Finder {
 public:
  explicit Finder(const Layout& asked) : asked_(asked) {}

  // Nothing when the line has no known shape. A wrapper counts when what is inside has one.
  std::optional<Layout> layout_of(std::string_view line) {
    const Wrapper* const wrapper = asked_.wrapper != nullptr ? asked_.wrapper : wrapper_of(line);
    bool piece = false;  // Docker's would be JSON
    if (wrapper != nullptr) {
      if (std::optional<Layout> inside = layout_inside(*wrapper, line, piece)) return inside;
    }
    if (piece) return std::nullopt;
    if (asked_.wrapper != nullptr) return std::nullopt;
    const LogFormat* const format = format_of(line, asked_);
    if (format == nullptr) return std::nullopt;
    return Layout{format, nullptr, asked_.regex, {}};
  }

 private:
  // Of the line whose last piece this is, too.
  std::optional<Layout> layout_inside(const Wrapper& wrapper, std::string_view line, bool& piece) {
    std::optional<Inside> inside = wrapper.inside(line);
    if (!inside) return std::nullopt;
    std::string& begun = begun_[inside->error_stream ? 1 : 0];
    begun += inside->text;
    piece = inside->piece;
    if (piece) return std::nullopt;
    std::string whole = std::move(begun);
    begun.clear();
    const std::size_t size = whole.size();
    whole.append(kSlack, '\0');
    const LogFormat* const format = format_of(std::string_view(whole).substr(0, size), asked_);
    if (format == nullptr) return std::nullopt;
    return Layout{format, &wrapper, asked_.regex, std::move(whole)};
  }

  const Layout& asked_;
  std::array<std::string, 2> begun_;  // of lines that come in pieces
};

// What a file is read as of which no line has the shape of anything: the reasons then say what is missing.
const LogFormat* likeliest(std::string_view line) {
  if (line.starts_with('{')) return find_format("jsonl");
  if (has_columns(line, '\t')) return find_format("tsv");
  const bool bracket = line.find('[') != std::string_view::npos;
  return find_format(!bracket && has_columns(line, ',') ? "csv" : "combined");
}

}  // namespace

std::span<const LogFormat> formats() { return kFormats; }

std::vector<std::string> format_names() {
  std::vector<std::string> names{"auto"};
  for (const LogFormat& each : kFormats) names.emplace_back(each.name);
  for (const std::string_view each : wrapper_names()) names.emplace_back(each);
  return names;
}

const LogFormat* find_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [name](const LogFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

void Layout::set(std::string_view name) {
  if (name == "auto") return;
  wrapper = find_wrapper(name);
  format = find_format(name);
  if (format != nullptr || wrapper != nullptr) return;
  std::string known;
  for (const std::string& each : format_names()) known += (known.empty() ? "" : ", ") + each;
  throw std::runtime_error("unknown format '" + std::string(name) + "'; known: " + known);
}

void Layout::set(std::shared_ptr<const Regex> pattern) {
  format = &kRegex;
  regex = std::move(pattern);
}

std::string name_of(const Layout& layout) {
  std::string name(layout.format == nullptr ? "unknown" : layout.format->name);
  if (layout.wrapper != nullptr) name += " in " + std::string(layout.wrapper->name);
  return name;
}

Found layout_of(std::span<const std::string_view> lines, const Layout& asked) {
  Found found{asked, 0, false};
  if (lines.empty()) return found;
  if (asked.format != nullptr && !asked.regex && asked.format->fits == nullptr) return found;
  if (asked.format == nullptr && asked.wrapper == nullptr) {
    const bool csv = is_csv_header(lines.front());
    if (csv || is_tsv_header(lines.front())) {
      found.layout.format = find_format(csv ? "csv" : "tsv");
      return found;
    }
  }
  Finder finder(asked);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<Layout> layout = finder.layout_of(lines[i]);
    if (!layout) continue;
    found.layout = *layout;
    found.line = i;
    return found;
  }
  found.guessed = true;
  if (asked.format == nullptr) found.layout.format = likeliest(lines.front());
  return found;
}

std::unique_ptr<Splitter> make_splitter(const Layout& layout, const std::vector<Slot>& slots,
                                        std::string_view line) {
  const auto make = [&layout](const std::vector<Slot>& wanted, std::string_view first) {
    return layout.regex ? make_regex(layout.regex, wanted) : layout.format->make(wanted, first);
  };
  if (layout.wrapper == nullptr) return make(slots, line);
  const std::string nothing(kSlack, '\0');
  const std::string_view sample = layout.sample.empty() ? nothing : layout.sample;
  const std::string_view inner = sample.substr(0, sample.size() - kSlack);
  return layout.wrapper->make(make(inner_slots(*layout.wrapper, slots), inner), slots);
}

}  // namespace weir::logs
