// What `weir replay`, `weir suggest` and `weir diff` share: which log to read, how to read it, where the
// report goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/filter_flags.hpp"
#include "cli/layout_flags.hpp"
#include "logs/log_reader.hpp"
#include "sim/naming.hpp"
#include "sim/report.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct LogFlags {
  std::vector<std::string> files;
  std::string key = "ip";
  std::vector<std::string> path_patterns;
  std::string cost;
  bool in_flight = false;  // slots are asked for: how long each request took is read
  std::string duration;
  std::string stamp;
  LayoutFlags layout;
  std::string time;
  std::string time_format;
  std::string zone = "+0000";
  std::string reorder = "60s";  // see --follow
  FilterFlags filter;
  std::string top;  // fields of which the report tells the values that were denied, with commas between
  bool spread = false;
  bool follow = false;
  bool report_to_stderr = false;  // standard output is taken
  bool json = false;
  std::string html;
  bool anonymize = false;
  std::string names;

  void add_to(CLI::App& app);
  // The part of it that says how a log is read and which of its requests count, for a subcommand that finds
  // the log and its clients otherwise.
  void add_reading_to(CLI::App& app);
  void add_output_to(CLI::App& app);
  // --duration and --stamp, of the subcommands that have --in-flight.
  void add_duration_to(CLI::App& app);
  // --anonymize and --names, of the subcommands that report clients.
  void add_names_to(CLI::App& app);
  // How clients are called in the table and in --json, and on a page.
  sim::Naming naming() const { return anonymize ? sim::Naming::none : sim::Naming::as_is; }
  sim::Naming page_naming() const { return anonymize ? sim::Naming::none : sim::Naming::addresses; }
  std::vector<std::string> tops() const;
  // Throws std::runtime_error when `path`, which is to be written, is one of the logs.
  void refuse_the_log(const std::string& flag, const std::string& path) const;
  // Throws std::runtime_error.
  logs::LogReaderOptions options() const;

 private:
  void set_span(logs::Wanted& wanted) const;
};

// One run over a log: Ctrl-C ends it early, a terminal shows its progress.
class LogRun {
 public:
  explicit LogRun(const LogFlags& flags) : LogRun(flags, flags.options()) {}
  // Of a limits file, whose attributes `parts` are in place of --key: a line may lack some of them.
  LogRun(const LogFlags& flags, std::vector<logs::Wanted::Part> parts);
  ~LogRun();
  LogRun(const LogRun&) = delete;
  LogRun& operator=(const LogRun&) = delete;

  logs::LogReader& reader() { return reader_; }
  // How many fields make a client, or are attributes; those of LogFlags::top come after them.
  std::size_t key_parts() const { return reader_.options().wanted.key.size() - flags_.tops().size(); }
  // With --follow: what standard output, a terminal, shows until the end, drawn again each second.
  void while_following(std::function<std::string()> shown) { shown_text_ = std::move(shown); }
  // Ended early, so that what was found is not all; Ctrl-C is how --follow ends.
  bool interrupted() const { return reader_.interrupted() && !flags_.follow; }
  // Every event of the log, in pieces.
  void read(const std::function<void(std::span<const logs::Event>)>& each);
  // The part of a report that is about the log.
  sim::LogReport report() const;
  // Writes a file beside the report. Where that fails, a disk may be full: deliver() prints the report all
  // the same, and then throws what this one met.
  void attempt(const std::function<void()>& write);
  void failed(const std::string& why) {
    if (unwritten_.empty()) unwritten_ = why;
  }
  // Prints or writes the report in the form asked for; returns the exit code.
  int deliver(const std::string& text, const std::string& json, const std::function<std::string()>& page);
  // Writes the names file, readable by its owner alone, if one was asked for.
  void write_names(const std::function<std::string()>& lines);

  static bool colour();

 private:
  LogRun(const LogFlags& flags, logs::LogReaderOptions options);
  void decide(std::span<const logs::Event> events,
              const std::function<void(std::span<const logs::Event>)>& each);
  void show(const logs::Progress& at);
  void draw();
  void finish();

  const LogFlags& flags_;
  logs::LogReader reader_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point shown_;
  bool terminal_;
  std::function<std::string()> shown_text_;
  std::int64_t first_ns_ = -1;
  std::int64_t last_ns_ = 0;
  unsigned __int128 units_ = 0;
  std::int64_t stamps_ns_ = 60'000'000'000;
  std::string unwritten_;  // what the first attempt() to fail met
};

}  // namespace weir::cli
