#include "cli/completion.hpp"

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "cli/option_table.hpp"

namespace weir::inline v0_1::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

// Inside single quotes of a shell. All three read '\'' as a quote: it ends, one is escaped, the next begins.
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The words that the command's argument may be.
std::vector<std::string> argument_words(const CLI::App& command) {
  const auto arguments = arguments_of(command);
  return arguments.empty() ? std::vector<std::string>{} : words_of(*arguments.front());
}

bool takes_files(const CLI::App& command) {
  for (const CLI::Option* option : arguments_of(command)) {
    if (wants_file(*option)) return true;
  }
  return false;
}

// What may follow: for bash, the commands (of the program) and the options' long names.
std::vector<std::string> bash_words(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* each : commands_of(command)) words.push_back(each->get_name());
  for (const CLI::Option* option : options_of(command)) words.push_back(names_of(*option).back());
  return words;
}

std::string bash_one_of(const std::vector<std::string>& words) {
  return "COMPREPLY=($(compgen -W '" + joined(words, " ") + "' -- \"$word\"))";
}

// Completes a value of the option, or of the argument; empty when nothing is known of it.
std::string bash_choices(const CLI::Option& option) {
  if (const auto words = words_of(option); !words.empty()) return bash_one_of(words);
  return wants_file(option) ? "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))" : "";
}

// After an option that takes a value: the values.
void bash_values(std::string& script, const CLI::App& command) {
  for (const CLI::Option* option : options_of(command)) {
    if (is_switch(*option)) continue;
    std::string values = bash_choices(*option);
    if (!values.empty()) values += "; ";
    script += "    " + command.get_name() + ":" + names_of(*option).back() + ") " + values + "return ;;\n";
  }
}

// A backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// `--when-full[deny or allow new keys]:WORD:(deny allow)`
std::string zsh_option(const CLI::Option& option) {
  std::string value;
  if (!is_switch(option)) {
    const auto words = words_of(option);
    value = ":" + (words.empty() ? escaped(option.get_type_name(), ":") : "value") + ":";
    if (!words.empty()) value += "(" + joined(words, " ") + ")";
    if (wants_file(option)) value += "_files";
  }
  const std::string many = option.get_items_expected_max() > 1 ? "*" : "";
  return single_quoted(many + names_of(option).back() + "[" + escaped(option.get_description(), "[]:") + "]" +
                       value);
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  std::string script =
      "# bash completion of weir.\n"
      "_weir() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || command=\n"
      "  # --name=value comes as three words.\n"
      "  if [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  if [ \"$word\" = = ]; then word=; fi\n"
      "  case \"$command:$before\" in\n";
  for (const CLI::App* command : commands_of(program)) bash_values(script, *command);
  script += "  esac\n  case \"$command\" in\n";
  script += "    '') " + bash_one_of(bash_words(program)) + " ;;\n";
  for (const CLI::App* command : commands_of(program)) {
    script += "    " + command->get_name() + ")\n";
    for (const CLI::Option* argument : arguments_of(*command)) {
      const std::string choices = bash_choices(*argument);
      if (!choices.empty()) script += "      if [[ $word != -* ]]; then " + choices + "; return; fi\n";
    }
    script += "      " + bash_one_of(bash_words(*command)) + " ;;\n";
  }
  return script + "  esac\n}\ncomplete -F _weir weir\n";
}

std::string zsh_completion(const CLI::App& program) {
  std::string script =
      "#compdef weir\n"
      "_weir() {\n"
      "  local context state state_descr line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C";
  for (const CLI::Option* option : options_of(program)) script += " \\\n    " + zsh_option(*option);
  script += " \\\n    '1:command:->command' '*::argument:->argument'\n";
  script += "  case $state in\n    command)\n      local commands=(\n";
  for (const CLI::App* command : commands_of(program)) {
    script += "        " + single_quoted(command->get_name() + ":" + command->get_description()) + "\n";
  }
  script += "      )\n      _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CLI::App* command : commands_of(program)) {
    script += "        " + command->get_name() + ")\n          _arguments";
    for (const CLI::Option* option : options_of(*command))
      script += " \\\n            " + zsh_option(*option);
    const auto words = argument_words(*command);
    if (!words.empty()) script += " \\\n            '1:argument:(" + joined(words, " ") + ")'";
    if (takes_files(*command)) script += " \\\n            '*:file:_files'";
    script += " ;;\n";
  }
  return script + "      esac ;;\n  esac\n}\n_weir \"$@\"\n";
}

std::string fish_completion(const CLI::App& program) {
  std::string script = "# fish completion of weir.\ncomplete -c weir -f\n";
  const auto option = [&script](const CLI::Option& each, const std::string& where) {
    script += "complete -c weir -n " + single_quoted(where);
    for (const std::string& name : names_of(each))
      script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!is_switch(each)) script += wants_file(each) ? " -rF" : " -x";
    if (const auto words = words_of(each); !words.empty())
      script += " -a " + single_quoted(joined(words, " "));
    script += " -d " + single_quoted(each.get_description()) + "\n";
  };
  for (const CLI::Option* each : options_of(program)) option(*each, "__fish_use_subcommand");
  for (const CLI::App* command : commands_of(program)) {
    script += "complete -c weir -n __fish_use_subcommand -a " + command->get_name() + " -d " +
              single_quoted(command->get_description()) + "\n";
    const std::string within = "__fish_seen_subcommand_from " + command->get_name();
    for (const CLI::Option* each : options_of(*command)) option(*each, within);
    if (takes_files(*command)) script += "complete -c weir -n " + single_quoted(within) + " -F\n";
    if (const auto words = argument_words(*command); !words.empty())
      script +=
          "complete -c weir -n " + single_quoted(within) + " -a " + single_quoted(joined(words, " ")) + "\n";
  }
  return script;
}

}  // namespace weir::cli
