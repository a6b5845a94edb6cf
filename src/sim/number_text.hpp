// Numbers, shares and times as a reader of a report wants them: three digits, units, commas.
//
// Pure, any thread. Not for: JSON, which has the exact numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::sim {

// 1234567 -> "1,234,567".
std::string grouped(std::uint64_t number);

// "1 client", "1,753 clients".
std::string counted(std::uint64_t number, std::string_view what);

// "1.4 %"; a few are not shown as none, nor nearly all as all.
std::string percent(std::uint64_t part, std::uint64_t whole);

// "1h23m", "12.5s".
std::string about(std::int64_t ns);

// "a second", "2 minutes", "a week": of whole seconds, in the greatest unit that divides them.
std::string span_in_words(std::int64_t seconds);

// "10 a second", "1 a minute", "3 an hour": in the shortest period in which it is at least 1, and at most a
// day.
std::string rate_in_words(double per_second);

// How many columns the text takes: its code points, which is right except for wide scripts.
std::size_t width_of(std::string_view text);

// At most that many columns, without its end or without its middle: names often differ in both ends.
std::string cut(std::string text, std::size_t columns);
std::string cut_middle(std::string_view text, std::size_t columns);

}  // namespace weir::sim
