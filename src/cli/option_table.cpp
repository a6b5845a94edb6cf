#include "cli/option_table.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>

namespace weir::inline v0_1::cli {
namespace {

std::vector<const CLI::Option*> listed(const CLI::App& app, bool positional) {
  return app.get_options([positional](const CLI::Option* option) {
    return option->get_positional() == positional && !option->get_group().empty();
  });
}

}  // namespace

void take_only(CLI::Option& option, const std::vector<std::string>& words) {
  std::string type;
  for (const std::string& word : words) type += (type.empty() ? "" : "|") + word;
  // Validators describe themselves at length, in braces; the type says it shorter.
  option.type_name(type)->check(CLI::IsMember(words).description(""));
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) { return listed(app, false); }

std::vector<const CLI::Option*> arguments_of(const CLI::App& app) { return listed(app, true); }

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool is_switch(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

bool wants_file(const CLI::Option& option) { return option.get_type_name() == "FILE"; }

std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  for (std::size_t from = 0; from <= type.size();) {
    const std::size_t end = std::min(type.find('|', from), type.size());
    words.push_back(type.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

std::string default_of(const CLI::Option& option) {
  // A description that ends in brackets says there where the default comes from.
  if (option.get_description().ends_with(']')) return "";
  std::string text = option.get_default_str();
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace weir::cli
