// What the beginning of a log is: its format, its fields, how fine its times are, and what could be a key.
//
// One call, any thread; plain data. Not for: limits (src/sim).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logs/layout.hpp"

namespace weir::inline v0_1::logs {

struct Survey {
  struct Seen {
    std::string name;
    std::string example;
    std::uint64_t lines = 0;      // that have it
    std::uint64_t different = 0;  // values
  };
  struct Key {
    std::string name;
    std::uint64_t different = 0;
  };

  // What has to be said so that the log is read; empty what has not.
  struct Command {
    std::string format;
    std::string regex;
    std::string time;
    std::string time_format;
    std::string key;
  };

  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMostLines = 10'000;
  static constexpr std::size_t kMostFields = 400;

  Layout layout;
  bool guessed = false;            // no line has the shape of any format
  std::optional<Command> command;  // which was tried on these lines; nothing when none reads them
  std::string why_not;             // then: what the last one tried met first
  std::uint64_t lines = 0;
  std::uint64_t requests = 0;
  std::string why;             // the first line that is not a request: what is wrong with it
  int first_year = 0;          // that the first line was given, where times have none
  std::int64_t finest_ns = 0;  // 1 s, 1 ms, 1 us or 1: all times are multiples; 0: there are none
  std::vector<Seen> fields;    // in the order of the lines
  bool more_fields = false;    // than these
  std::vector<Key> keys;       // the best first
};

// Reads the first lines of a file; "-" is standard input. Throws std::runtime_error.
Survey survey_of(const std::string& path, const Layout& asked, const std::atomic<bool>& stop);

}  // namespace weir::logs
