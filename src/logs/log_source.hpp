// One file of a log, line by line: what could be read, and how much could not.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logs/filter.hpp"
#include "logs/input.hpp"
#include "logs/layout.hpp"
#include "logs/line_parser.hpp"

namespace weir::inline v0_1::logs {

struct Unreadable {
  std::string file;
  std::uint64_t line;
  std::string why;
  std::string text;  // its beginning
};

// What was found in all files of a run.
struct LogStats {
  std::uint64_t read = 0;  // lines, including empty ones and headers
  std::uint64_t requests = 0;
  std::uint64_t reordered = 0;
  std::uint64_t clamped = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t left_out = 0;  // by a Filter, of those that could be read
  std::vector<std::uint64_t>
      with_value;                    // [i]: readable lines with a value in the field of its i-th condition
  std::vector<std::string> fields;   // of the first lines, where conditions ask for some
  std::vector<Unreadable> examples;  // the first kExamples of them
  std::vector<std::string> broken;   // files that could not be read to their end, and why
  std::string expected;              // an example of a line in this format
  int first_year = 0;                // that the first line was given, where times have none

  static constexpr std::size_t kExamples = 5;
};

class LogSource {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  // Throws std::runtime_error when the file cannot be opened.
  LogSource(const std::string& path, const Wanted& wanted, const Filter& filter, const Layout& asked,
            LogStats& stats, const std::atomic<bool>& stop, bool follow = false);

  // The next readable line; appends its key to `key`, unless the filter leaves it out. False at the end.
  // Throws std::runtime_error for a header without the wanted columns. A truncated or damaged file ends there
  // and is listed in the stats.
  bool next(LogRecord& record, std::string& key);

  // Whether next() returned false only because the log that is followed has not grown yet.
  bool waiting() const { return input_.waiting(); }
  std::uint64_t consumed() const { return input_.consumed(); }

 private:
  std::optional<std::string_view> next_line();
  bool refill();
  bool takes(const LogRecord& record, std::string_view line);
  void note_fields(std::string_view line);
  std::vector<std::string_view> first_lines();
  void make_parser();
  std::string_view parse(std::string_view line, LogRecord& record, std::string& key);
  void make_parser(const Layout& layout, std::string_view line);
  void note_year(const LogRecord& record);
  void unreadable(std::string_view line, std::string_view why);

  std::string path_;
  const Wanted& wanted_;
  const Filter& filter_;
  Layout asked_;
  LogStats& stats_;
  Input input_;
  std::unique_ptr<LineParser> parser_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
  bool too_long_ = false;  // inside a line whose beginning was discarded
  std::uint64_t line_ = 0;
  bool header_ = false;      // the next line is one
  bool lacks_year_ = false;  // its times do
  int noted_ = 0;            // lines whose fields are in the stats
};

}  // namespace weir::logs
