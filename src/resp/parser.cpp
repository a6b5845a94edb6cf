#include "resp/parser.hpp"

#include <algorithm>
#include <limits>

#include "core/number.hpp"
#include "resp/inline_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

// Above these Redis calls a length invalid even for a client without a password, whose own bounds
// are far lower.
constexpr std::int64_t kRedisMaxArgs = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kRedisMaxBulkBytes = 512LL * 1024 * 1024;

// A parser keeps the memory of this many words or bytes for the next command; 10,000 idle connections that
// once sent a large command should not keep it.
constexpr std::size_t kKeptElements = 1024;

// Places in a command are kept in 32 bits; a larger bound counts as this, which also keeps the sums
// below in range.
constexpr std::size_t kMaxBytes = std::numeric_limits<std::uint32_t>::max();

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kTooLarge = "too big request";
constexpr std::string_view kNoLineEnd = "expected CRLF after bulk";

// "$0\r\n\r\n". Where this much is left, a header of three digits may be looked at without further checks.
constexpr std::ptrdiff_t kShortestWord = 6;

// The last place in a command where the CR of a header may be, so that the header ends within the
// command's bound.
std::size_t last_header_cr(const Bounds& bounds) {
  return std::min(std::max<std::size_t>(bounds.command_bytes, 2) - 2, kMaxBytes);
}

unsigned digit_of(char c) { return static_cast<unsigned char>(c) - unsigned{'0'}; }

bool is_crlf(const char* at) { return at[0] == '\r' && at[1] == '\n'; }

std::string printable(char c) {
  if (c == '\r' || c == '\n') return " ";
  if (c >= ' ' && c <= '~') return {c};
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', kHex[byte >> 4], kHex[byte & 15U]};
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

}  // namespace

CommandParser::Status CommandParser::next(std::string_view input, const Bounds& bounds) {
  if (phase_ == Phase::fresh && next_small(input, bounds)) [[likely]] {
    return Status::complete;
  }
  return next_any(input, bounds);
}

// The path of nearly every command: at most nine words of at most 999 bytes, all of it here. It
// keeps no state and refuses nothing: whatever is not of this form, it leaves to next_any, which
// starts again from the front. Lengths of up to three digits are read by hand, because a call to
// memchr costs more than the whole header.
bool CommandParser::next_small(std::string_view input, const Bounds& bounds) {
  const char* at = input.data();
  const char* const end = at + input.size();
  if (input.size() < 4 || at[0] != '*' || !is_crlf(at + 2)) return false;
  const unsigned words = digit_of(at[1]);
  if (words - 1 > 8 || words > bounds.args) return false;
  at += 4;

  for (std::size_t i = 0; i < words; ++i) {
    if (end - at < kShortestWord || at[0] != '$') return false;
    std::size_t length = digit_of(at[1]);
    if (length > 9) return false;
    at += 2;
    if (*at != '\r') {
      if (length == 0 || digit_of(*at) > 9) return false;
      length = length * 10 + digit_of(*at++);
      if (*at != '\r') {
        if (digit_of(*at) > 9) return false;
        length = length * 10 + digit_of(*at++);
      }
    }
    if (end - at < static_cast<std::ptrdiff_t>(length) + 4 || !is_crlf(at)) return false;
    if (length > bounds.bulk_bytes) return false;
    at += 2;
    few_[i] = {at, length};
    at += length;
    if (!is_crlf(at)) return false;
    at += 2;
  }

  const auto consumed = static_cast<std::size_t>(at - input.data());
  if (consumed > bounds.command_bytes) return false;
  unquoted_.clear();
  count_ = words;
  consumed_ = consumed;
  return true;
}

// Any command, whole or in pieces. Each step either advances phase_ and returns complete, or says
// why it cannot.
CommandParser::Status CommandParser::next_any(std::string_view input, const Bounds& bounds) {
  if (phase_ == Phase::failed) return Status::malformed;
  if (phase_ == Phase::fresh || phase_ == Phase::fresh_after_large) {
    start();
    if (input.empty()) return Status::incomplete;
    phase_ = input[0] == '*' ? Phase::count_line : Phase::inline_line;
  }
  if (phase_ == Phase::inline_line) return next_inline(input, bounds);

  Status step = Status::complete;
  if (phase_ == Phase::count_line) {
    step = read_count(input, bounds);
    if (step == Status::complete && words_left_ == 0) return finish(position_);
  }
  while (step == Status::complete && words_left_ > 0) {
    step = phase_ == Phase::length_line ? read_length(input, bounds) : read_word(input);
  }
  if (step != Status::complete) return step;

  for (const Place place : places_) add_arg(input.substr(place.offset, place.length));
  return finish(position_);
}

CommandParser::Status CommandParser::read_count(std::string_view input, const Bounds& bounds) {
  std::string_view number;
  switch (find_line(input, bounds, number)) {
    case LineStatus::incomplete:
      return Status::incomplete;
    case LineStatus::too_long:
      return fail("too big mbulk count string");
    case LineStatus::too_large:
      return fail(kTooLarge);
    case LineStatus::broken:
      return fail("invalid multibulk length");
    case LineStatus::found:
      break;
  }
  const auto count = core::parse_integer(number);
  if (!count || *count > kRedisMaxArgs) return fail("invalid multibulk length");
  if (*count > 0 && static_cast<std::size_t>(*count) > bounds.args) {
    return fail(bounds.authenticated ? "invalid multibulk length" : "unauthenticated multibulk length");
  }
  words_left_ = *count > 0 ? static_cast<std::size_t>(*count) : 0;
  phase_ = Phase::length_line;
  return Status::complete;
}

CommandParser::Status CommandParser::read_length(std::string_view input, const Bounds& bounds) {
  // Reported at the first byte, not at the end of its line as in Redis: a client that lost count learns it
  // now.
  if (position_ < input.size() && position_ <= last_header_cr(bounds) && input[position_] != '$') {
    return fail("expected '$', got '" + printable(input[position_]) + "'");
  }
  std::string_view number;
  switch (find_line(input, bounds, number)) {
    case LineStatus::incomplete:
      return Status::incomplete;
    case LineStatus::too_long:
      return fail("too big bulk count string");
    case LineStatus::too_large:
      return fail(kTooLarge);
    case LineStatus::broken:
      return fail("invalid bulk length");
    case LineStatus::found:
      break;
  }
  const auto length = core::parse_integer(number);
  if (!length || *length < 0 || *length > kRedisMaxBulkBytes) return fail("invalid bulk length");
  word_length_ = static_cast<std::size_t>(*length);
  if (word_length_ > bounds.bulk_bytes) {
    return fail(bounds.authenticated ? "invalid bulk length" : "unauthenticated bulk length");
  }
  // Refused when it is announced, so that the caller does not collect bytes for a command that
  // cannot become one.
  if (position_ + word_length_ + 2 > std::min(bounds.command_bytes, kMaxBytes)) return fail(kTooLarge);
  phase_ = Phase::word;
  return Status::complete;
}

CommandParser::Status CommandParser::read_word(std::string_view input) {
  const std::size_t end = position_ + word_length_;
  if (input.size() < end + 2) return Status::incomplete;
  // Redis skips these two bytes unread. A client that miscounted is better told so than given wrong answers.
  if (!is_crlf(input.data() + end)) return fail(kNoLineEnd);
  places_.push_back({static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(word_length_)});
  position_ = scanned_ = end + 2;
  --words_left_;
  phase_ = Phase::length_line;
  return Status::complete;
}

// Finds the CRLF of the header line at position_, continuing where the last call stopped, and steps past
// it. The bounds are on where the line *ends*, so that the answer does not depend on how the input was cut.
CommandParser::LineStatus CommandParser::find_line(std::string_view input, const Bounds& bounds,
                                                   std::string_view& number) {
  const std::size_t line_last = position_ + std::min(bounds.inline_bytes, kMaxBytes);
  const std::size_t command_last = last_header_cr(bounds);
  const std::size_t last = std::min(line_last, command_last);  // the last place where the CR may be

  std::size_t at = scanned_;
  while (at < input.size() && at <= last && input[at] != '\r' && input[at] != '\n') ++at;
  scanned_ = at;
  if (at > last) return line_last <= command_last ? LineStatus::too_long : LineStatus::too_large;
  if (at == input.size()) return LineStatus::incomplete;
  if (input[at] == '\n') return LineStatus::broken;
  if (at + 1 == input.size()) return LineStatus::incomplete;
  if (input[at + 1] != '\n') return LineStatus::broken;
  number = input.substr(position_ + 1, at - position_ - 1);
  position_ = scanned_ = at + 2;
  return LineStatus::found;
}

CommandParser::Status CommandParser::next_inline(std::string_view input, const Bounds& bounds) {
  const std::size_t last =
      std::min({bounds.inline_bytes, std::max<std::size_t>(bounds.command_bytes, 1) - 1, kMaxBytes});
  const std::string_view allowed = input.substr(0, last + 1);
  const std::size_t line_feed = allowed.find('\n', scanned_);
  if (line_feed == std::string_view::npos) {
    scanned_ = allowed.size();
    return input.size() > last ? fail("too big inline request") : Status::incomplete;
  }
  std::string_view line = input.substr(0, line_feed);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  InlineWords words(line, unquoted_);
  std::string_view word;
  InlineWords::Step step = words.next(word);
  for (; step == InlineWords::Step::word; step = words.next(word)) add_arg(word);
  if (step == InlineWords::Step::unbalanced) return fail("unbalanced quotes in request");
  if (count_ > bounds.args) return fail("too big inline request");
  return finish(line_feed + 1);
}

void CommandParser::start() {
  if (phase_ == Phase::fresh_after_large) {
    // Not `= {}`, which is an empty list assigned: it keeps the capacity.
    many_ = decltype(many_)();
    places_ = decltype(places_)();
    unquoted_ = decltype(unquoted_)();
    phase_ = Phase::fresh;
  }
  count_ = consumed_ = position_ = scanned_ = words_left_ = word_length_ = 0;
  places_.clear();
  unquoted_.clear();
}

void CommandParser::add_arg(std::string_view word) {
  if (count_ < kFew) {
    few_[count_] = word;
  } else {
    if (count_ == kFew) many_.assign(few_.begin(), few_.end());
    many_.push_back(word);
  }
  ++count_;
}

CommandParser::Status CommandParser::finish(std::size_t consumed) {
  consumed_ = consumed;
  const std::size_t kept = std::max({many_.capacity(), places_.capacity(), unquoted_.capacity()});
  phase_ = kept > kKeptElements ? Phase::fresh_after_large : Phase::fresh;
  return Status::complete;
}

CommandParser::Status CommandParser::fail(std::string_view text) {
  start();
  phase_ = Phase::failed;
  error_ = "ERR Protocol error: ";
  error_ += text;
  return Status::malformed;
}

bool looks_like_http(std::span<const std::string_view> args) {
  return !args.empty() && (equals_ignoring_case(args[0], "post") || equals_ignoring_case(args[0], "host:"));
}

}  // namespace weir::resp
