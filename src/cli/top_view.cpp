#include "cli/top_view.hpp"

#include <algorithm>

#include "cli/ctl_answer.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::cli {
namespace {

constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr char kEscape = '\x1b';

// Its first characters, one a column. `text` is printable.
std::string shortened(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (; end < text.size() && columns > 0; --columns) end += core::character_at(text.substr(end)).size;
  return std::string(text.substr(0, end));
}

std::string to_the_left(const std::string& text, std::size_t columns) {
  const std::string cut = shortened(text, columns);
  return cut + std::string(columns - columns_of(cut), ' ');
}

std::string to_the_right(const std::string& text, std::size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

// Without its last character.
void take_back(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

bool TopView::typed(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(1)) {
    // An arrow or another key of several bytes.
    if (bytes.front() == kEscape && bytes.size() > 1) return true;
    if (typing_) {
      typed_into_filter(bytes.substr(0, 1));
    } else if (bytes.front() == 'q') {
      return false;
    } else if (bytes.front() == 'd') {
      by_ = "denied";
    } else if (bytes.front() == 'c') {
      by_ = "cost";
    } else if (bytes.front() == '/') {
      typing_ = true;
    } else if (bytes.front() == kEscape) {
      filter_.clear();
    }
  }
  return true;
}

void TopView::typed_into_filter(std::string_view byte) {
  constexpr std::size_t kLongest = 256;
  const char c = byte.front();
  if (c == '\n' || c == '\r') {
    typing_ = false;
  } else if (c == kEscape) {
    typing_ = false;
    filter_.clear();
  } else if (c == '\x7f' || c == '\b') {
    take_back(filter_);
  } else if (c == '\x15') {
    filter_.clear();
  } else if (static_cast<unsigned char>(c) >= ' ' && filter_.size() < kLongest) {
    filter_ += c;
  }
}

std::string TopView::title(const std::vector<ServerTop>& servers, std::size_t expected) const {
  std::size_t answered = 0;
  std::int64_t seconds = 0;
  std::int64_t total = 0;
  std::int64_t banned = 0;
  for (const ServerTop& each : servers) {
    answered += each.wrong.empty() ? 1 : 0;
    seconds = std::max(seconds, each.seconds);
    total += each.total;
    banned += each.banned;
  }
  std::string text = by_ == "cost" ? "cost " : "denied ";
  if (servers.empty()) {
    text += "...";
  } else {
    text += std::to_string(total) + (banned > 0 ? ", banned " + std::to_string(banned) : "") + " in " +
            std::to_string(seconds) + " s";
  }
  if (expected > 1) text += ", " + std::to_string(answered) + " of " + std::to_string(expected) + " servers";
  return text;
}

void TopView::append_rows(std::vector<std::string>& lines, const std::vector<ServerTop>& servers,
                          std::size_t columns, std::size_t rows) const {
  std::vector<TopKey> shown;
  std::size_t counts = 5;
  std::size_t errors = 5;
  std::size_t limits = 5;
  for (TopKey& each : added_up(servers)) {
    if (shown.size() == std::min(most_, rows)) break;
    each.limit = core::printable(each.limit);
    each.key = core::printable(each.key);
    if (each.limit.find(filter_) == std::string::npos && each.key.find(filter_) == std::string::npos)
      continue;
    counts = std::max(counts, std::to_string(each.count).size());
    errors = std::max(errors, std::to_string(each.error).size());
    limits = std::max(limits, columns_of(each.limit));
    shown.push_back(std::move(each));
  }
  limits = std::min(limits, std::max<std::size_t>(5, columns / 4));
  const bool narrow = columns < 60;  // leaves no room for the errors
  constexpr std::size_t kLongestWhat = std::string_view("charged").size();
  const auto line = [&](const std::string& count, const std::string& error, std::string_view what,
                        const std::string& limit, const std::string& key) {
    return to_the_right(count, counts) + (narrow ? "" : "  " + to_the_right(error, errors)) + "  " +
           to_the_left(std::string(what), kLongestWhat) + "  " + to_the_left(limit, limits) + "  " + key;
  };
  lines.push_back(line("COUNT", "ERROR", "WHAT", "LIMIT", "KEY"));
  for (const TopKey& each : shown)
    lines.push_back(line(std::to_string(each.count), std::to_string(each.error), each.what(by_ == "cost"),
                         each.limit, each.key));
}

std::string TopView::foot() const {
  if (typing_) return "filter: " + core::printable(filter_) + "_";
  const std::string filter = filter_.empty() ? "/ filter" : "/ filter: " + core::printable(filter_);
  return "q quit  d denied  c cost  " + filter;
}

std::string TopView::frame(const std::vector<ServerTop>& servers, std::size_t expected, std::size_t columns,
                           std::size_t rows) const {
  std::vector<std::string> lines = {title(servers, expected)};
  std::vector<std::string> wrong;
  for (const ServerTop& each : servers)
    if (!each.wrong.empty()) wrong.push_back(core::printable(each.server + ": " + each.wrong));
  // Half of the screen at most: the others are what one came for.
  wrong.resize(std::min(wrong.size(), rows / 2));
  lines.insert(lines.end(), wrong.begin(), wrong.end());
  const std::size_t head = lines.size() + 1;
  append_rows(lines, servers, columns, rows > head + 1 ? rows - head - 1 : 0);
  lines.resize(rows > 0 ? rows - 1 : 0);
  lines.push_back(foot());
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_wrong = i >= 1 && i <= wrong.size();
    const bool is_bold = i == 0 || i + 1 == head;
    if (colors_ && (is_wrong || is_bold)) out += is_wrong ? kRed : kBold;
    out += shortened(lines[i], columns);
    if (colors_ && (is_wrong || is_bold)) out += kPlain;
    out += i + 1 < lines.size() ? "\x1b[K\r\n" : "\x1b[K";
  }
  return out;
}

}  // namespace weir::cli
