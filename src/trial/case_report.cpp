#include "trial/case_report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/printable.hpp"
#include "limits/finding.hpp"
#include "trial/tree_json.hpp"

namespace weir::inline v0_1::limits {
namespace {

using nlohmann::ordered_json;

std::string at(const std::string& file, Place place) {
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string counted(std::size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

std::string indented(const std::string& lines, const std::string& by) {
  std::string out;
  for (std::size_t from = 0; from < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', from), lines.size());
    out += by + lines.substr(from, end - from) + "\n";
    from = end + 1;
  }
  return out;
}

// Expected and seen, side by side.
std::string text_of(const std::vector<Mismatch>& mismatches) {
  std::size_t what = 0;
  std::size_t expected = std::string_view("expected").size();
  for (const Mismatch& each : mismatches) {
    what = std::max(what, each.what.size());
    expected = std::max(expected, each.expected.size());
  }
  const auto row = [&](const std::string& a, const std::string& b, const std::string& c) {
    return padded(a, what + 2) + padded(b, expected + 2) + c + "\n";
  };
  std::string out = row("", "expected", "seen");
  for (const Mismatch& each : mismatches) out += row(each.what, each.expected, each.seen);
  return out;
}

std::string text_of(const Failure& failure, const std::string& file) {
  std::string out = "  " + at(file, failure.place) + ": " + failure.title + "\n";
  if (!failure.error.empty()) out += "    the request is an error: " + core::printable(failure.error) + "\n";
  if (!failure.mismatches.empty()) out += indented(text_of(failure.mismatches), "    ");
  return out + indented(failure.explanation, "    ");
}

std::string percent(std::size_t part, std::size_t whole) {
  std::array<char, 32> text{};
  // Rounded down, so that 100.0 % is all.
  const std::size_t tenths = whole == 0 ? 1000 : part * 1000 / whole;
  std::snprintf(text.data(), text.size(), "%zu.%zu %%", tenths / 10, tenths % 10);
  return text.data();
}

std::string text_of(const Coverage& coverage) {
  const std::vector<Covered>& all = coverage.all();
  const std::string& file = coverage.file().name;
  std::string out = "coverage of " + file + ": " + std::to_string(coverage.done()) + " of " +
                    std::to_string(all.size()) + ", " + percent(coverage.done(), all.size()) + "\n";
  for (const Covered& each : all) {
    if (!each.done)
      out += "  " + at(file, each.place) + ": " + core::printable(each.path) + ": never " + each.what + "\n";
  }
  return out;
}

ordered_json json_of(const Failure& failure) {
  ordered_json mismatches = ordered_json::array();
  for (const Mismatch& each : failure.mismatches)
    mismatches.push_back({{"what", each.what}, {"expected", each.expected}, {"seen", each.seen}});
  return {{"line", failure.place.line},
          {"column", failure.place.column},
          {"step", failure.title},
          {"error", failure.error.empty() ? ordered_json(nullptr) : ordered_json(failure.error)},
          {"mismatches", std::move(mismatches)},
          {"explanation", failure.explanation}};
}

ordered_json json_of(const CasesResult& file) {
  ordered_json tests = ordered_json::array();
  for (const CaseResult& result : file.results) {
    ordered_json failures = ordered_json::array();
    for (const Failure& failure : result.failures) failures.push_back(json_of(failure));
    tests.push_back({{"name", result.one->name},
                     {"line", result.one->place.line},
                     {"passed", result.passed()},
                     {"failures", std::move(failures)}});
  }
  return {{"file", file.cases->name}, {"limits", file.cases->file->name}, {"tests", std::move(tests)}};
}

ordered_json json_of(const Coverage& coverage) {
  ordered_json missing = ordered_json::array();
  for (const Covered& each : coverage.all()) {
    if (!each.done) missing.push_back({{"path", each.path}, {"line", each.place.line}, {"never", each.what}});
  }
  return {{"limits", coverage.file().name},
          {"met", coverage.done()},
          {"of", coverage.all().size()},
          {"missing", std::move(missing)}};
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : core::printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// `lines` is several lines, each safe.
std::string escaped_lines(const std::string& lines) {
  std::string out;
  for (std::size_t from = 0; from < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', from), lines.size());
    out += escaped(lines.substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return out;
}

std::size_t failed_of(const CasesResult& file) {
  return static_cast<std::size_t>(std::count_if(file.results.begin(), file.results.end(),
                                                [](const CaseResult& each) { return !each.passed(); }));
}

}  // namespace

std::size_t CaseReport::tests() const {
  std::size_t count = 0;
  for (const CasesResult& file : files) count += file.results.size();
  return count;
}

std::size_t CaseReport::failed() const {
  std::size_t count = 0;
  for (const CasesResult& file : files) count += failed_of(file);
  return count;
}

std::string text_of(const CaseReport& report, bool every) {
  std::string out;
  for (const CasesResult& file : report.files) {
    for (const CaseResult& result : file.results) {
      if (result.passed() && !every) continue;
      out += (result.passed() ? "ok      " : "FAILED  ") + core::printable(result.one->name) + "\n";
      for (const Failure& failure : result.failures) out += text_of(failure, file.cases->name);
    }
    out += file.cases->name + ": " + counted(file.results.size(), "test") + ", " +
           std::to_string(failed_of(file)) + " failed\n";
  }
  for (const Coverage& coverage : report.coverage) out += text_of(coverage);
  return out;
}

std::string json_of(const CaseReport& report) {
  ordered_json json{{"tests", report.tests()}, {"failed", report.failed()}, {"files", ordered_json::array()}};
  for (const CasesResult& file : report.files) json["files"].push_back(json_of(file));
  if (!report.coverage.empty()) {
    json["coverage"] = ordered_json::array();
    for (const Coverage& coverage : report.coverage) json["coverage"].push_back(json_of(coverage));
  }
  return one_line(json);
}

std::string junit_of(const CaseReport& report) {
  const auto counts = [](std::size_t tests, std::size_t failed) {
    return " tests=\"" + std::to_string(tests) + "\" failures=\"" + std::to_string(failed) + "\"";
  };
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                    counts(report.tests(), report.failed()) + ">\n";
  for (const CasesResult& file : report.files) {
    const std::string name = escaped(file.cases->name);
    out += "  <testsuite name=\"" + name + "\"" + counts(file.results.size(), failed_of(file)) + ">\n";
    for (const CaseResult& result : file.results) {
      out += "    <testcase classname=\"" + name + "\" name=\"" + escaped(result.one->name) + "\"";
      if (result.passed()) {
        out += "/>\n";
        continue;
      }
      out += ">\n";
      for (const Failure& failure : result.failures) {
        out += "      <failure message=\"" + escaped(failure.title) + "\">" +
               escaped_lines(text_of(failure, file.cases->name)) + "</failure>\n";
      }
      out += "    </testcase>\n";
    }
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace weir::limits
