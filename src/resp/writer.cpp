#include "resp/writer.hpp"

#include <algorithm>
#include <cstring>

#include "core/printable.hpp"

namespace weir::inline v0_1::resp {
namespace {

// Two digits a step halve the divisions, which are what printing a number costs.
constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

constexpr std::size_t kMaxDigits = 20;                    // 2^64 - 1
constexpr std::size_t kMaxLine = 1 + 1 + kMaxDigits + 2;  // type, sign, digits, CRLF
constexpr std::string_view kFormat = "txt:";              // of a verbatim string: plain text
constexpr std::string_view kFiveHeader = "*5\r\n";
constexpr std::string_view kSixHeader = "*6\r\n";
constexpr std::string_view kSevenHeader = "*7\r\n";
constexpr std::size_t kShort = 64;  // the longest name of a limit, and the longest id

char* write_unsigned(char* at, std::uint64_t value) {
  // Most numbers of an answer are below 100: a burst, what remains, seconds to wait.
  if (value < 10) {
    *at = static_cast<char>('0' + value);
    return at + 1;
  }
  if (value < 100) {
    std::memcpy(at, &kDigitPairs[2 * value], 2);
    return at + 2;
  }
  char digits[kMaxDigits];
  char* first = digits + kMaxDigits;
  while (value >= 10) {
    first -= 2;
    std::memcpy(first, &kDigitPairs[2 * (value % 100)], 2);
    value /= 100;
  }
  if (value > 0) *--first = static_cast<char>('0' + value);
  const auto length = static_cast<std::size_t>(digits + kMaxDigits - first);
  std::memcpy(at, first, length);
  return at + length;
}

char* write_integer_line(char* at, std::int64_t value) {
  *at++ = ':';
  auto magnitude = static_cast<std::uint64_t>(value);
  if (value < 0) {
    *at++ = '-';
    magnitude = std::uint64_t{0} - magnitude;  // defined for -2^63 too
  }
  at = write_unsigned(at, magnitude);
  std::memcpy(at, "\r\n", 2);
  return at + 2;
}

char* write_bulk(char* at, std::string_view bytes) {
  *at++ = '$';
  at = write_unsigned(at, bytes.size());
  std::memcpy(at, "\r\n", 2);
  at = std::copy(bytes.begin(), bytes.end(), at + 2);
  std::memcpy(at, "\r\n", 2);
  return at + 2;
}

}  // namespace

void Writer::integer(std::int64_t value) {
  char buffer[kMaxLine];
  out_.append(buffer, write_integer_line(buffer, value));
}

void Writer::five_integers(const std::array<std::int64_t, 5>& values) {
  char buffer[kFiveHeader.size() + 5 * kMaxLine];
  std::memcpy(buffer, kFiveHeader.data(), kFiveHeader.size());
  char* at = buffer + kFiveHeader.size();
  for (const std::int64_t value : values) at = write_integer_line(at, value);
  out_.append(buffer, static_cast<std::size_t>(at - buffer));
}

void Writer::four(const std::array<std::int64_t, 4>& values, std::string_view by) {
  char buffer[kFiveHeader.size() + 5 * kMaxLine + kShort + 2];
  std::memcpy(buffer, kFiveHeader.data(), kFiveHeader.size());
  char* at = buffer + kFiveHeader.size();
  for (const std::int64_t value : values) at = write_integer_line(at, value);
  append_with_bulk(buffer, at, by);
}

void Writer::six(const std::array<std::int64_t, 5>& values, std::string_view by) {
  char buffer[kSixHeader.size() + 6 * kMaxLine + kShort + 2];
  std::memcpy(buffer, kSixHeader.data(), kSixHeader.size());
  char* at = buffer + kSixHeader.size();
  for (const std::int64_t value : values) at = write_integer_line(at, value);
  append_with_bulk(buffer, at, by);
}

void Writer::seven(const std::array<std::int64_t, 5>& values, std::string_view id, std::string_view by) {
  char buffer[kSevenHeader.size() + 7 * kMaxLine + 2 * kShort + 2];
  std::memcpy(buffer, kSevenHeader.data(), kSevenHeader.size());
  char* at = buffer + kSevenHeader.size();
  for (const std::int64_t value : values) at = write_integer_line(at, value);
  if (id.empty()) {
    const std::string_view null = resp3_ ? "_\r\n" : "$-1\r\n";
    at = std::copy(null.begin(), null.end(), at);
  } else {
    at = write_bulk(at, id.substr(0, kShort));
  }
  append_with_bulk(buffer, at, by);
}

// What has been written from `first` on, and a bulk for which there is room if it is short.
void Writer::append_with_bulk(char* first, char* at, std::string_view bytes) {
  if (bytes.size() <= kShort) {
    out_.append(first, static_cast<std::size_t>(write_bulk(at, bytes) - first));
    return;
  }
  out_.append(first, static_cast<std::size_t>(at - first));
  bulk(bytes);
}

void Writer::header(char type, std::uint64_t count) {
  char buffer[kMaxLine];
  buffer[0] = type;
  char* at = write_unsigned(buffer + 1, count);
  std::memcpy(at, "\r\n", 2);
  out_.append(buffer, static_cast<std::size_t>(at + 2 - buffer));
}

void Writer::line(char type, std::string_view text) {
  out_ += type;
  const std::size_t start = out_.size();
  out_ += text;
  std::replace_if(
      out_.begin() + static_cast<std::ptrdiff_t>(start), out_.end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
  out_ += "\r\n";
}

void Writer::simple(std::string_view text) { line('+', text); }

// Errors repeat what was sent, and are shown at terminals.
void Writer::error(std::string_view text) {
  std::string one_line(text);
  std::replace_if(one_line.begin(), one_line.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  line('-', core::printable(one_line));
}

void Writer::bulk(std::string_view bytes) {
  header('$', bytes.size());
  out_ += bytes;
  out_ += "\r\n";
}

void Writer::number(std::uint64_t value) {
  char digits[kMaxDigits];
  bulk({digits, static_cast<std::size_t>(write_unsigned(digits, value) - digits)});
}

void Writer::null() { out_ += resp3_ ? "_\r\n" : "$-1\r\n"; }

void Writer::null_array() { out_ += resp3_ ? "_\r\n" : "*-1\r\n"; }

void Writer::array(std::size_t values) { header('*', values); }

void Writer::map(std::size_t pairs) {
  if (resp3_) {
    header('%', pairs);
  } else {
    header('*', std::uint64_t{2} * pairs);
  }
}

void Writer::push(std::size_t values) { header('>', values); }

void Writer::verbatim(std::string_view text) {
  if (!resp3_) return bulk(text);
  header('=', kFormat.size() + text.size());
  out_ += kFormat;
  out_ += text;
  out_ += "\r\n";
}

}  // namespace weir::resp
