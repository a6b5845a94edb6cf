// One line of a log -> one record: when, which client, how many units.
//
// A parser belongs to one file and one thread. docs/replay.md says what is read and how.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logs/key.hpp"
#include "logs/layout.hpp"
#include "logs/log_time.hpp"
#include "logs/span.hpp"
#include "logs/splitter.hpp"
#include "logs/wanted.hpp"

namespace weir::inline v0_1::logs {

struct LogRecord {
  std::int64_t ns;        // since 1970; with Wanted::span, when it began
  std::uint64_t cost;     // below 2^63; with Wanted::span, when it ended, ns since 1970
  bool left_out = false;  // a Filter's, which a parser does not know
};

class LineParser {
 public:
  // `line` is one of the file that has the layout's shape; for columns, the header. Throws std::runtime_error
  // when it lacks a wanted field.
  LineParser(const Layout& layout, const Wanted& wanted, std::string_view line);

  // Appends the key to `key`. Returns what is wrong, empty for nothing, or kHeader (`key` may have grown even
  // on a fault). The kSlack bytes after `line` must be readable. Throws std::runtime_error for a header
  // within the file that lacks a wanted field.
  std::string_view parse(std::string_view line, LogRecord& record, std::string& key);
  // The names of the fields that a line has. What also() told of it is gone then.
  std::vector<std::string> fields(std::string_view line);
  // Whether the line that parse() read last had a time and so values of Wanted::also: what it lacks is then a
  // key or a cost.
  bool timed() const { return timed_; }
  // The values of Wanted::also in the line that parse() read last, in their order; a null view for each that
  // the line lacks. They are valid until the next parse(), and only while the line is.
  std::span<const std::string_view> also() const { return also_; }
  // Of times without a year: see TimeReader.
  bool lacks_year() const { return times_.lacks_year(); }
  void set_newest(std::int64_t ns) { times_.set_newest(ns); }
  bool header() const { return splitter_->header(); }  // whether the first line is not a record

 private:
  struct Part {
    std::size_t slot;
    bool address;
    core::Prefixes prefixes;
    bool path;
    std::vector<std::string> patterns;
    bool may_lack;
  };

  Part add(const Wanted::Part& wanted, bool required, std::vector<Slot>& slots);
  void add_times(const std::string& time);
  TimeFault read_time(std::int64_t& ns);
  void find_span(const Layout& layout, const Wanted& wanted, std::string_view line);
  std::string_view read_span(LogRecord& record) const;
  std::string_view missing(std::size_t slot, std::string_view line);
  void append_value(const Part& part, std::string& to) const;
  void append_key(std::string& key) const;
  void collect_also();

  TimeReader times_;
  bool may_lack_;
  std::size_t date_ = 0;  // the slot whose value stands before the time's, with a space between; 0: none
  bool date_is_asked_for_ = false;
  std::string time_text_;
  std::vector<Part> key_;
  std::vector<Part> also_parts_;
  std::size_t cost_ = 0;  // its slot; 0, which is the time's: none
  std::size_t took_ = 0;  // likewise, of how long a request took
  std::optional<KnownSpan> span_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> required_;
  std::unique_ptr<Splitter> splitter_;
  std::vector<std::string_view> values_;  // of each slot in this line
  std::vector<std::string_view> also_;
  std::vector<std::string> also_text_;
  std::string missing_;
  int explained_ = 0;
  bool timed_ = false;
};

}  // namespace weir::logs
