#include "logs/likely_times.hpp"

#include <algorithm>
#include <array>

#include "logs/log_time.hpp"

namespace weir::inline v0_1::logs {
namespace {

// Letters after a time may be its zone, or a word: GET, LOG. These are zones; one that --zone has to explain
// is part of the time, which then cannot be read, and not read as another's.
#define WEIR_ZONE                                                                                           \
  "(?: ?(?:Z|[+-]\\d\\d:?\\d\\d)\\b| (?:UTC|GMT|CES?T|EES?T|WES?T|MSK|BST|IST|JST|KST|SGT|HKT|[ECMP][SD]T|" \
  "AE[SD]T|NZ[SD]T|AK[SD]T|HST)\\b)?"

constexpr std::array<TimeForm, 27> kForms{{
    {"\\d{4}[-/]\\d\\d[-/]\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?" WEIR_ZONE, ""},
    {"\\d\\d/[A-Z][a-z][a-z]/\\d{4}:\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?: [+-]\\d{4})?", ""},
    {"[A-Z][a-z]{2}, \\d\\d [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d [A-Z]{1,4}",
     "%a, %d %b %Y %H:%M:%S %Z"},
    {"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)? \\d{4}", "%a %b %d %H:%M:%S %Y"},
    {"\\d\\d\\.\\d\\d\\.\\d{4} \\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?", "%d.%m.%Y %H:%M:%S"},
    {"\\d\\d\\.\\d\\d\\.\\d{4};\\d\\d:\\d\\d:\\d\\d", "%d.%m.%Y;%H:%M:%S"},
    {"\\d\\d\\.\\d\\d\\.\\d{4}, \\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?", "%d.%m.%Y, %H:%M:%S"},
    {"\\d{1,2} [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%d %b %Y %H:%M:%S"},
    {"[A-Z][a-z]{2} [ \\d]\\d \\d{4} \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%b %d %Y %H:%M:%S"},
    {"\\d{4}\\.\\d\\d\\.\\d\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%Y.%m.%d %H:%M:%S"},
    {"\\d{4}-\\d\\d-\\d\\d time=\\d\\d:\\d\\d:\\d\\d", "%Y-%m-%d time=%H:%M:%S"},
    {"\\d{1,2}-[A-Z][A-Za-z]{2}-\\d{4} \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%d-%b-%Y %H:%M:%S"},
    {"[A-Z][a-z]{2} \\d{1,2}, \\d{4} \\d{1,2}:\\d\\d:\\d\\d [AP]M", "%b %d, %Y %I:%M:%S %p"},
    {"\\d{1,2}/\\d{1,2}/\\d{4},? \\d{1,2}:\\d\\d:\\d\\d [AP]M", "%m/%d/%Y %I:%M:%S %p"},
    {"\\d{1,2}/\\d{1,2}/\\d{4} \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%m/%d/%Y %H:%M:%S"},
    {"\\d{1,2}/\\d{1,2}/\\d{4} \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%d/%m/%Y %H:%M:%S"},
    {"\\d\\d/\\d\\d/\\d\\d \\d\\d:\\d\\d:\\d\\d", "%m/%d/%y %H:%M:%S"},
    {"\\d\\d/\\d\\d/\\d\\d \\d\\d:\\d\\d:\\d\\d", "%d/%m/%y %H:%M:%S"},
    {"\\d{8}T\\d{6}Z?", "%Y%m%dT%H%M%S%Z"},
    {"\\d{8} \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%Y%m%d %H:%M:%S"},
    {"\\b20\\d{12}\\b", "%Y%m%d%H%M%S"},
    {"\\b1[4-9]\\d{8}(?:\\.\\d+|\\d{3}|\\d{6}|\\d{9})?\\b", ""},
    {"\\d{6} +\\d{1,2}:\\d\\d:\\d\\d", "%y%m%d %H:%M:%S"},
    {"\\d{4}:\\d\\d:\\d\\d-\\d\\d:\\d\\d:\\d\\d", "%Y:%m:%d-%H:%M:%S"},
    {"\\d{4}/\\d\\d/\\d\\d - \\d\\d:\\d\\d:\\d\\d", "%Y/%m/%d - %H:%M:%S"},
    {"\\d\\d/[A-Z][a-z]{2}/\\d{4} \\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?", "%d/%b/%Y %H:%M:%S"},
    {"[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?", "%b %d %H:%M:%S"},
}};
#undef WEIR_ZONE

// Counts that nothing but their size tells. Excel's days are small numbers, as a duration is, unless they
// have a fraction.
constexpr std::array<std::string_view, 4> kCountNames{"filetime", "ticks", "webkit", "excel"};

bool all_read(const std::vector<std::string>& texts, TimeReader reader, std::int64_t from_ns,
              std::int64_t to_ns) {
  return std::all_of(texts.begin(), texts.end(), [&](const std::string& each) {
    std::int64_t ns = 0;
    return reader.read(each, ns) == nullptr && ns >= from_ns && ns < to_ns;
  });
}

bool have_fractions(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [](const std::string& each) { return each.find('.') != std::string::npos; });
}

}  // namespace

std::span<const TimeForm> time_forms() { return kForms; }

std::optional<std::string> time_format_of(const std::vector<std::string>& texts) {
  constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
  constexpr std::int64_t kYear2080 = 3'471'292'800'000'000'000;
  if (texts.empty()) return std::nullopt;
  if (all_read(texts, TimeReader(), 0, INT64_MAX)) return "";
  std::optional<std::string> found;
  for (const TimeForm& form : kForms) {
    const std::string format(form.format);
    if (format.empty() || !all_read(texts, TimeReader(Zone(), TimeFormat::parse(format)), 0, INT64_MAX))
      continue;
    if (found) return std::nullopt;
    found = format;
  }
  if (found) return found;
  for (const std::string_view count : kCountNames) {
    if (count == "excel" && !have_fractions(texts)) continue;
    const TimeReader reader(Zone(), TimeFormat::parse(std::string(count)));
    if (all_read(texts, reader, kYear2000, kYear2080)) return std::string(count);
  }
  return std::nullopt;
}

bool may_be_a_time(const std::string& text) {
  return all_read({text}, TimeReader(), 0, INT64_MAX) ||
         std::any_of(kForms.begin(), kForms.end(), [&text](const TimeForm& form) {
           return !form.format.empty() &&
                  all_read({text}, TimeReader(Zone(), TimeFormat::parse(std::string(form.format))), 0,
                           INT64_MAX);
         });
}

}  // namespace weir::logs
