#include "steering/override_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "core/siphash.hpp"

namespace weir::inline v0_1::steering {
namespace {

constexpr std::string_view kAnyVersion = "weir overrides ";
constexpr std::string_view kFirstLine = "weir overrides 2\n";
constexpr std::string_view kFirstLineBefore = "weir overrides 1\n";
std::uint64_t sum_of(std::uint64_t before, std::string_view bytes) {
  return core::siphash<1, 3>({before, 0}, bytes);
}

constexpr std::size_t kSumBytes = 17;  // 16 digits and a newline

std::string text_of_sum(std::uint64_t sum) {
  std::array<char, kSumBytes + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx\n", static_cast<unsigned long long>(sum));
  return {text.data(), kSumBytes};
}

void append_entry(std::string& out, std::string_view bytes) {
  out += std::to_string(bytes.size());
  out += ' ';
  out += bytes;
  out += '\n';
}

// The next "SIZE BYTES\n"; nothing: there is something else.
std::optional<std::string_view> take_entry(std::string_view& rest) {
  std::size_t size = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), size);
  const auto digits = static_cast<std::size_t>(read.ptr - rest.data());
  if (read.ec != std::errc{} || digits == 0 || rest.size() - digits < 2 || rest[digits] != ' ' ||
      size > rest.size() - digits - 2 || rest[digits + 1 + size] != '\n')
    return std::nullopt;
  const std::string_view found = rest.substr(digits + 1, size);
  rest.remove_prefix(digits + size + 2);
  return found;
}

std::optional<std::uint64_t> digits_first(std::string_view& rest) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (read.ec != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
  return number;
}

std::string in_a_line(std::string_view bytes) {
  std::string line;
  for (const char each : bytes) {
    if (each == '\n') {
      line += "\\n";
    } else {
      if (each == '\\') line += '\\';
      line += each;
    }
  }
  return line;
}

std::optional<std::string> as_it_was(std::string_view line) {
  std::string bytes;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_escaped = line[i] == '\\' && ++i < line.size();
    if (i == line.size() || (is_escaped && line[i] != 'n' && line[i] != '\\')) return std::nullopt;
    bytes += is_escaped && line[i] == 'n' ? '\n' : line[i];
  }
  return bytes;
}

void append_line(std::string& out, std::string_view change, OverrideFileEnd& end) {
  end.sum = sum_of(end.sum, change);
  end.size += change.size() + 1 + kSumBytes;
  ++end.entries;
  out.append(change).append(1, ' ').append(text_of_sum(end.sum));
}

// False: it is something else.
bool make_change(std::string_view change, OverrideBook& book) {
  const char kind = change.empty() ? ' ' : change.front();
  change.remove_prefix(std::min<std::size_t>(1, change.size()));
  if (kind == '+') {
    const auto bytes = as_it_was(change);
    auto made = bytes ? decoded(*bytes) : std::nullopt;
    if (!made) return false;
    book.set(*std::move(made));
    return true;
  }
  if (kind != '-') return false;
  do {
    const auto number = digits_first(change);
    if (!number) return false;
    book.end(*number);
  } while (!change.empty() && std::exchange(change, change.substr(1)).front() == ' ');
  return change.empty();
}

// Up to its sum; what is wrong with it, or empty.
std::string read_whole(std::string_view bytes, std::string_view& rest, OverrideFile& into) {
  const auto last = take_entry(rest);
  std::string_view digits = last.value_or("");
  const auto number = digits_first(digits);
  if (!number || !digits.empty()) return "damaged: it does not say its last number";
  OverrideFileEnd end;
  while (const auto entry = take_entry(rest)) {  // a sum has another form
    auto each = decoded(*entry);
    if (!each) return "damaged: an override cannot be read";
    into.book.set(*std::move(each));
    ++end.entries;
  }
  const std::string_view sum = rest.substr(0, kSumBytes);
  if (sum.size() < kSumBytes || sum.back() != '\n') return "damaged: it has lost its end";
  end.sum = sum_of(0, bytes.substr(0, bytes.size() - rest.size()));
  if (sum != text_of_sum(end.sum)) return "damaged: its checksum does not match";
  rest.remove_prefix(kSumBytes);
  into.book.skip_to(*number);
  end.size = bytes.size() - rest.size();
  into.end = end;
  return {};
}

// Those that have their end.
std::string read_changes(std::string_view& rest, OverrideFile& into) {
  OverrideFileEnd last = into.end.value_or(OverrideFileEnd{});
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end + 1);
    const std::string_view change = line.substr(0, line.size() - std::min(line.size(), kSumBytes + 1));
    const std::uint64_t sum = sum_of(last.sum, change);
    if (line.substr(change.size()) != ' ' + text_of_sum(sum))
      return "damaged: a change's checksum does not match";
    if (!make_change(change, into.book)) return "damaged: a change cannot be read";
    last = {last.size + line.size(), sum, last.entries + 1};
    into.end = last;
    rest.remove_prefix(line.size());
  }
  return {};
}

}  // namespace

std::string last_bytes(const OverrideFileEnd& end) { return text_of_sum(end.sum); }

tl::expected<OverrideFile, std::string> read_override_file(std::string_view bytes) {
  std::string_view rest = bytes;
  const std::string_view first = rest.substr(0, std::min<std::size_t>(rest.find('\n'), 40));
  const bool is_before = rest.starts_with(kFirstLineBefore);
  const bool is_other = first.size() > kAnyVersion.size() && first.size() < rest.size() &&
                        rest.starts_with(kAnyVersion) && !rest.starts_with(kFirstLine) && !is_before;
  if (is_other)
    return tl::unexpected("is of version " + std::string(first.substr(kAnyVersion.size())) +
                          "; this program reads 1 and 2");
  if (!is_before && !rest.starts_with(kFirstLine))
    return tl::unexpected(std::string("damaged: it does not begin as such a file does"));
  rest.remove_prefix(kFirstLine.size());
  OverrideFile file;
  std::string wrong = read_whole(bytes, rest, file);
  if (wrong.empty() && is_before && !rest.empty()) wrong = "damaged: something follows its end";
  if (wrong.empty()) wrong = read_changes(rest, file);
  if (!wrong.empty()) return tl::unexpected(std::move(wrong));
  if (is_before || !rest.empty()) file.end.reset();
  return file;
}

std::string override_file(const BookChange& change, OverrideFileEnd& end) {
  const auto& [book, made, ended] = change;
  end = {};
  std::string bytes(kFirstLine);
  append_entry(bytes, std::to_string(std::max(book.next_number() - 1, made != nullptr ? made->number : 0)));
  const auto replaced =
      made != nullptr ? book.find(words_of(made->what, made->limit_id, made->when)) : nullptr;
  const auto add = [&](const OperatorOverride& each) {
    append_entry(bytes, encoded(each));
    ++end.entries;
  };
  for (const auto& [number, each] : book.all())
    if (each != replaced && std::find(ended.begin(), ended.end(), each) == ended.end()) add(*each);
  if (made != nullptr) add(*made);
  end.sum = sum_of(0, bytes);
  bytes += text_of_sum(end.sum);
  end.size = bytes.size();
  return bytes;
}

std::string override_line(const BookChange& change, OverrideFileEnd& end) {
  std::string line;
  if (!change.ended.empty()) {
    std::string ends;
    for (const OverrideBook::Ptr& each : change.ended)
      ends += (ends.empty() ? "-" : " ") + std::to_string(each->number);
    append_line(line, ends, end);
  }
  if (change.made != nullptr) append_line(line, "+" + in_a_line(encoded(*change.made)), end);
  return line;
}

}  // namespace weir::steering
