#include "sim/decision_lines.hpp"

#include "core/json_writer.hpp"
#include "core/utc_text.hpp"
#include "logs/zone.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;

constexpr std::string_view kError = "error";

void append_time(std::string& to, std::int64_t at) {
  core::append_utc_text(to, at);
  if (const std::int64_t ns = at % kSecond; ns != 0) {
    to.pop_back();
    core::append_fraction(to, ns);
    to += 'Z';
  }
}

}  // namespace

void append_csv(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

DecisionLines::DecisionLines(Form form, const std::vector<std::string>& limits, std::string_view denied)
    : form_(form), header_("time,client,cost") {
  for (const std::string& limit : limits) add_limit(limit, limit + " retry_after", denied);
}

DecisionLines::DecisionLines(Form form) : DecisionLines(form, {}) {
  add_limit("verdict", "retry_after", to_text(Verdict::denied));
  header_ += ",limit";
}

void DecisionLines::add_limit(const std::string& verdict, const std::string& wait, std::string_view denied) {
  append_csv(header_ += ',', verdict);
  append_csv(header_ += ',', wait);
  const auto text_of = [&](std::string_view word) {
    if (form_ == Form::csv) return ',' + std::string(word) + ',';
    std::string text = "0";  // what stands before it, which is a number
    core::JsonWriter json(text);
    json.unknown_name(verdict);
    json.value(word);
    json.unknown_name(wait);
    return text.substr(1);
  };
  texts_.push_back({text_of(to_text(Verdict::allowed)), text_of(denied), text_of(to_text(Verdict::never)),
                    text_of(to_text(Verdict::busy)), text_of(kError)});
}

void DecisionLines::begin(const logs::Event& event, std::string_view client, std::string& to) const {
  if (form_ == Form::csv) {
    append_time(to, event.ns);
    append_csv(to += ',', client);
    core::append_integer(to += ',', static_cast<std::int64_t>(event.cost));  // below 2^63
    return;
  }
  std::string time;
  append_time(time, event.ns);
  core::JsonWriter json(to);
  json.begin_object();
  json.member("time", time);
  json.member("client", client);
  json.member("cost", event.cost);
}

void DecisionLines::add_wait(std::optional<std::int64_t> ns, std::string& to) const {
  if (ns) {
    core::append_seconds(to, std::chrono::nanoseconds(*ns));
  } else if (form_ == Form::jsonl) {
    to += "null";
  }
}

void DecisionLines::add(const logs::Event& event, std::string_view client,
                        std::span<const Replay::Answer> answers, std::string& to) const {
  begin(event, client, to);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Replay::Answer& answer = answers[i];
    const bool denied = answer.verdict == Verdict::denied;
    to += texts_[i][static_cast<std::size_t>(answer.verdict)];
    add_wait(denied ? std::optional(static_cast<std::int64_t>(answer.retry_after)) : std::nullopt, to);
  }
  to += form_ == Form::csv ? "\n" : "}\n";
}

void DecisionLines::add(const logs::Event& event, std::string_view client, const FileReplay::Taken& taken,
                        std::string& to) const {
  begin(event, client, to);
  to += taken.error ? texts_[0].back() : texts_[0][static_cast<std::size_t>(taken.verdict)];
  add_wait(taken.retry_after_ns, to);
  if (form_ == Form::csv) {
    append_csv(to += ',', taken.by);
    to += '\n';
  } else {
    core::JsonWriter json(to);
    json.member("limit", taken.by);
    json.end_object();
    to += '\n';
  }
}

}  // namespace weir::sim
