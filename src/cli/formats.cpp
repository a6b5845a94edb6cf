// weir formats: what a log is, and the command that tries a limit on it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/layout_flags.hpp"
#include "core/json_writer.hpp"
#include "core/printable.hpp"
#include "logs/shell_word.hpp"
#include "logs/survey.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct FormatsFlags {
  std::string file;
  LayoutFlags layout;
  bool json = false;
};

const char* resolution(std::int64_t ns) {
  switch (ns) {
    case 0:
      return "none could be read";
    case 1'000'000'000:
      return "whole seconds";
    case 1'000'000:
      return "milliseconds";
    case 1'000:
      return "microseconds";
    default:
      return "nanoseconds";
  }
}

// Empty when none reads the log.
std::string command_of(const logs::Survey& survey, const FormatsFlags& flags) {
  if (!survey.command) return "";
  const logs::Survey::Command& found = *survey.command;
  std::string command = "weir suggest " + logs::shell_word(flags.file);
  const auto add = [&command](const char* flag, const std::string& value) {
    if (!value.empty()) command += std::string(" ") + flag + " " + logs::shell_word(value);
  };
  add("--regex", found.regex.empty() ? flags.layout.regex : found.regex);
  add("--format", !found.format.empty()                         ? found.format
                  : flags.layout.format != LayoutFlags{}.format ? flags.layout.format
                                                                : "");
  add("--time", found.time);
  add("--time-format", found.time_format);
  add("--key", found.key);
  return command + " --deny-clients 0.1%";
}

std::string text_of(const logs::Survey& survey, const FormatsFlags& flags) {
  std::string text =
      fmt::format("{}: {}: {}\n", flags.file, logs::name_of(survey.layout),
                  !survey.guessed                         ? std::string(survey.layout.format->about)
                  : survey.command && survey.layout.regex ? "no known format, but a pattern fits"
                  : survey.layout.regex                   ? "no line matches the regex"
                                                          : "no line has the shape of a known format");
  text += survey.lines == 0
              ? "there are no lines but headers\n"
              : fmt::format("{} of the first {} lines are requests\n", survey.requests, survey.lines);
  if (!survey.why.empty()) text += "  the first that is not one: " + survey.why + "\n";
  text += fmt::format("times: {}\n", resolution(survey.finest_ns));
  if (survey.first_year != 0)
    text += fmt::format("  they name no year: the first is taken to be of {}, by when the file was written\n",
                        survey.first_year);
  text += "fields:\n";
  std::size_t width = 0;
  for (const logs::Survey::Seen& seen : survey.fields) width = std::max(width, seen.name.size());
  for (const logs::Survey::Seen& seen : survey.fields) {
    text += fmt::format("  {:{}}  {:>6} different  {}\n", core::printable(seen.name), width, seen.different,
                        core::printable(seen.example));
  }
  if (survey.more_fields) text += "  and more\n";
  if (!survey.keys.empty()) text += "keys, the best first:\n";
  for (const logs::Survey::Key& key : survey.keys)
    text += fmt::format("  --key {:{}}  {:>6} different\n", core::printable(logs::shell_word(key.name)),
                        width, key.different);
  if (!survey.command)
    return text + "no command was found that reads it: " + core::printable(survey.why_not) + "\n";
  return text + "run: " + core::printable(command_of(survey, flags)) + "\n";
}

std::string json_of(const logs::Survey& survey, const FormatsFlags& flags) {
  std::string out;
  core::JsonWriter json(out, core::JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("file", flags.file);
  json.member("format", survey.layout.format->name);
  json.name("wrapper");
  survey.layout.wrapper != nullptr ? json.value(survey.layout.wrapper->name) : json.value(nullptr);
  json.member("known", !survey.guessed);
  json.member("lines", survey.lines);
  json.member("requests", survey.requests);
  json.member("times", resolution(survey.finest_ns));
  json.member("first_year", survey.first_year == 0 ? std::nullopt : std::optional(survey.first_year));
  json.begin_array("fields");
  for (const logs::Survey::Seen& seen : survey.fields) {
    json.begin_object();
    json.member("name", seen.name);
    json.member("lines", seen.lines);
    json.member("different", seen.different);
    json.member("example", seen.example);
    json.end_object();
  }
  json.end_array();
  json.begin_array("keys");
  for (const logs::Survey::Key& key : survey.keys) {
    json.begin_object();
    json.member("key", key.name);
    json.member("different", key.different);
    json.end_object();
  }
  json.end_array();
  json.member("run", survey.command ? std::optional(command_of(survey, flags)) : std::nullopt);
  json.end_object();
  return out + "\n";
}

int formats(const FormatsFlags& flags) {
  const std::atomic<bool> stop{false};
  const logs::Survey survey = logs::survey_of(flags.file, flags.layout.layout({}), stop);
  std::fputs((flags.json ? json_of(survey, flags) : text_of(survey, flags)).c_str(), stdout);
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to standard output");
  return survey.command ? 0 : 2;
}

}  // namespace

void add_formats(CLI::App& app, int& result) {
  auto flags = std::make_shared<FormatsFlags>();
  CLI::App* formats_app =
      app.add_subcommand("formats", "Say what an access log is: its format, fields, times and best keys");
  formats_app->add_option("LOG", flags->file, "an access log: plain, gzip or zstd; - is standard input")
      ->required()
      ->type_name("FILE");
  flags->layout.add_to(*formats_app);
  formats_app->add_flag("--json", flags->json, "print one line of JSON");
  formats_app->callback([flags, &result] { result = formats(*flags); });
}

}  // namespace weir::cli
