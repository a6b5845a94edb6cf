// How a log's lines are laid out: the table of formats, and which of them a file has, with which
// wrapper around it.
//
// Pure functions, any thread. Not for: the formats themselves, each a file of its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logs/regex.hpp"
#include "logs/splitter.hpp"
#include "logs/wrapper.hpp"

namespace weir::inline v0_1::logs {

struct LogFormat {
  std::string_view name;
  std::string_view about;
  std::string_view example;
  // Whether a line has its shape; never, for a format that only a header tells.
  bool (*fits)(std::string_view line);
  std::unique_ptr<Splitter> (*make)(const std::vector<Slot>& slots, std::string_view line);
};

// The lines that tell a file's layout: programs say a few words before their first request.
inline constexpr std::size_t kFirstLines = 100;

std::span<const LogFormat> formats();
std::vector<std::string> format_names();  // what Layout::set() takes

struct Layout {
  const LogFormat* format = nullptr;     // null: not known yet
  const Wrapper* wrapper = nullptr;      // null: none, or not known yet
  std::shared_ptr<const Regex> regex{};  // of --regex, which `format` then is
  std::string sample{};                  // what is inside the wrapper of a line that has the shape

  // "haproxy", "syslog", "auto". Throws std::runtime_error.
  void set(std::string_view name);
  void set(std::shared_ptr<const Regex> pattern);
  std::string_view example() const { return regex ? regex->pattern() : format->example; }
};

const LogFormat* find_format(std::string_view name);  // null when there is none
std::string name_of(const Layout& layout);            // "combined", "combined in syslog"

// How a file is laid out whose first lines, none of them empty, are these: as the first of them that has the
// shape of a format, and which one that is. `asked` is what is known before.
struct Found {
  Layout layout;
  std::size_t line = 0;
  bool guessed = false;  // no line has the shape of any
};
Found layout_of(std::span<const std::string_view> lines, const Layout& asked);

// `line` has the layout's shape, if any does; for columns, it is the header.
std::unique_ptr<Splitter> make_splitter(const Layout& layout, const std::vector<Slot>& slots,
                                        std::string_view line);

}  // namespace weir::logs
