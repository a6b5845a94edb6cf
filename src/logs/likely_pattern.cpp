#include "logs/likely_pattern.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/digits.hpp"
#include "logs/likely_keys.hpp"
#include "logs/likely_times.hpp"
#include "logs/regex.hpp"
#include "logs/time_format.hpp"

namespace weir::inline v0_1::logs {
namespace {

#define WEIR_V4 "(?:\\d{1,3}\\.){3}\\d{1,3}"
#define WEIR_HEX "[0-9A-Fa-f]{1,4}"
// Neither a clock nor a MAC address, which have colons too; whole where the last 32 bits are written as IPv4.
constexpr std::string_view kAddress =
    "(?:" WEIR_V4 "|(?:" WEIR_HEX ":){7}" WEIR_HEX "|(?:" WEIR_HEX "(?::" WEIR_HEX ")*)?::(?:(?:" WEIR_HEX
    ":)*(?:" WEIR_V4 "|" WEIR_HEX "))?)";
#undef WEIR_V4
#undef WEIR_HEX

// What is looked at: a line may be a book.
constexpr std::size_t kMostLines = 500;
constexpr std::size_t kMostBytes = 4096;     // of a line
constexpr std::size_t kMostAddresses = 8;    // of a line
constexpr std::size_t kLongestAnchor = 100;  // before an address
constexpr std::size_t kMostPlaces = 64;
constexpr std::size_t kMostPatterns = 4;

re2::StringPiece as_piece(std::string_view text) { return {text.data(), text.size()}; }

// Before an address stands no part of a longer one, nor of a word; but a word and a colon may.
constexpr std::string_view kBoundary = "(?:|.*?(?:[^0-9A-Za-z.:]|[^0-9.:]:))";

// Text as a pattern that only it matches, but for numbers and spaces, of which there may be others.
std::string pattern_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    const std::string one = digit ? "\\d+" : c == ' ' ? " +" : RE2::QuoteMeta(std::string(1, c));
    if ((digit || c == ' ') && out.ends_with(one)) continue;
    out += one;
  }
  return out;
}

// A word is not the end of a longer one.
std::string found_after(std::string_view anchor) {
  const char c = anchor.front();
  const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return (word ? "(?:|.*?[^0-9A-Za-z_-])" : ".*?") + pattern_of(anchor);
}

// What stands before an address, by which other lines are recognised: `fwd="`, `client `, `[`. Empty where
// there is nothing but a space, or a number.
std::string_view anchor_before(std::string_view before) {
  const auto any = [](char c, std::string_view of) { return of.find(c) != std::string_view::npos; };
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
  };
  // "[2001:db8::5]:40312" beside "192.0.2.1:40312".
  if (before.ends_with('[') && (before.size() == 1 || any(before[before.size() - 2], " ;,=:|\t")))
    before.remove_suffix(1);
  std::size_t at = before.size();
  while (at > 0 && any(before[at - 1], "[(\"'<")) --at;
  std::size_t end = at;
  while (end > 0 && any(before[end - 1], " =:\"")) --end;
  std::size_t word = end;
  while (word > 0 && letter(before[word - 1])) --word;
  if (word < end && end < at && (word == 0 || any(before[word - 1], " ,[(\"'<{\t")))
    return before.substr(word);
  if (at < before.size()) return before.substr(at);
  word = at;
  while (word > 0 && !any(before[word - 1], " \t;,|")) --word;
  return before.substr(word);
}

// Whether what stands here is the version of a product, as in Chrome/131.0.0.0; a host's address after its
// name has a port.
bool is_version(std::string_view before, std::string_view after) {
  const bool product =
      before.size() > 1 && before.ends_with('/') && core::is_letter(before[before.size() - 2]);
  return product && !(after.size() > 1 && after[0] == ':' && core::is_digit(after[1]));
}

// `open` begins the group of the time; those before it that are not the line's own are passed over.
std::string time_pattern(const TimeForm& form, std::size_t skip, std::string_view open = "(") {
  const std::string shape(form.shape);
  std::string out;
  for (; skip > 0; --skip) out += shape + "(?:|.*?[^0-9A-Za-z])";
  return out.append(open) + shape + ")";
}

// Where in its lines an address is.
struct Place {
  std::size_t after_the_time = 0;
  bool list = false;
  std::size_t skip = 0;                            // texts like the time between it and the time
  std::string name;                                // what stands before it
  std::map<std::size_t, std::string> addresses{};  // of the lines that have one here

  std::vector<std::string> values() const {
    std::vector<std::string> all;
    for (const auto& [line, address] : addresses) all.push_back(address);
    return all;
  }
};

class AddressPlaces {
 public:
  AddressPlaces(const TimeForm& form, std::size_t skip)
      : form_(form),
        time_text_(time_pattern(form, skip, "(?<time>")),
        time_(time_pattern(form, skip), RE2::Latin1),
        shape_(std::string(form.shape), RE2::Latin1),
        address_("(?:^|[^0-9A-Za-z.:]|[^0-9.:]:)(" + std::string(kAddress) + ")(?:$|[^0-9A-Za-z.])") {}

  void look_at(std::size_t number, std::string_view line) {
    re2::StringPiece matched[2];
    if (!time_.Match(as_piece(line), 0, line.size(), RE2::UNANCHORED, matched, 2)) return;
    const re2::StringPiece when = matched[1];
    const auto time_at = static_cast<std::size_t>(when.data() - line.data());
    std::size_t nth = 0;  // of those after the time
    std::size_t from = 0;
    for (std::size_t seen = 0; seen < kMostAddresses && from < line.size(); ++seen) {
      re2::StringPiece found[2];
      if (!address_.Match(as_piece(line), from, line.size(), RE2::UNANCHORED, found, 2)) break;
      const auto at = static_cast<std::size_t>(found[1].data() - line.data());
      from = at + found[1].size();
      if (at >= time_at && at < time_at + when.size()) continue;
      const bool after = at > time_at;
      Place* const place = take(number, line, at, found[1].size(), after ? std::optional(nth) : std::nullopt);
      if (place != nullptr && !after) place->skip = times_in(line.substr(from, time_at - from));
      nth += after ? 1 : 0;
    }
  }

  const std::map<std::string, Place>& all() const { return places_; }

  std::string line_pattern(const std::string& before, const Place& place) const {
    const std::string one(kAddress);
    const std::string address =
        "\\[?" + (place.list ? "(?<xff>" + one + "(?:, ?" + one + ")*)" : "(?<ip>" + one + ")");
    const std::string after = "(?:[^0-9A-Za-z.].*)?";
    return place.after_the_time * 2 > place.addresses.size()
               ? "(?:|.*?[^0-9A-Za-z.])" + time_text_ + before + address + after
               : before + address + "[^0-9A-Za-z.](?:|.*?[^0-9A-Za-z.])" +
                     time_pattern(form_, place.skip, "(?<time>") + after;
  }

 private:
  std::size_t times_in(std::string_view text) const {
    re2::StringPiece rest = as_piece(text);
    std::size_t count = 0;
    while (RE2::FindAndConsume(&rest, shape_)) ++count;
    return count;
  }

  // The first that a line has there counts; null when this is not it.
  Place* take(std::size_t number, std::string_view line, std::size_t at, std::size_t size,
              std::optional<std::size_t> nth_after_time) {
    const std::string text(line.substr(at, size));
    const std::string_view anchor = anchor_before(line.substr(0, at));
    if (!is_an_address(text) || anchor.size() > kLongestAnchor) return nullptr;
    if (is_version(line.substr(0, at), line.substr(at + size))) return nullptr;
    const std::string before = anchor.empty() ? nth_address(nth_after_time.value_or(0)) : found_after(anchor);
    if (places_.size() >= kMostPlaces && !places_.contains(before)) return nullptr;
    Place& one = places_[before];
    if (!one.addresses.emplace(number, text).second) return nullptr;
    one.after_the_time += nth_after_time ? 1 : 0;
    one.list = one.list || (!anchor.empty() && line.substr(at + size).starts_with(','));
    one.name = anchor;
    return &one;
  }

  // After n others.
  static std::string nth_address(std::size_t n) {
    std::string out(kBoundary);
    for (; n > 0; --n) out += std::string(kAddress) + "[^0-9A-Za-z.]" + std::string(kBoundary);
    return out;
  }

  TimeForm form_;
  std::string time_text_;
  RE2 time_;
  RE2 shape_;
  RE2 address_;
  std::map<std::string, Place> places_;  // by the pattern of what is before the address
};

// Whether it finds that address and no other, in the lines that have one there; of ten lines, one may differ.
bool finds(const std::string& pattern, const Place& place, std::span<const std::string_view> lines) {
  const Regex regex(pattern);
  const auto group = std::find_if(regex.names().begin(), regex.names().end(),
                                  [](const std::string& name) { return name == "ip" || name == "xff"; });
  const auto number = static_cast<std::size_t>(group - regex.names().begin()) + 1;
  std::vector<re2::StringPiece> found(number + 1);
  std::size_t same = 0;
  std::size_t other = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto there = place.addresses.find(i);
    const bool matches = regex.compiled().Match(as_piece(lines[i]), 0, lines[i].size(), RE2::ANCHOR_BOTH,
                                                found.data(), static_cast<int>(found.size()));
    const std::string text = matches ? std::string(found[number].data(), found[number].size()) : "";
    const std::string first = text.substr(0, text.find(','));
    if (there != place.addresses.end() && there->second == first)
      ++same;
    else if (matches || there != place.addresses.end())
      ++other;
  }
  return other * 10 <= same;
}

// Whether most of the lines with what stands before it have an address there.
bool is_mostly_there(const Place& place, const std::string& before, std::span<const std::string_view> lines) {
  if (place.name.empty()) return true;
  const RE2 anchor("^" + before, RE2::Latin1);
  const auto with_it = std::count_if(lines.begin(), lines.end(), [&anchor](std::string_view line) {
    return RE2::PartialMatch(as_piece(line), anchor);
  });
  return place.addresses.size() * 2 >= static_cast<std::size_t>(with_it);
}

// What the time of a line is: the first text of a form, or the one after as many others as are skipped.
struct LikelyTime {
  const TimeForm* form = nullptr;
  std::size_t skip = 0;
  std::size_t lines = 0;
  bool constant = false;  // in ten lines or more: when the program was built or began, say
};

LikelyTime time_of(const TimeForm& form, std::size_t skip, std::span<const std::string_view> lines) {
  constexpr std::size_t kMany = 10;
  const RE2 pattern(time_pattern(form, skip), RE2::Latin1);
  LikelyTime time{&form, skip};
  std::string first;
  for (const std::string_view line : lines) {
    std::string text;
    if (!RE2::PartialMatch(as_piece(line), pattern, &text)) continue;
    if (time.lines == 0) first = text;
    time.constant = text == first && (time.lines == 0 || time.constant);
    ++time.lines;
  }
  time.constant = time.constant && time.lines >= kMany;
  return time;
}

bool has_year(const TimeForm& form) {
  return form.format.empty() || TimeFormat::parse(std::string(form.format)).has_year();
}

// That of the most lines, of one in ten at least; with a year, if there is one.
LikelyTime time_of(std::span<const std::string_view> lines, bool with_year = true) {
  constexpr std::size_t kMostSkipped = 2;
  LikelyTime best;
  for (const TimeForm& form : time_forms()) {
    if (has_year(form) != with_year) continue;
    for (std::size_t skip = 0; skip <= kMostSkipped; ++skip) {
      const LikelyTime time = time_of(form, skip, lines);
      const bool better = time.constant != best.constant ? best.constant && time.lines * 2 >= best.lines
                                                         : time.lines > best.lines;
      if (time.lines > 0 && (better || best.lines == 0)) best = time;
      if (!time.constant) break;
    }
  }
  if (best.lines * 10 >= lines.size()) return best;
  return with_year ? time_of(lines, false) : LikelyTime{};
}

}  // namespace

std::vector<std::string> likely_patterns(std::span<const std::string_view> all) {
  std::vector<std::string_view> lines;
  for (const std::string_view line : all.first(std::min(all.size(), kMostLines)))
    lines.push_back(line.substr(0, kMostBytes));
  const LikelyTime time = time_of(lines);
  if (time.form == nullptr) return {};
  AddressPlaces places(*time.form, time.skip);
  for (std::size_t i = 0; i < lines.size(); ++i) places.look_at(i, lines[i]);
  struct Choice {
    int rank;
    std::size_t lines;
    std::string pattern;
  };
  std::vector<Choice> choices;
  for (const auto& [before, place] : places.all()) {
    constexpr std::size_t kFewest = 10;  // of a hundred lines
    const std::size_t count = place.addresses.size();
    const int rank = rank_of(place.name, place.values());
    if (count * 100 < lines.size() * kFewest || rank >= kOneOfMany) continue;
    if (!is_mostly_there(place, before, lines)) continue;
    const std::string pattern = places.line_pattern(before, place);
    if (finds(pattern, place, lines)) choices.push_back({rank, count, pattern});
  }
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.rank != b.rank     ? a.rank < b.rank
           : a.lines != b.lines ? a.lines > b.lines
                                : a.pattern < b.pattern;
  });
  std::vector<std::string> patterns;
  for (const Choice& each : choices) {
    if (patterns.size() < kMostPatterns) patterns.push_back(each.pattern);
  }
  return patterns;
}

}  // namespace weir::logs
