#include "sim/decision_lines.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/utc_text.hpp"
#include "weir/format.hpp"

namespace weir::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

template <class Number>
void add_number(Number number, std::string& to) {
  std::array<char, 24> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  to.append(text.data(), end);
}

// ".5", or nothing.
void add_fraction(std::int64_t ns, std::string& to) {
  if (ns == 0) return;
  constexpr std::size_t kDigits = 9;
  std::array<char, kDigits> digits{};
  for (std::size_t i = kDigits; i-- > 0; ns /= 10) digits[i] = static_cast<char>('0' + ns % 10);
  std::size_t size = kDigits;
  while (digits[size - 1] == '0') --size;
  to += '.';
  to.append(digits.data(), size);
}

std::string quoted_csv(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// Names are bytes; JSON is UTF-8.
std::string quoted_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> columns_of(const std::vector<std::string>& limits) {
  std::vector<std::string> columns{"time", "client", "cost"};
  for (const std::string& limit : limits) {
    columns.push_back(limit);
    columns.push_back(limit + " retry_after");
  }
  return columns;
}

constexpr std::size_t kFirst = 3;  // of the columns that are not every line's

}  // namespace

DecisionLines::DecisionLines(Form form, const std::vector<std::string>& limits)
    : form_(form), columns_(columns_of(limits)) {
  for (const std::string& column : columns_) {
    const char* const before = leads_.empty() ? "{" : ",";
    leads_.push_back(form == Form::csv ? (leads_.empty() ? "" : ",") : before + quoted_json(column) + ":");
  }
}

DecisionLines::DecisionLines(Form form) : DecisionLines(form, std::vector<std::string>{"verdict"}) {
  columns_.back() = "retry_after";
  columns_.emplace_back("limit");
  if (form == Form::jsonl) leads_.back() = ",\"retry_after\":";
  leads_.emplace_back(form == Form::csv ? "," : ",\"limit\":");
}

std::string DecisionLines::header() const {
  if (form_ == Form::jsonl) return "";
  std::string line;
  for (const std::string& column : columns_) line += (line.empty() ? "" : ",") + quoted_csv(column);
  return line + "\n";
}

void DecisionLines::add_text(std::string_view text, std::string& to) const {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != ',';
  });
  if (plain && form_ == Form::csv) {
    to += text;
  } else if (plain) {
    (to += '"') += text;
    to += '"';
  } else {
    to += form_ == Form::csv ? quoted_csv(text) : quoted_json(text);
  }
}

void DecisionLines::begin(const logs::Event& event, std::string_view client, std::string& to) {
  if (const std::int64_t second = event.ns / kSecond; second != second_) {
    second_ = second;
    second_text_ = core::utc_text(event.ns);
    second_text_.pop_back();
  }
  const char* const quote = form_ == Form::csv ? "" : "\"";
  ((to += leads_[0]) += quote) += second_text_;
  add_fraction(event.ns % kSecond, to);
  (to += 'Z') += quote;
  to += leads_[1];
  add_text(client, to);
  to += leads_[2];
  add_number(event.cost, to);
}

void DecisionLines::add_verdict(std::size_t column, Verdict verdict, std::string& to) const {
  const char* const quote = form_ == Form::csv ? "" : "\"";
  (((to += leads_[column]) += quote) += to_text(verdict)) += quote;
}

void DecisionLines::add_wait(std::size_t column, Verdict verdict, std::uint64_t ns, std::string& to) const {
  to += leads_[column];
  if (verdict != Verdict::denied) {
    if (form_ == Form::jsonl) to += "null";
    return;
  }
  add_number(ns / kSecond, to);
  add_fraction(static_cast<std::int64_t>(ns % kSecond), to);
}

void DecisionLines::add(const logs::Event& event, std::string_view client,
                        std::span<const Replay::Answer> answers, std::string& to) {
  begin(event, client, to);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    add_verdict(kFirst + 2 * i, answers[i].verdict, to);
    add_wait(kFirst + 2 * i + 1, answers[i].verdict, answers[i].retry_after, to);
  }
  end(to);
}

void DecisionLines::add(const logs::Event& event, std::string_view client, const FileReplay::Taken& taken,
                        std::string& to) {
  begin(event, client, to);
  if (taken.error) {
    to += leads_[kFirst];
    to += form_ == Form::csv ? "error" : "\"error\"";
  } else {
    add_verdict(kFirst, taken.verdict, to);
  }
  const auto waits = static_cast<std::uint64_t>(taken.retry_after_ns.value_or(0));
  add_wait(kFirst + 1, taken.retry_after_ns ? Verdict::denied : Verdict::allowed, waits, to);
  to += leads_[kFirst + 2];
  add_text(taken.by, to);
  end(to);
}

}  // namespace weir::sim
