#include "cli/log_flags.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "cli/attribute_flags.hpp"
#include "cli/growing_file.hpp"
#include "core/calendar.hpp"
#include "core/duration.hpp"
#include "core/printable.hpp"
#include "core/system_time_zones.hpp"
#include "limits/findings.hpp"
#include "logs/shell_word.hpp"
#include "sim/event_spool.hpp"
#include "sim/spread.hpp"

namespace weir::inline v0_1::cli {
namespace {

std::atomic<bool> stop{false};  // set by the first Ctrl-C; a second one ends the program

constexpr std::int64_t kSecond = 1'000'000'000;

void stop_reading(int signal) {
  stop.store(true);
  std::signal(signal, SIG_DFL);
}

logs::Zone zone_called(const std::string& text) try {
  if (const auto zone = logs::Zone::of(text)) return *zone;
  const TimeZones& zones = core::system_time_zones();
  const std::string near = core::nearest_zone(zones, text);
  throw std::runtime_error("'" + text + "' is neither an offset such as +0000, -05:30 or Z nor a place in " +
                           zones.folder() + ", such as Europe/Berlin" +
                           (near.empty() ? "" : "; did you mean " + near + "?"));
} catch (const std::runtime_error& error) {
  throw std::runtime_error(std::string("zone: ") + error.what());
}

}  // namespace

void LogFlags::add_to(CLI::App& app) {
  app.add_option("LOG", files, "access logs: plain, gzip or zstd; - is standard input")
      ->type_name("FILE")
      ->required();
  app.option_defaults()->group("Requests");
  app.add_option("--key", key, "fields that make a client: ip, ip/64, ip/24/64, user, or ip,path")
      ->type_name("FIELDS")
      ->capture_default_str();
  app.add_option("--path-pattern", path_patterns,
                 "count paths of the key that match it as one, as in '/items/*'")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_reading_to(app);
  add_output_to(app);
}

void LogFlags::add_reading_to(CLI::App& app) {
  app.option_defaults()->group("Requests");
  app.add_option("--cost", cost, "field that holds the cost of a request [1 each]")->type_name("FIELD");
  filter.add_to(app);
  app.option_defaults()->group("Log");
  layout.add_to(app);
  app.add_option("--time", time, "field that holds the time, or DATE,TIME [the first known name]")
      ->type_name("FIELD");
  app.add_option("--time-format", time_format, "as in '%d.%m.%Y %H:%M:%S', or excel, filetime, webkit, ticks")
      ->type_name("FORMAT");
  app.add_option("--zone", zone, "of times that do not name one: -0500, or Europe/Berlin")
      ->type_name("ZONE")
      ->capture_default_str();
  app.add_option("--reorder", reorder, "sort lines that are up to this late; 0: none, all: the whole log")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_flag("--spread", spread, "spread requests of one time evenly over what it leaves open");
}

void LogFlags::add_output_to(CLI::App& app) {
  app.option_defaults()->group("Output");
  app.add_flag("--json", json, "print one JSON object instead of the table");
  app.add_option("--html", html, "also write a page with plots to this file")->type_name("FILE");
}

void LogFlags::add_duration_to(CLI::App& app) {
  app.option_defaults()->group("Requests");
  app.add_option("--duration", duration, "with --in-flight, how long a request took: dur:ms [as the format]")
      ->type_name("FIELD[:UNIT]");
  app.add_option("--stamp", stamp, "with --in-flight, when a request has its time [as the format]")
      ->type_name("begin|end");
}

void LogFlags::add_names_to(CLI::App& app) {
  app.add_flag("--anonymize", anonymize, "call clients by number everywhere, addresses too");
  app.add_option("--names", names, "also write to this file which client has which number")
      ->type_name("FILE");
}

std::vector<std::string> LogFlags::tops() const {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin < top.size();) {
    const std::size_t end = std::min(top.find(',', begin), top.size());
    if (end == begin)
      throw std::runtime_error("top: '" + top + "' is neither a field nor fields separated by commas");
    fields.push_back(top.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

void LogFlags::refuse_the_log(const std::string& flag, const std::string& path) const {
  for (const std::string& file : files) {
    std::error_code error;
    if (!path.empty() && (file == path || std::filesystem::equivalent(file, path, error)))
      throw std::runtime_error(flag + ": '" + path + "' is the log itself; choose another file");
  }
}

logs::LogReaderOptions LogFlags::options() const {
  logs::LogReaderOptions options;
  options.files = files;
  options.follow = follow;
  if (follow && spread)
    throw std::runtime_error(
        "spread: what the times of a log leave open is known at its end, not with --follow");
  refuse_the_log("html", html);
  refuse_the_log("names", names);
  options.wanted.set_key(key);
  options.wanted.set_path_patterns(path_patterns);
  options.wanted.cost = cost;
  options.wanted.time = time;
  if (!time_format.empty()) options.wanted.time_format = logs::TimeFormat::parse(time_format);
  options.wanted.zone = zone_called(zone);
  set_span(options.wanted);
  options.layout = layout.layout(time);
  if (reorder == "all") {
    options.reorder_ns = logs::LogReaderOptions::kSortAll;
  } else if (reorder == "0") {
    options.reorder_ns = 0;
  } else {
    const auto window = core::parse_duration(reorder);
    if (!window || *window < std::chrono::nanoseconds{0})
      throw std::runtime_error("reorder: '" + reorder +
                               "' is not a time such as 60s or 5min, nor 0, nor all");
    options.reorder_ns = window->count();
  }
  filter.add_to(options);
  return options;
}

void LogFlags::set_span(logs::Wanted& wanted) const {
  if (!in_flight) {
    if (!duration.empty())
      throw std::runtime_error(
          "duration: only --in-flight, and limits that have in_flight, ask how long a request took");
    if (!stamp.empty())
      throw std::runtime_error(
          "stamp: only --in-flight, and limits that have in_flight, ask which end of a request the time of a "
          "line is");
    return;
  }
  if (!cost.empty()) throw std::runtime_error("cost: a request takes one slot, whatever it costs");
  if (spread) throw std::runtime_error("spread: with slots a request begins and ends when its line says");
  wanted.span.emplace();
  if (!duration.empty()) wanted.span->set_field(duration);
  if (!stamp.empty()) wanted.span->set_stamp(stamp);
}

namespace {

logs::LogReaderOptions with(logs::LogReaderOptions options, std::vector<logs::Wanted::Part> parts) {
  options.wanted.key = std::move(parts);
  options.wanted.may_lack = true;
  return options;
}

}  // namespace

LogRun::LogRun(const LogFlags& flags, std::vector<logs::Wanted::Part> parts)
    : LogRun(flags, with(flags.options(), std::move(parts))) {}

namespace {

logs::LogReaderOptions with_tops(logs::LogReaderOptions options, const std::vector<std::string>& fields) {
  for (const std::string& each : fields) {
    options.wanted.key.push_back(part_of(each));
    options.wanted.key.back().may_lack = true;
  }
  return options;
}

}  // namespace

LogRun::LogRun(const LogFlags& flags, logs::LogReaderOptions options)
    : flags_(flags),
      reader_(with_tops(std::move(options), flags.tops()), stop),
      terminal_(::isatty(STDERR_FILENO) != 0) {
  std::signal(SIGINT, stop_reading);
  std::signal(SIGTERM, stop_reading);
  started_ = shown_ = std::chrono::steady_clock::now();
}

LogRun::~LogRun() { finish(); }

void LogRun::read(const std::function<void(std::span<const logs::Event>)>& each) {
  const auto progress = [this](const logs::Progress& at) { show(at); };
  if (!flags_.spread) {
    reader_.run([&](std::span<const logs::Event> events) { decide(events, each); }, progress);
    finish();
    return;
  }
  // What the times leave open is known at the end of the log.
  sim::EventSpool spool;
  sim::Resolution resolution;
  reader_.run(
      [&](std::span<const logs::Event> events) {
        for (const logs::Event& event : events) resolution.add(event.ns);
        spool.add(events);
      },
      progress);
  finish();
  sim::Spread spread(resolution.ns());
  std::vector<logs::Event> some;
  constexpr std::size_t kSome = 4096;
  const auto collect = [&](const logs::Event& event) {
    some.push_back(event);
    if (some.size() < kSome) return;
    decide(some, each);
    some.clear();
  };
  spool.each([&](const logs::Event& event) { spread.take(event, collect); });
  spread.finish(collect);
  decide(some, each);
}

void LogRun::decide(std::span<const logs::Event> events,
                    const std::function<void(std::span<const logs::Event>)>& each) {
  if (events.empty()) return;
  if (first_ns_ < 0) first_ns_ = events.front().ns;
  last_ns_ = events.back().ns;
  for (const logs::Event& event : events) {
    units_ += flags_.in_flight ? 1 : event.cost;
    while (stamps_ns_ > 1 && event.ns % stamps_ns_ != 0)
      stamps_ns_ = stamps_ns_ == 60 * kSecond ? kSecond : 1;
  }
  each(events);
}

// As many lines of it as the terminal has.
void LogRun::draw() {
  const std::string text = shown_text_();
  winsize size{};
  const std::size_t most =
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row - 1U : 24;
  std::string screen = "\x1b[H";
  std::size_t begin = 0;
  for (std::size_t line = 0; line < most && begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    screen.append(text, begin, end - begin);
    screen += "\x1b[K\n";
    begin = end + 1;
  }
  screen += "\x1b[J";
  std::fputs(screen.c_str(), stdout);
  std::fflush(stdout);
}

void LogRun::show(const logs::Progress& at) {
  using namespace std::chrono;
  const auto now = steady_clock::now();
  if (flags_.follow) {
    if (!shown_text_ || ::isatty(STDOUT_FILENO) == 0 || now - shown_ < seconds{1}) return;
    shown_ = now;
    draw();
    return;
  }
  if (!terminal_ || now - shown_ < milliseconds{100}) return;
  shown_ = now;
  const double seconds = duration<double>(now - started_).count();
  const double rate = static_cast<double>(at.lines) / seconds;
  std::string line =
      fmt::format("{:.1f} M lines, {:.2f} M/s", static_cast<double>(at.lines) / 1e6, rate / 1e6);
  if (at.total > 0) {
    const double share = std::min(1.0, static_cast<double>(at.consumed) / static_cast<double>(at.total));
    const double left = share > 0 ? seconds / share - seconds : 0;
    constexpr std::size_t kWidth = 30;
    const auto done = static_cast<std::size_t>(share * kWidth);
    line = fmt::format("[{}{}] {:3.0f} %  {}  {:.0f} s left", std::string(done, '#'),
                       std::string(kWidth - done, '.'), share * 100, line, left);
  }
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
}

void LogRun::finish() {
  if (flags_.follow && shown_ != started_) std::fputs("\x1b[H\x1b[J", stdout);
  if (flags_.follow) {
    shown_ = started_;
    return;
  }
  if (terminal_ && shown_ != started_) std::fputs("\r\x1b[K", stderr);
  shown_ = started_;
}

bool LogRun::colour() {
  const char* const no = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) != 0 && (no == nullptr || *no == '\0');
}

sim::LogReport LogRun::report() const {
  sim::LogReport report;
  report.files = flags_.files;
  report.key = flags_.key;
  report.cost = flags_.cost.empty() ? "1" : flags_.cost;
  report.reorder = flags_.reorder;
  report.interrupted = interrupted();
  report.stats = reader_.stats();
  report.clients = reader_.clients().count();
  report.first_ns = first_ns_;
  report.last_ns = last_ns_;
  report.stamps_ns = stamps_ns_;
  report.spans = flags_.in_flight;
  report.asked = flags_.filter.asked();
  report.units = units_ > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(units_);
  flags_.filter.check(report.stats);
  if (report.stats.requests == 0 && !report.interrupted) {
    const logs::LogStats& stats = report.stats;
    if (stats.left_out > 0) {
      throw std::runtime_error(
          fmt::format("--where, --since and --until leave out all of {} requests", stats.left_out));
    }
    std::string text;
    for (const std::string& broken : stats.broken) text += broken + "\n";
    if (stats.unreadable == 0) throw std::runtime_error(text + flags_.files[0] + ": contains no requests");
    text += fmt::format("none of {} lines could be read", stats.read);
    for (const logs::Unreadable& each : stats.examples) {
      text += fmt::format("\n  {}:{}: {}: {}", each.file, each.line, each.why, core::printable(each.text));
    }
    text += "\n  expected lines such as: " + stats.expected;
    text +=
        "\n  --format, --regex, --time, --key and --cost describe a log that is laid out differently; weir "
        "formats " +
        logs::shell_word(flags_.files[0]) + " says how";
    throw std::runtime_error(text);
  }
  return report;
}

void LogRun::attempt(const std::function<void()>& write) {
  try {
    write();
  } catch (const std::runtime_error& error) {
    failed(error.what());
  }
}

void LogRun::write_names(const std::function<std::string()>& lines) {
  if (!flags_.names.empty()) attempt([&] { write_file(flags_.names, lines(), kOwnerOnly); });
}

int LogRun::deliver(const std::string& text, const std::string& json,
                    const std::function<std::string()>& page) {
  std::string written;
  if (!flags_.html.empty()) {
    attempt([&] {
      write_file(flags_.html, page());
      written = "\nwritten: " + flags_.html + "\n";
    });
  }
  std::FILE* const to = flags_.report_to_stderr ? stderr : stdout;
  std::fputs((flags_.json ? json + "\n" : text + written).c_str(), to);
  if (std::fflush(stdout) != 0 && errno != EPIPE) {
    throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
  }
  if (!unwritten_.empty()) throw std::runtime_error(unwritten_);
  for (const std::string& broken : reader_.stats().broken) std::fprintf(stderr, "weir: %s\n", broken.c_str());
  if (interrupted()) return 130;
  return reader_.stats().broken.empty() ? 0 : 2;
}

}  // namespace weir::cli
