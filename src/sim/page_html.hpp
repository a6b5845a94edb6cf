// What every page is made of: one stylesheet, one header, one way for text to get in.
//
// Names of clients and of files are bytes that a stranger chose. Each reaches a page through escaped(), and
// as JSON in one element that no text can end; the page's policy lets it load nothing.
//
// Pure, any thread. Not for: what a page says (page_replay.cpp, page_suggest.cpp, page_diff.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

// Text of unknown origin as text, or as the value of an attribute in double quotes.
std::string escaped(std::string_view text);

// A name, its middle cut where it is long; whole in a title.
std::string named(std::string_view name, std::size_t columns = 40);

std::string code(std::string_view text);

// "1.4 %", on one line.
std::string share(std::uint64_t part, std::uint64_t whole);

// A cell with a number: sorted by `value`, and with its unit where a page is too narrow for heads of columns.
std::string number_cell(double value, const std::string& text, std::string_view unit,
                        std::string_view more_class = "");
// A cell with a bar as long as `value` is of `most`, and the value in words.
std::string bar_cell(double value, double most, const std::string& text);

// "2026-03-17 08:00:02".
std::string stamp(std::int64_t ns);

struct Page {
  std::string kind;                                        // "replay"
  std::string title;                                       // of the window
  std::string answer;                                      // the headline
  std::vector<std::pair<std::string, std::string>> facts;  // name, HTML
  std::vector<std::string> warnings;                       // texts
  std::vector<std::string> notes;                          // texts
  std::string body;                                        // HTML
  std::string json;                                        // for the script
};
std::string html_of(const Page& page);

// A section with the clients that had the most requests under way at once; empty without any.
std::string most_at_once(const std::vector<AtOnce>& clients);

// What is said of every log: its facts, warnings and notes.
void describe(Page& page, const LogReport& log);

}  // namespace weir::sim
