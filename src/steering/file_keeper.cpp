#include "steering/file_keeper.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "core/regular_file.hpp"
#include "core/siphash.hpp"

namespace weir::inline v0_1::steering {
namespace {

constexpr std::string_view kFirstLine = "weir overrides 1\n";
constexpr std::string_view kAnyVersion = "weir overrides ";
constexpr std::size_t kChecksumDigits = 16;
// 100,000 of 1 KiB, with their names and numbers.
constexpr std::size_t kMostFileBytes = std::size_t{400} << 20;

std::string checksum_of(std::string_view bytes) {
  std::array<char, kChecksumDigits + 1> digits{};
  const auto sum = static_cast<unsigned long long>(core::siphash<1, 3>({}, bytes));
  std::snprintf(digits.data(), digits.size(), "%016llx", sum);
  return {digits.data(), kChecksumDigits};
}

void append_line(std::string& out, std::string_view bytes) {
  out += std::to_string(bytes.size());
  out += ' ';
  out += bytes;
  out += '\n';
}

// The next "SIZE BYTES\n"; nothing: there is something else.
std::optional<std::string_view> take_line(std::string_view& rest) {
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

std::string contents(const OverrideBook& book, const OperatorOverride* made,
                     const std::vector<OverrideBook::Ptr>& ended) {
  std::string bytes(kFirstLine);
  const std::uint64_t last = std::max(book.next_number() - 1, made != nullptr ? made->number : 0);
  append_line(bytes, std::to_string(last));
  const OverrideBook::Ptr replaced =
      made != nullptr ? book.find(words_of(made->what, made->limit_id, made->when)) : nullptr;
  for (const auto& [number, each] : book.all()) {
    const bool gone = each == replaced || std::find(ended.begin(), ended.end(), each) != ended.end();
    if (!gone) append_line(bytes, encoded(*each));
  }
  if (made != nullptr) append_line(bytes, encoded(*made));
  bytes += checksum_of(bytes);
  bytes += '\n';
  return bytes;
}

}  // namespace

tl::expected<OverrideBook, std::string> FileKeeper::load() const {
  const auto wrong = [this](const std::string& what) {
    return tl::unexpected("overrides '" + path_ + "': " + what);
  };
  OverrideBook book;
  const auto read = core::read_regular_file(path_, kMostFileBytes);
  if (!read && read.error() == std::strerror(ENOENT)) return book;
  if (!read) return wrong(read.error());
  std::string_view rest = *read;
  const std::string_view first = rest.substr(0, std::min<std::size_t>(rest.find('\n'), 40));
  const bool is_other = first.size() > kAnyVersion.size() && first.size() < rest.size() &&
                        rest.starts_with(kAnyVersion) && !rest.starts_with(kFirstLine);
  if (is_other)
    return wrong("is of version " + std::string(first.substr(kAnyVersion.size())) + "; this program reads 1");
  if (!rest.starts_with(kFirstLine)) return wrong("damaged: it does not begin as such a file does");
  if (rest.size() < kFirstLine.size() + kChecksumDigits + 1 || rest.back() != '\n')
    return wrong("damaged: it has lost its end");
  const std::string_view sum = rest.substr(rest.size() - kChecksumDigits - 1, kChecksumDigits);
  rest.remove_suffix(kChecksumDigits + 1);
  if (checksum_of(rest) != sum) return wrong("damaged: its checksum does not match");
  rest.remove_prefix(kFirstLine.size());
  const auto last = take_line(rest);
  std::uint64_t number = 0;
  if (!last || std::from_chars(last->data(), last->data() + last->size(), number).ec != std::errc{})
    return wrong("damaged: it does not say its last number");
  while (!rest.empty()) {
    const auto line = take_line(rest);
    auto each = line ? decoded(*line) : std::nullopt;
    if (!each) return wrong("damaged: an override cannot be read");
    book.set(*std::move(each));
  }
  book.skip_to(number);
  return book;
}

std::optional<std::string> FileKeeper::keep(const OverrideBook& book, const OperatorOverride* made,
                                            const std::vector<OverrideBook::Ptr>& ended) {
  bool moved = false;
  auto why = write(contents(book, made, ended), moved);
  if (!why) return std::nullopt;
  if (moved) write(contents(book, nullptr, {}), moved);  // as it was
  return "overrides '" + path_ + "': " + *why;
}

std::optional<std::string> FileKeeper::write(std::string_view bytes, bool& moved) const {
  const auto failed = [](const char* what) { return std::string(what) + ": " + std::strerror(errno); };
  std::string temporary = path_ + std::string(store::kTemporary) + "XXXXXX";
  const int file = disk_.create(temporary);
  if (file < 0) return failed("cannot create a file beside it");
  std::optional<std::string> why;
  for (std::string_view rest = bytes; !rest.empty() && !why;) {
    const std::ptrdiff_t wrote = disk_.write(file, rest.data(), rest.size());
    if (wrote <= 0 && errno != EINTR) why = failed("cannot write");
    if (wrote > 0) rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (!why && !disk_.sync(file)) why = failed("cannot sync");
  disk_.close(file);
  if (!why && !disk_.rename(temporary, path_)) why = failed("cannot rename");
  if (why) {
    disk_.remove(temporary);
    return why;
  }
  moved = true;
  if (!disk_.sync_folder_of(path_)) return failed("cannot sync its directory");
  return std::nullopt;
}

}  // namespace weir::steering
