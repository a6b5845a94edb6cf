#include "cli/manual.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "cli/option_table.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::cli {
namespace {

// As groff reads it: a backslash and a hyphen stand for themselves, and no line begins with a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

// A sentence: from a capital to a full stop.
std::string sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (!text.ends_with('.') && !text.ends_with('?')) text += '.';
  return text;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string name_of(const CLI::App& program, const CLI::App& command) {
  return &program == &command ? program.get_name() : program.get_name() + "-" + command.get_name();
}

// What NAME says: the description up to its first stop, from a small letter.
std::string summary(const CLI::App& command) {
  std::string text = command.get_description();
  text = text.substr(0, text.find_first_of(";.?"));
  if (!text.empty()) text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

void describe(std::string& page, const CLI::Option& option) {
  page += ".TP\n";
  std::string names;
  for (const std::string& name : names_of(option)) names += (names.empty() ? "" : ", ") + bold(name);
  page += names;
  if (!is_switch(option)) page += " " + italic(option.get_type_name());
  page += "\n" + roff(sentence(option.get_description())) + "\n";
  if (const std::string from = default_of(option); !from.empty()) page += "Default: " + bold(from) + ".\n";
  if (!option.get_envname().empty()) page += "Environment: " + bold(option.get_envname()) + ".\n";
}

std::string synopsis(const CLI::App& program, const CLI::App& command) {
  if (&program == &command) return bold("weir") + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "]";
  std::string line = bold("weir " + command.get_name()) + " [" + italic("OPTIONS") + "]";
  for (const CLI::Option* option : arguments_of(command)) {
    line += " " + italic(option->get_name(true));
    if (option->get_items_expected_max() > 1) line += " ...";
  }
  return line;
}

}  // namespace

std::string manual_page(const CLI::App& program, const CLI::App& command, const std::string& date) {
  const std::string name = name_of(program, command);
  const bool whole = &program == &command;
  std::string page =
      ".TH " + upper(name) + " 1 \"" + date + "\" \"weir " WEIR_VERSION "\" \"User Commands\"\n";
  // Names are typed as they stand: no hyphenation, no hyphens in place of minus signs.
  page += ".nh\n.ad l\n";
  page += ".SH NAME\n" + roff(name) + " \\- " + roff(summary(command)) + "\n";
  page += ".SH SYNOPSIS\n" + synopsis(program, command) + "\n";
  page += ".SH DESCRIPTION\n" + roff(sentence(command.get_description())) + "\n";
  if (whole) {
    page += ".SH COMMANDS\n";
    for (const CLI::App* each : commands_of(program)) {
      page += ".TP\n" + bold(each->get_name()) + "\n" + roff(sentence(each->get_description())) + "\n";
    }
  }
  if (const auto arguments = arguments_of(command); !arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const CLI::Option* option : arguments) {
      page +=
          ".TP\n" + italic(option->get_name(true)) + "\n" + roff(sentence(option->get_description())) + "\n";
    }
  }
  page += ".SH OPTIONS\n";
  for (const CLI::Option* option : options_of(command)) describe(page, *option);
  page += ".SH EXIT STATUS\n.TP\n.B 0\nDone; of " + bold("weir check") + ": allowed; of " +
          bold("weir lint") + ": clean; of " + bold("weir store-check") + ": it holds.\n.TP\n.B 1\nOf " +
          bold("weir check") + ": denied; of " + bold("weir lint") + ": errors; of " +
          bold("weir store-check") +
          ": it does not hold.\n.TP\n.B 2\nAn error, which standard error explains; of " +
          bold("weir store-check") + ": no answer.\n";
  page += ".SH SEE ALSO\n";
  std::vector<const CLI::App*> all = commands_of(program);
  all.insert(all.begin(), &program);
  std::erase(all, &command);
  for (const CLI::App* other : all) {
    page += ".BR " + roff(name_of(program, *other)) + " (1)" + (other == all.back() ? "" : ",") + "\n";
  }
  return page;
}

}  // namespace weir::cli
