#include "trial/case_report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/json_writer.hpp"
#include "core/plural.hpp"
#include "core/printable.hpp"
#include "limits/finding.hpp"

namespace weir::inline v0_1::limits {
namespace {

using core::JsonWriter;

std::string at(const std::string& file, Position place) {
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
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

void write(JsonWriter& json, const Failure& failure) {
  json.begin_object();
  json.member("line", failure.place.line);
  json.member("column", failure.place.column);
  json.member("step", failure.title);
  json.member("error", core::or_null(failure.error));
  json.begin_array("mismatches");
  for (const Mismatch& each : failure.mismatches) {
    json.begin_object();
    json.member("what", each.what);
    json.member("expected", each.expected);
    json.member("seen", each.seen);
    json.end_object();
  }
  json.end_array();
  json.member("explanation", failure.explanation);
  json.end_object();
}

void write(JsonWriter& json, const CasesResult& file) {
  json.begin_object();
  json.member("file", file.cases->name);
  json.member("limits", file.cases->file->name);
  json.begin_array("tests");
  for (const CaseResult& result : file.results) {
    json.begin_object();
    json.member("name", result.one->name);
    json.member("line", result.one->place.line);
    json.member("passed", result.passed());
    json.begin_array("failures");
    for (const Failure& failure : result.failures) write(json, failure);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write(JsonWriter& json, const Coverage& coverage) {
  json.begin_object();
  json.member("limits", coverage.file().name);
  json.member("met", coverage.done());
  json.member("of", coverage.all().size());
  json.begin_array("missing");
  for (const Covered& each : coverage.all()) {
    if (each.done) continue;
    json.begin_object();
    json.member("path", each.path);
    json.member("line", each.place.line);
    json.member("never", each.what);
    json.end_object();
  }
  json.end_array();
  json.end_object();
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
    out += file.cases->name + ": " + core::counted(file.results.size(), "test") + ", " +
           std::to_string(failed_of(file)) + " failed\n";
  }
  for (const Coverage& coverage : report.coverage) out += text_of(coverage);
  return out;
}

std::string json_of(const CaseReport& report) {
  std::string out;
  JsonWriter json(out, JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("tests", report.tests());
  json.member("failed", report.failed());
  json.begin_array("files");
  for (const CasesResult& file : report.files) write(json, file);
  json.end_array();
  if (!report.coverage.empty()) {
    json.begin_array("coverage");
    for (const Coverage& coverage : report.coverage) write(json, coverage);
    json.end_array();
  }
  json.end_object();
  return out;
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
