#include "logs/survey.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

#include "logs/input.hpp"
#include "logs/known_names.hpp"
#include "logs/log_time.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kSlack = 64;        // readable after a line
constexpr std::size_t kFirstLines = 100;  // that tell the layout
constexpr std::size_t kLooksAt = 4096;    // bytes, for whether it is text
constexpr std::size_t kMostValues = 10'000;

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
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// Names of what an account, an application or a person is.
bool names_somebody(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* part : {"api-key", "api_key", "apikey", "tenant", "account", "customer", "consumer",
                           "user", "token", "authorization"}) {
    if (name.find(part) != std::string::npos) return name.find("agent") == std::string::npos;
  }
  return false;
}

class Surveyor {
 public:
  explicit Surveyor(Survey& survey) : survey_(survey) {}

  void take(const std::vector<Field>& fields, std::string_view client, std::string_view forwarded) {
    for (const Field& field : fields) {
      const auto [place, is_new] = numbers_.try_emplace(field.name, survey_.fields.size());
      if (is_new) {
        survey_.fields.push_back({field.name, "", 0, 0});
        values_.emplace_back();
      }
      Survey::Seen& seen = survey_.fields[place->second];
      ++seen.lines;
      if (seen.example.empty() && field.value != "-") seen.example = field.value.substr(0, 80);
      if (values_[place->second].size() < kMostValues) values_[place->second].insert(field.value);
    }
    if (client.data() != nullptr && clients_.size() < kMostValues) clients_.emplace(without_port(client));
    if (forwarded.data() != nullptr && forwarded != "-" && forwarded_.size() < kMostValues)
      forwarded_.emplace(without_port(forwarded));
  }

  void finish() {
    for (std::size_t i = 0; i < values_.size(); ++i) survey_.fields[i].different = values_[i].size();
    // A log with one client and a list of those before it was written after a proxy.
    const bool proxied = clients_.size() == 1 && forwarded_.size() > 1;
    if (proxied || clients_.empty()) add("xff[-1]", forwarded_.size());
    add("ip", clients_.size());
    if (!proxied && !clients_.empty()) add("xff[-1]", forwarded_.size());
    for (const Survey::Seen& seen : survey_.fields) {
      if (seen.different > 1 && names_somebody(seen.name)) add(seen.name, seen.different);
    }
  }

 private:
  void add(const std::string& name, std::size_t different) {
    if (different > 0) survey_.keys.push_back({name, different});
  }

  Survey& survey_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::set<std::string>> values_;
  std::set<std::string> clients_;
  std::set<std::string> forwarded_;
};

std::int64_t finest(std::int64_t ns) {
  for (const std::int64_t unit : {1'000'000'000, 1'000'000, 1'000}) {
    if (ns % unit == 0) return unit;
  }
  return 1;
}

}  // namespace

Survey survey_of(const std::string& path, const Layout& asked, const std::atomic<bool>& stop) {
  std::string text = beginning_of(path, stop);
  const std::size_t size = text.size();
  text.append(kSlack, '\0');
  std::string_view whole = std::string_view(text).substr(0, size);
  if (whole.starts_with("\xEF\xBB\xBF")) whole.remove_prefix(3);
  if (whole.substr(0, kLooksAt).find('\0') != std::string_view::npos)
    throw std::runtime_error(path +
                             ": is not text; a log is lines of text, plain or compressed by gzip or zstd");
  const std::vector<std::string_view> lines = lines_of(whole);
  if (lines.empty()) throw std::runtime_error(path + ": contains no lines");
  Survey survey;
  const Found found = layout_of(std::span(lines).first(std::min(lines.size(), kFirstLines)), asked);
  survey.layout = found.layout;
  survey.guessed = found.guessed;
  const std::vector<Slot> slots = {{"time", names_of("time"), "--time", false},
                                   {"client", names_of("ip"), "--key", false},
                                   {"xff[-1]", names_of("xff[-1]"), "--key", false}};
  const auto splitter = make_splitter(found.layout, slots, lines[found.line]);
  std::vector<std::string_view> values(slots.size());
  TimeReader times;
  Surveyor surveyor(survey);
  for (std::size_t i = splitter->header() ? 1 : 0; i < lines.size(); ++i) {
    const std::string_view fault = splitter->split(lines[i], values);
    if (is_header(fault)) continue;
    ++survey.lines;
    if (!fault.empty()) {
      if (survey.why.empty()) survey.why = fault;
      continue;
    }
    ++survey.requests;
    std::int64_t ns = 0;
    if (values[0].data() != nullptr && times.read(values[0], ns) == nullptr) {
      const bool first = survey.finest_ns == 0;
      survey.finest_ns = first ? finest(ns) : std::min(survey.finest_ns, finest(ns));
      survey.first_ns = first ? ns : std::min(survey.first_ns, ns);
      survey.last_ns = first ? ns : std::max(survey.last_ns, ns);
    }
    const std::string client(values[1]);
    const std::string forwarded(values[2]);
    surveyor.take(splitter->fields(lines[i]), values[1].data() == nullptr ? std::string_view{} : client,
                  values[2].data() == nullptr ? std::string_view{} : forwarded);
  }
  surveyor.finish();
  return survey;
}

}  // namespace weir::logs
