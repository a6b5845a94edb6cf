#include "logs/log_source.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// When a file was written last; nothing for what is not a file on disk.
std::optional<std::int64_t> written_at(const std::string& path) {
  struct stat status{};
  if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
}

}  // namespace

LogSource::LogSource(const std::string& path, const Wanted& wanted, const Filter& filter, const Layout& asked,
                     LogStats& stats, const std::atomic<bool>& stop, bool follow)
    : path_(path == "-" ? "standard input" : path),
      wanted_(wanted),
      filter_(filter),
      asked_(asked),
      stats_(stats),
      input_(path, stop, follow),
      buffer_(kChunk + kSlack) {
  stats_.with_value.resize(filter.where.size());
}

// Reads more bytes after those that are left; false when there are none.
bool LogSource::refill() {
  if (ended_) return false;
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() < end_ + kChunk / 2 + kSlack) buffer_.resize(buffer_.size() * 2);
  std::size_t got = 0;
  try {
    got = input_.read(buffer_.data() + end_, buffer_.size() - end_ - kSlack);
  } catch (const std::runtime_error& error) {
    stats_.broken.emplace_back(error.what());
  }
  end_ += got;
  ended_ = got == 0 && !input_.waiting();
  return got > 0;
}

std::optional<std::string_view> LogSource::next_line() {
  std::size_t searched = 0;
  for (;;) {
    const char* const from = buffer_.data() + begin_ + searched;
    const void* const newline = std::memchr(from, '\n', end_ - begin_ - searched);
    if (newline == nullptr) {
      searched = end_ - begin_;
      if (searched > kLongestLine) {
        if (!too_long_) {
          ++line_;
          ++stats_.read;
          unreadable({buffer_.data() + begin_, 80}, "the line is longer than 1 MiB");
          too_long_ = true;
        }
        begin_ = end_;
        searched = 0;
      }
      if (refill()) continue;
      if (!ended_) return std::nullopt;  // the rest of this line may come later
      if (begin_ == end_ || too_long_) return std::nullopt;
    }
    std::size_t size =
        newline == nullptr
            ? end_ - begin_
            : static_cast<std::size_t>(static_cast<const char*>(newline) - (buffer_.data() + begin_));
    std::string_view line(buffer_.data() + begin_, size);
    begin_ += size + (newline == nullptr ? 0 : 1);
    searched = 0;
    if (too_long_) {
      too_long_ = false;
      continue;
    }
    ++line_;
    ++stats_.read;
    if (line.size() > kLongestLine) {
      unreadable(line.substr(0, 80), "the line is longer than 1 MiB");
      continue;
    }
    if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) return line;
  }
}

// Those that are not empty, of the bytes that are here; more are waited for while none has a known shape.
// They are read again by next_line().
std::vector<std::string_view> LogSource::first_lines() {
  std::vector<std::string_view> lines;
  std::string_view rest(buffer_.data() + begin_, std::min(end_ - begin_, kFirstBytes));
  if (line_ == 0 && rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  while (!rest.empty() && lines.size() < kFirstLines) {
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos && !ended_ && rest.size() < kFirstBytes) break;
    std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

void LogSource::make_parser() {
  for (;;) {
    const std::vector<std::string_view> lines = first_lines();
    const Found found = layout_of(lines, asked_);
    const bool enough = lines.size() >= kFirstLines || end_ - begin_ >= kFirstBytes;
    if ((found.guessed || lines.empty()) && !enough) {
      if (refill()) continue;
      if (!ended_) return;  // a log that is followed may yet say what it is
    }
    if (!lines.empty()) make_parser(found.layout, lines[found.line]);
    return;
  }
}

void LogSource::make_parser(const Layout& layout, std::string_view line) {
  try {
    parser_ = std::make_unique<LineParser>(layout, wanted_, line);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path_ + ": " + error.what());
  }
  if (stats_.expected.empty()) stats_.expected = layout.example();
  header_ = parser_->header();
  lacks_year_ = parser_->lacks_year();
  if (const auto written = written_at(path_); written) parser_->set_newest(*written);
}

void LogSource::note_year(const LogRecord& record) {
  using std::chrono::floor;
  if (!lacks_year_ || stats_.first_year != 0) return;
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds{record.ns}};
  stats_.first_year = static_cast<int>(std::chrono::year_month_day{floor<std::chrono::days>(time)}.year());
}

// A header within the file may lack a wanted field.
std::string_view LogSource::parse(std::string_view line, LogRecord& record, std::string& key) {
  try {
    return parser_->parse(line, record, key);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path_ + ": " + error.what());
  }
}

bool LogSource::next(LogRecord& record, std::string& key) {
  if (!parser_) make_parser();
  if (!parser_ && waiting()) return false;
  while (const auto line = next_line()) {
    if (!parser_) make_parser(layout_of({&*line, 1}, asked_).layout, *line);  // after 64 KiB of empty lines
    if (header_) {
      header_ = false;
      continue;
    }
    const std::size_t key_begin = key.size();
    const std::string_view fault = parse(*line, record, key);
    if (fault.empty()) {
      note_year(record);
      record.left_out = !takes(record, *line);
      if (record.left_out) key.resize(key_begin);
      return true;
    }
    key.resize(key_begin);
    // A key or a cost is of interest only in a line that is asked about.
    if (parser_->timed() && !takes(record, *line)) {
      record.left_out = true;
      return true;
    }
    if (!is_header(fault)) unreadable(*line, fault);
  }
  return false;
}

void LogSource::note_fields(std::string_view line) {
  constexpr int kMostNoted = 20;
  if (noted_ >= kMostNoted) return;
  ++noted_;
  for (std::string& name : parser_->fields(line)) {
    if (std::find(stats_.fields.begin(), stats_.fields.end(), name) == stats_.fields.end())
      stats_.fields.push_back(std::move(name));
  }
}

bool LogSource::takes(const LogRecord& record, std::string_view line) {
  const std::span<const std::string_view> values = parser_->also();
  for (std::size_t i = 0; i < filter_.where.size(); ++i)
    stats_.with_value[i] += values[i].data() != nullptr ? 1 : 0;
  const bool takes = filter_.takes(record.ns, values);
  if (!filter_.where.empty()) note_fields(line);  // the values are gone then
  return takes;
}

void LogSource::unreadable(std::string_view line, std::string_view why) {
  ++stats_.unreadable;
  if (stats_.examples.size() < LogStats::kExamples) {
    stats_.examples.push_back({path_, line_, std::string(why), std::string(line.substr(0, 80))});
  }
}

}  // namespace weir::logs
