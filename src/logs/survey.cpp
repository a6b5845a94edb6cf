#include "logs/survey.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "core/digits.hpp"
#include "logs/input.hpp"
#include "logs/json_documents.hpp"
#include "logs/known_names.hpp"
#include "logs/likely_keys.hpp"
#include "logs/likely_pattern.hpp"
#include "logs/likely_times.hpp"
#include "logs/log_source.hpp"
#include "logs/log_time.hpp"
#include "logs/shell_word.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kTextBytes = 4096;  // bytes, for whether it is text
constexpr std::size_t kMostValues = 10'000;
constexpr std::size_t kMostTries = 8;   // of keys, each of which is a look at the whole beginning
constexpr std::size_t kMostClocks = 8;  // that are looked at for the date that belongs to them

std::string beginning_of(const std::string& path, const std::atomic<bool>& stop) {
  Input input(path, stop);
  std::string text(Survey::kMostBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t got = input.read(text.data() + size, text.size() - size);
    if (got == 0) break;
    size += got;
  }
  const bool whole = size < text.size();
  text.resize(size);
  // The last line may be cut.
  if (!whole) text.resize(std::min(text.rfind('\n'), text.size()));
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < Survey::kMostLines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && line.size() <= LogSource::kLongestLine) lines.push_back(line);
  }
  return lines;
}

using Command = Survey::Command;

// What a field has in the lines that were looked at.
struct Values {
  std::set<std::string> different;
  std::vector<std::string> some;  // that are there
};

constexpr std::size_t kSome = 500;

void add(Values& values, std::string_view value) {
  if (values.different.size() < kMostValues) values.different.emplace(value);
  if (!value.empty() && value != "-" && values.some.size() < kSome) values.some.emplace_back(value);
}

class Surveyor {
 public:
  Surveyor(Survey& survey, const std::vector<std::string_view>& lines) : survey_(survey), lines_(lines) {}

  void look(const Layout& layout, std::string_view line_of_it) {
    const std::vector<Slot> slots = {{"time", names_of("time"), "--time", false},
                                     {"client", names_of("ip"), "--key", false},
                                     {"xff", names_of("xff"), "--key", false}};
    const auto splitter = make_splitter(layout, slots, line_of_it);
    std::vector<std::string_view> found(slots.size());
    survey_.lines = survey_.requests = 0;
    survey_.why.clear();
    survey_.fields.clear();
    survey_.more_fields = false;
    for (std::size_t i = splitter->header() ? 1 : 0; i < lines_.size(); ++i) {
      const std::string_view fault = splitter->split(lines_[i], found);
      if (is_header(fault)) continue;
      ++survey_.lines;
      if (!fault.empty()) {
        if (survey_.why.empty()) survey_.why = fault;
        continue;
      }
      ++survey_.requests;
      for (std::size_t slot = 0; slot < slots.size(); ++slot) {
        if (found[slot].data() != nullptr) add(known_[slot], found[slot]);
      }
      take(splitter->fields(lines_[i]));
    }
    for (std::size_t i = 0; i < values_.size(); ++i)
      survey_.fields[i].different = values_[i].different.size();
  }

  // The best first.
  void find_keys() {
    std::vector<Candidate> all;
    Candidate client = candidate_of("client", known_[kClientSlot].some);
    client.name = "ip";  // which has no port
    client.different = known_[kClientSlot].different.size();
    if (client.different > 0) all.push_back(client);
    if (const Candidate xff = candidate_of("xff", known_[kForwardedSlot].some); xff.rank < kNoAddresses)
      all.push_back(xff);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string& name = survey_.fields[i].name;
      if (name.find_first_of(",/") != std::string::npos || name.empty()) continue;
      if (is_known(name) && (client.rank < kNoAddresses || client.different == 0)) continue;
      if (is_known_by_its_values(values_[i])) continue;
      const Candidate one = candidate_of(name, values_[i].some);
      if (one.rank >= kNoAddresses) continue;
      const std::string path = path_of_several(name);
      if (path.empty()) all.push_back(one);
      if (addresses_inside_.empty()) addresses_inside_ = path;
    }
    has_addresses_ =
        std::any_of(all.begin(), all.end(), [](const Candidate& each) { return each.rank < kNoAddresses; });
    // Not std::stable_sort, which libstdc++ 12 builds on what clang calls deprecated.
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&all](std::size_t a, std::size_t b) {
      return all[a].rank != all[b].rank ? all[a].rank < all[b].rank : a < b;
    });
    for (const std::size_t i : order) survey_.keys.push_back({all[i].name, all[i].different});
    for (const Survey::Seen& seen : survey_.fields) {
      if (seen.different > 1 && names_somebody(seen.name) && !has_key(seen.name))
        survey_.keys.push_back({seen.name, seen.different});
    }
  }

  // Where a line holds several requests, jq's path to them; empty when it does not.
  std::string requests_inside(const std::optional<Command>& times) const {
    const std::string path = times ? path_of_several(times->time.substr(times->time.find(',') + 1)) : "";
    return path.empty() && !has_addresses_ ? addresses_inside_ : path;
  }

  // What has to be said of the times; nothing when no field has any.
  std::optional<Command> times() const {
    const std::optional<Command> known = known_time();
    const bool own = known && !is_constant(known_[kTimeSlot]);
    const std::optional<Command> other = own ? std::nullopt : time_of_a_field();
    if (!known) return other ? other : date_and_clock();
    return other && !is_constant(values_[numbers_.at(other->time)]) ? other : known;
  }

 private:
  static constexpr std::size_t kTimeSlot = 0;
  static constexpr std::size_t kClientSlot = 1;
  static constexpr std::size_t kForwardedSlot = 2;

  // Of the field that is called as times are.
  std::optional<Command> known_time() const {
    if (const auto format = time_format_of(known_[kTimeSlot].some)) return Command{{}, {}, {}, *format, {}};
    if (mostly_times(known_[kTimeSlot].some)) return Command{};
    return std::nullopt;
  }

  std::optional<Command> time_of_a_field() const {
    for (const std::size_t i : likeliest_times()) {
      if (const auto format = time_format_of(values_[i].some))
        return Command{{}, {}, survey_.fields[i].name, *format, {}};
      if (mostly_times(values_[i].some)) return Command{{}, {}, survey_.fields[i].name, {}, {}};
    }
    return std::nullopt;
  }

  // Of many lines, none of which has another value: when the program was built or began, say.
  static bool is_constant(const Values& values) {
    constexpr std::size_t kMany = 10;
    return values.different.size() == 1 && values.some.size() >= kMany;
  }

  void take(const std::vector<LineField>& fields) {
    for (const LineField& field : fields) {
      if (numbers_.size() >= Survey::kMostFields && !numbers_.contains(field.name)) {
        survey_.more_fields = true;
        continue;
      }
      const auto [place, is_new] = numbers_.try_emplace(field.name, survey_.fields.size());
      if (is_new) {
        survey_.fields.push_back({field.name, "", 0, 0});
        values_.emplace_back();
      }
      Survey::Seen& seen = survey_.fields[place->second];
      ++seen.lines;
      if (seen.example.empty() && field.value != "-") seen.example = field.value.substr(0, 80);
      add(values_[place->second], field.value);
    }
  }

  // Two fields that are a time together.
  std::optional<Command> date_and_clock() const {
    std::size_t clocks = 0;
    for (std::size_t clock = 0; clock < values_.size() && clocks < kMostClocks; ++clock) {
      if (!in_most_lines(clock) || !are_clocks(values_[clock].some)) continue;
      ++clocks;
      for (std::size_t date = 0; date < values_.size(); ++date) {
        const std::vector<std::string>& dates = values_[date].some;
        const std::vector<std::string>& times = values_[clock].some;
        if (date == clock || dates.size() != times.size()) continue;
        if (!may_be_a_time(dates.front() + " " + times.front())) continue;
        std::vector<std::string> both;
        for (std::size_t i = 0; i < dates.size(); ++i) both.push_back(dates[i] + " " + times[i]);
        if (const auto format = time_format_of(both))
          return Command{{}, {}, survey_.fields[date].name + "," + survey_.fields[clock].name, *format, {}};
      }
    }
    return std::nullopt;
  }

  // jq's path to the objects with a field that more than one of a line has; empty when one has it.
  std::string path_of_several(const std::string& name) const {
    const std::vector<std::string> others = neighbours_of(name);
    const bool several = std::any_of(others.begin(), others.end(),
                                     [this](const std::string& each) { return numbers_.contains(each); });
    return several ? jq_path(name) : "";
  }

  bool has_key(const std::string& name) const {
    return std::any_of(survey_.keys.begin(), survey_.keys.end(),
                       [&name](const Survey::Key& each) { return each.name == name; });
  }

  // As the client or the addresses that were forwarded.
  static bool is_known(const std::string& name) {
    for (const char* asked : {"ip", "xff"}) {
      const std::vector<std::string> names = names_of(asked);
      if (std::find(names.begin(), names.end(), name) != names.end()) return true;
    }
    return false;
  }

  // Of a combined line, extra[0] is xff.
  bool is_known_by_its_values(const Values& values) const {
    return values.different == known_[kClientSlot].different ||
           values.different == known_[kForwardedSlot].different;
  }

  bool in_most_lines(std::size_t field) const {
    return survey_.fields[field].lines * 2 > survey_.requests && !values_[field].some.empty();
  }

  // The fields of most lines: those of a line itself before those deep inside it, before them all others than
  // when something began to be, or will end, then those that a line has several of, and last those that never
  // change.
  std::vector<std::size_t> likeliest_times() const {
    std::vector<std::pair<std::ptrdiff_t, std::size_t>> all;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string& name = survey_.fields[i].name;
      if (!in_most_lines(i)) continue;
      const std::ptrdiff_t doubts = (is_of_something_else(name) ? 8 : 0) +
                                    (path_of_several(name).empty() ? 0 : 16) +
                                    (is_constant(values_[i]) ? 32 : 0);
      all.emplace_back(std::count(name.begin(), name.end(), '.') + doubts, i);
    }
    std::sort(all.begin(), all.end());
    std::vector<std::size_t> fields;
    for (const auto& [rank, field] : all) fields.push_back(field);
    return fields;
  }

  static bool are_clocks(const std::vector<std::string>& values) {
    return std::all_of(values.begin(), values.end(), [](const std::string& each) {
      std::int64_t ns = 0;
      return TimeReader().read(each, ns) == kNoDate;
    });
  }

  // A known log may have a line whose time is broken.
  static bool mostly_times(const std::vector<std::string>& values) {
    const auto good = std::count_if(values.begin(), values.end(), [](const std::string& each) {
      std::int64_t ns = 0;
      return TimeReader().read(each, ns) == nullptr;
    });
    return static_cast<std::size_t>(good) * 2 > values.size();
  }

  Survey& survey_;
  const std::vector<std::string_view>& lines_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<Values> values_;  // of each of the survey's fields
  std::array<Values, 3> known_;
  bool has_addresses_ = false;    // of a key of one request
  std::string addresses_inside_;  // jq's path to addresses of which a line has several
};

std::int64_t finest(std::int64_t ns) {
  for (const std::int64_t unit : {1'000'000'000, 1'000'000, 1'000}) {
    if (ns % unit == 0) return unit;
  }
  return 1;
}

// Reads the log's beginning as the command would, and keeps of it what its times are. Whether it reads
// enough: of a log that no format fits, one line in ten.
bool reads(const std::string& path, const Layout& asked, const Command& command, Survey& survey,
           const std::atomic<bool>& stop) {
  LogStats stats;
  std::int64_t unit = 0;
  try {
    Wanted wanted;
    wanted.set_key(command.key.empty() ? "ip" : command.key);
    wanted.time = command.time;
    if (!command.time_format.empty()) wanted.time_format = TimeFormat::parse(command.time_format);
    Layout layout = asked;
    if (!command.regex.empty()) layout.set(std::make_shared<const Regex>(command.regex));
    if (!command.format.empty()) layout.set(command.format);
    const Filter all;
    LogSource source(path, wanted, all, layout, stats, stop);
    LogRecord record{};
    std::string key;
    while (stats.read < Survey::kMostLines && source.next(record, key)) {
      ++stats.requests;
      key.clear();
      unit = unit == 0 ? finest(record.ns) : std::min(unit, finest(record.ns));
    }
  } catch (const std::runtime_error& error) {
    const std::string why = error.what();
    survey.why_not = why.starts_with(path + ": ") ? why.substr(path.size() + 2) : why;
    return false;
  }
  const bool found = !command.regex.empty() || !command.format.empty();
  if (stats.requests == 0 || (found && stats.requests * 10 < stats.read)) {
    if (!stats.examples.empty()) survey.why_not = stats.examples.front().why;
    return false;
  }
  survey.finest_ns = unit;
  survey.first_year = stats.first_year;
  return true;
}

// The beginning that was looked at, under a name: standard input is gone by now, and a file goes on. It is as
// old as the file, which may tell the year.
class Again {
 public:
  Again(const std::string& path, std::string_view text) : fd_(::memfd_create("beginning", MFD_CLOEXEC)) {
    while (fd_ >= 0 && !text.empty()) {
      const ssize_t wrote = ::write(fd_, text.data(), text.size());
      if (wrote <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    struct stat status{};
    if (path == "-" || ::stat(path.c_str(), &status) != 0) return;
    const std::array times{status.st_atim, status.st_mtim};
    ::futimens(fd_, times.data());
  }
  ~Again() {
    if (fd_ >= 0) ::close(fd_);
  }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Columns whose header is their first line's values have no header.
bool has_values_for_names(const Survey& survey) {
  return std::any_of(survey.fields.begin(), survey.fields.end(), [](const Survey::Seen& each) {
    std::int64_t ns = 0;
    return is_an_address(each.name) || TimeReader().read(each.name, ns) == nullptr;
  });
}

bool has_header(const Layout& layout) { return layout.format->name == "csv" || layout.format->name == "tsv"; }

bool has_words_for_names(const Survey& survey) {
  const auto is_part = [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '_' || c == '-'; };
  return std::all_of(survey.fields.begin(), survey.fields.end(), [&](const Survey::Seen& field) {
    return !field.name.empty() && !core::is_digit(field.name[0]) &&
           std::all_of(field.name.begin(), field.name.end(), is_part);
  });
}

// Settled: they are laid out so, and cannot be read.
enum class Attempt : std::uint8_t { reads, fails, settled };

std::string makes_lines(const std::string& jq) {
  return "jq -c " + shell_word(jq) + " makes a line of each, which - reads from a pipe";
}

// Looks at the lines as if they were laid out so, and tries what that suggests. Each key in turn, the best
// first.
Attempt explains(Survey& survey, const std::vector<std::string_view>& lines, const std::string& path,
                 const Layout& asked, const Found& found, Command command, const std::atomic<bool>& stop) {
  survey.layout = found.layout;
  survey.keys.clear();
  Surveyor surveyor(survey, lines);
  surveyor.look(found.layout, lines[found.line]);
  if (found.guessed && has_values_for_names(survey)) {
    survey.why_not = "the first line is not a header, and the others have no shape of a known format";
    return Attempt::fails;
  }
  surveyor.find_keys();
  const std::optional<Command> times = surveyor.times();
  if (const std::string inside = surveyor.requests_inside(times); !inside.empty()) {
    survey.why_not = "each line holds several requests; " + makes_lines(inside);
    return Attempt::settled;
  }
  if (!times) {
    survey.why_not = "no field has times that could be read";
    return Attempt::fails;
  }
  command.time = times->time;
  command.time_format = times->time_format;
  if (survey.keys.empty()) {
    survey.why_not = "no field has addresses, nor names of accounts";
    if (has_header(found.layout) && has_words_for_names(survey))
      return Attempt::settled;  // its columns have names, and a pattern would not know them
  }
  for (const Survey::Key& key : std::span(survey.keys).first(std::min(survey.keys.size(), kMostTries))) {
    command.key = key.name == "ip" ? "" : key.name;
    if (!reads(path, asked, command, survey, stop)) continue;
    survey.command = command;
    return Attempt::reads;
  }
  return Attempt::fails;
}

// Of JSON that is not one document a line: what makes lines of it.
std::optional<Survey> survey_of_documents(std::string_view text) {
  std::optional<std::vector<std::string>> documents = json_documents(text);
  if (!documents) return std::nullopt;
  std::vector<std::string_view> lines;
  for (std::string& each : *documents) {
    const std::size_t size = each.size();
    each.append(kSlack, '\0');
    lines.push_back(std::string_view(each).substr(0, size));
  }
  Survey survey;
  survey.layout.format = find_format("jsonl");
  survey.guessed = true;
  Surveyor surveyor(survey, lines);
  surveyor.look(survey.layout, lines.front());
  surveyor.find_keys();
  const std::optional<Command> times = surveyor.times();
  const std::string first = survey.fields.empty() ? "" : survey.fields.front().name;
  const std::string field = times ? times->time.substr(times->time.find(',') + 1) : first;
  survey.why_not = "its JSON is not one document a line; " + makes_lines(jq_path(field));
  survey.lines = lines_of(text).size();
  survey.requests = 0;
  return survey;
}

}  // namespace

Survey survey_of(const std::string& path, const Layout& asked, const std::atomic<bool>& stop) {
  std::string text = beginning_of(path, stop);
  const std::size_t size = text.size();
  text.append(kSlack, '\0');
  std::string_view whole = std::string_view(text).substr(0, size);
  if (whole.starts_with("\xEF\xBB\xBF")) whole.remove_prefix(3);
  if (whole.substr(0, kTextBytes).find('\0') != std::string_view::npos)
    throw std::runtime_error(path +
                             ": is not text; a log is lines of text, plain or compressed by gzip or zstd");
  const bool returns = whole.find('\r') < whole.size() - 1;
  if (returns && whole.find('\n') == std::string_view::npos)
    throw std::runtime_error(path +
                             ": its lines end with a carriage return alone; tr '\\r' '\\n' makes lines of "
                             "them, which - reads from a pipe");
  const bool may_be_json = asked.format == nullptr || asked.format->name == "jsonl";
  if (may_be_json && asked.wrapper == nullptr) {
    if (const std::optional<Survey> survey = survey_of_documents(whole)) return *survey;
  }
  const std::vector<std::string_view> lines = lines_of(whole);
  if (lines.empty())
    throw std::runtime_error(path + (whole.size() > LogSource::kLongestLine
                                         ? ": every line is longer than 1 MiB"
                                         : ": contains no lines"));
  const Again again(path, whole);
  const std::string readable = again.path();
  Survey survey;
  const Found found = layout_of(std::span(lines).first(std::min(lines.size(), kFirstLines)), asked);
  survey.guessed = found.guessed;
  const Attempt attempt = explains(survey, lines, readable, asked, found, {}, stop);
  if (attempt != Attempt::fails || asked.format != nullptr) return survey;
  Survey as_found = survey;
  if (found.guessed && !has_header(found.layout))
    as_found.why_not = "its lines have no known format, nor a time with its year and an address in one place";
  for (const std::string& pattern : likely_patterns(lines)) {
    Layout layout = asked;
    layout.set(std::make_shared<const Regex>(pattern));
    const Found matching = layout_of(lines, layout);
    if (!matching.guessed &&
        explains(survey, lines, readable, asked, matching, {{}, pattern, {}, {}, {}}, stop) == Attempt::reads)
      return survey;
  }
  return as_found;
}

}  // namespace weir::logs
