#include "cli/decision_file.hpp"

#include <algorithm>
#include <stdexcept>

#include "logs/line_parser.hpp"

namespace weir::inline v0_1::cli {
namespace {

sim::DecisionLines::Form form_of(const std::string& path) {
  const bool json = path.ends_with(".jsonl") || path.ends_with(".ndjson") || path.ends_with(".json");
  return json ? sim::DecisionLines::Form::jsonl : sim::DecisionLines::Form::csv;
}

GrowingFile opened(const LogFlags& flags, const std::string& path) {
  if (path == "-" && flags.json)
    throw std::runtime_error("decisions: standard output holds either them or --json");
  if (path != "-") flags.refuse_the_log("decisions", path);
  return path == "-" ? GrowingFile::standard_output() : GrowingFile(path, kOwnerOnly);
}

}  // namespace

DecisionFile::DecisionFile(const LogFlags& flags, const std::string& path, sim::DecisionLines lines)
    : naming_(flags.naming()), lines_(std::move(lines)), file_(opened(flags, path)) {
  file_.text() = lines_.header();
}

DecisionFile::DecisionFile(const LogFlags& flags, const std::string& path,
                           const std::vector<std::string>& limits)
    : DecisionFile(flags, path,
                   sim::DecisionLines(form_of(path), limits, flags.in_flight ? "busy" : "denied")) {
  for (auto each = limits.begin(); each != limits.end(); ++each) {
    if (std::find(limits.begin(), each, *each) != each)
      throw std::runtime_error("decisions: '" + *each + "' is tried twice, so columns would have one name");
  }
}

DecisionFile::DecisionFile(const LogFlags& flags, const std::string& path)
    : DecisionFile(flags, path, sim::DecisionLines(form_of(path))) {}

void DecisionFile::add(const logs::Event& event, const logs::ClientIndex& clients, std::size_t key_parts,
                       std::span<const sim::Replay::Answer> answers) {
  const std::string_view key = clients.name(event.client);
  if (naming_ == sim::Naming::as_is && key_parts < 2) {
    lines_.add(event, key, answers, file_.text());
  } else {
    lines_.add(event, sim::called(logs::shown(key, key_parts), event.client, naming_), answers, file_.text());
  }
  file_.flush_if_much();
}

void DecisionFile::add(const logs::Event& event, const sim::FileReplay::Taken& taken) {
  lines_.add(event, sim::called(taken.client, taken.client_number, naming_), taken, file_.text());
  file_.flush_if_much();
}

}  // namespace weir::cli
