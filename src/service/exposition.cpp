#include "service/exposition.hpp"

#include <array>
#include <charconv>
#include <chrono>

namespace weir::inline v0_1::service {
namespace {

std::string_view without(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

// Both formats escape these; in help Prometheus' leaves the quote as it is.
void append_escaped(std::string& to, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      to += "\\\\";
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '"' && quotes) {
      to += "\\\"";
    } else {
      to += c;
    }
  }
}

std::string shortest(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string seconds(std::chrono::nanoseconds time) {
  return shortest(std::chrono::duration<double>(time).count());
}

}  // namespace

void Exposition::family(Kind kind, std::string_view name, std::string_view help) {
  constexpr std::array<std::string_view, 5> kNames = {"counter", "gauge", "histogram", "info", "counter"};
  const bool open = format_ == Format::openmetrics;
  std::string_view type = kNames[static_cast<std::size_t>(kind)];
  std::string_view called = name;
  if (open && kind == Kind::counter) called = without(name, "_total");
  if (open && kind == Kind::info) called = without(name, "_info");
  if (!open && kind == Kind::info) type = "gauge";
  if (open && kind == Kind::foreign_counter) type = "unknown";  // there a counter's name ends in _total
  name_ = name;
  text_.append("# HELP ").append(called) += ' ';
  append_escaped(text_, help, open);
  text_.append("\n# TYPE ").append(called).append(" ").append(type) += '\n';
}

void Exposition::sample(Labels labels, double value) { write("", labels, shortest(value)); }

void Exposition::sample(Labels labels, const core::Histogram::Total& took) {
  // Prometheus wants of each bound how many were at most that.
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < took.buckets.size(); ++i) {
    const auto& bounds = core::Histogram::kBounds;
    count += took.buckets[i];
    write("_bucket", labels, std::to_string(count), {"le", i < bounds.size() ? seconds(bounds[i]) : "+Inf"});
  }
  write("_sum", labels, seconds(took.sum));
  write("_count", labels, std::to_string(count));
}

void Exposition::write(std::string_view suffix, Labels labels, std::string_view value, Label last) {
  text_.append(name_).append(suffix);
  char before = '{';
  const auto add = [&](const Label& label) {
    text_ += before;
    text_.append(label.first).append("=\"");
    append_escaped(text_, label.second, true);
    text_ += '"';
    before = ',';
  };
  for (const Label& each : labels) add(each);
  if (!last.first.empty()) add(last);
  if (before == ',') text_ += '}';
  text_.append(" ").append(value) += '\n';
}

std::string Exposition::finish() {
  if (format_ == Format::openmetrics) text_ += "# EOF\n";
  return std::move(text_);
}

std::string_view Exposition::content_type(Format format) {
  return format == Format::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                       : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace weir::service
