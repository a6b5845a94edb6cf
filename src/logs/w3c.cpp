#include "logs/w3c.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace weir::inline v0_1::logs {
namespace {

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

class Commented final : public Splitter {
 public:
  Commented(std::string_view comment, std::vector<Slot> slots)
      : comment_(comment), slots_(std::move(slots)) {}

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    if (line.starts_with('#')) {
      if (line.starts_with(comment_)) read_names(line.substr(comment_.size()));
      return kHeader;
    }
    if (!places_) return "no line before it names the fields";
    if (!take(line)) return "the line has not as many fields as were named";
    places_->fill(found_, values);
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    std::vector<LineField> fields;
    if (line.starts_with('#') || !places_ || !take(line)) return fields;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!names_[i].empty()) fields.push_back({names_[i], std::string(found_[i])});
    }
    return fields;
  }

 private:
  // Names in a comment may have spaces between where the fields have tabs.
  void read_names(std::string_view text) {
    const bool tabs = text.find('\t') != kNone;
    names_ = words_of(text, tabs ? '\t' : ' ');
    separator_ = tabs ? '\t' : 0;
    columns_ = names_.size();
    date_ = clock_ = kNone;
    for (std::size_t i = 0; i < columns_; ++i) {
      if (names_[i] == "date") date_ = i;
      if (names_[i] == "time") clock_ = i;
    }
    if (date_ != kNone && clock_ != kNone) {
      names_.emplace_back("time");
      names_[clock_].clear();
      names_[date_].clear();
    }
    found_.assign(names_.size(), {});
    places_.emplace(slots_, names_);
  }

  // Of blanks there may be several between two fields, and at the end; each tab is one.
  bool take(std::string_view line) {
    const char likely = line.find('\t') != kNone ? '\t' : ' ';
    const char separator = separator_ == 0 ? likely : separator_;
    if (separator == ' ') line = line.substr(0, line.find_last_not_of(' ') + 1);
    const std::string_view whole = line;
    for (std::size_t i = 0; i < columns_; ++i) {
      const std::size_t end = line.find(separator);
      if ((end == kNone) != (i + 1 == columns_)) return false;
      found_[i] = line.substr(0, end);
      line.remove_prefix(end == kNone ? line.size() : end + 1);
      if (separator == ' ') line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    }
    separator_ = separator;
    if (names_.size() > columns_) {
      const std::string_view date = found_[date_];
      const std::string_view clock = found_[clock_];
      if (clock.data() == date.data() + date.size() + 1) {
        found_[columns_] = whole.substr(static_cast<std::size_t>(date.data() - whole.data()),
                                        date.size() + 1 + clock.size());
      } else {
        time_.assign(date).append(" ").append(clock);
        found_[columns_] = time_;
      }
    }
    return true;
  }

  std::string_view comment_;  // which names the fields
  std::vector<Slot> slots_;
  std::vector<std::string> names_;  // of the columns, and one more of a date and a time together
  std::size_t columns_ = 0;
  std::size_t date_ = kNone;
  std::size_t clock_ = kNone;
  char separator_ = 0;  // 0: as the first line that has all columns has it
  std::optional<Places> places_;
  std::vector<std::string_view> found_;
  std::string time_;
};

}  // namespace

bool fits_w3c(std::string_view line) {
  for (const std::string_view comment : {"#Fields:", "#Version:", "#Software:"}) {
    if (line.starts_with(comment)) return true;
  }
  return false;
}

bool fits_zeek(std::string_view line) {
  return line.starts_with("#separator ") || line.starts_with("#fields\t");
}

std::unique_ptr<Splitter> make_w3c(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<Commented>("#Fields:", slots);
}
std::unique_ptr<Splitter> make_zeek(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<Commented>("#fields", slots);
}

}  // namespace weir::logs
