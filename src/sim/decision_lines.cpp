#include "sim/decision_lines.hpp"

#include "core/json_text.hpp"
#include "core/utc_text.hpp"
#include "logs/zone.hpp"
#include "weir/format.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;

constexpr std::string_view kError = "error";

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

DecisionLines::DecisionLines(Form form, const std::vector<std::string>& limits)
    : form_(form), header_("time,client,cost") {
  for (const std::string& limit : limits) add_limit(limit, limit + " retry_after");
}

DecisionLines::DecisionLines(Form form) : DecisionLines(form, {}) {
  add_limit("verdict", "retry_after");
  header_ += ",limit";
}

void DecisionLines::add_limit(const std::string& verdict, const std::string& wait) {
  append_csv(header_ += ',', verdict);
  append_csv(header_ += ',', wait);
  const auto text_of = [&](std::string_view word) {
    std::string text = ",";
    if (form_ == Form::csv) return (text += word) += ',';
    core::append_json(text, verdict);
    core::append_json(text += ':', word);
    core::append_json(text += ',', wait);
    return text += ':';
  };
  texts_.push_back({text_of(to_text(Verdict::allowed)), text_of(to_text(Verdict::denied)),
                    text_of(to_text(Verdict::never)), text_of(kError)});
}

void DecisionLines::begin(const logs::Event& event, std::string_view client, std::string& to) const {
  const bool csv = form_ == Form::csv;
  if (!csv) to += "{\"time\":\"";
  core::append_utc_text(to, event.ns);
  if (const std::int64_t ns = event.ns % kSecond; ns != 0) {
    to.pop_back();
    core::append_fraction(to, ns);
    to += 'Z';
  }
  if (csv) {
    append_csv(to += ',', client);
    to += ',';
  } else {
    core::append_json(to += "\",\"client\":", client);
    to += ",\"cost\":";
  }
  core::append_json(to, static_cast<std::int64_t>(event.cost));  // below 2^63
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
    core::append_json(to += ",\"limit\":", taken.by);
    to += "}\n";
  }
}

}  // namespace weir::sim
