// Which parts of a log's lines are wanted.
//
// Plain data. Not for: how a line is taken apart (src/logs/splitter.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.hpp"
#include "logs/span.hpp"
#include "logs/time_format.hpp"
#include "logs/zone.hpp"

namespace weir::inline v0_1::logs {

struct Wanted {
  struct Part {
    std::string field;
    bool address = false;  // as an internet address, without a port
    core::Prefixes prefixes;
    std::vector<std::string> other_names;  // of the field, where there is none called `field`
    bool path = false;                     // as the path of a target, in one spelling (core/path.hpp)
    std::vector<std::string> patterns{};   // of a path: the first that matches it stands for it
    bool may_lack = false;                 // a line need not have this one
  };
  std::vector<Part> key;    // empty: the client's address, where the format has it
  std::vector<Part> also;   // further fields, whose values LineParser::also() tells; a line may lack them
  bool may_lack = false;    // a line need not have the fields of the key; it lacks one that is empty or "-"
  core::Prefixes prefixes;  // of that address
  std::string cost;         // empty: 1 for each line
  std::optional<WantedSpan> span{};  // then LogRecord says when a request began and ended; without a cost
  std::string time;                  // empty: where the format has it; "date,clock" is two fields
  std::optional<TimeFormat> time_format{};
  Zone zone{};  // of times that name none

  // "ip", "ip/64", "ip/24/64", "user", "ip,path", "xff[-1]/64". Throws std::runtime_error.
  void set_key(std::string_view text);
  // Paths of the key that match a pattern (core/pattern.hpp) count as one. Throws std::runtime_error when the
  // key has no part called `path`.
  void set_path_patterns(const std::vector<std::string>& patterns);
};

}  // namespace weir::logs
