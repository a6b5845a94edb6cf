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

// Calls visit(path, command) for each command, "check", and for those within one, "ctl ban".
template <class Visit>
void visit_commands(const CLI::App& app, const std::string& path, const Visit& visit) {
  for (const CLI::App* each : commands_of(app)) {
    const std::string its = path.empty() ? each->get_name() : path + " " + each->get_name();
    visit(its, *each);
    visit_commands(*each, its, visit);
  }
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

// What may follow: for bash, the commands (of the program, or of one that has some) and the options' long
// names.
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
void bash_values(std::string& script, const std::string& path, const CLI::App& command) {
  for (const CLI::Option* option : options_of(command)) {
    if (is_switch(*option)) continue;
    std::string values = bash_choices(*option);
    if (!values.empty()) values += "; ";
    script += "    " + single_quoted(path) + ":" + names_of(*option).back() + ") " + values + "return ;;\n";
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

void zsh_command(std::string& script, const CLI::App& command, const std::string& indent) {
  script += indent + "_arguments";
  for (const CLI::Option* option : options_of(command))
    script += " \\\n" + indent + "  " + zsh_option(*option);
  const auto words = argument_words(command);
  if (!words.empty()) script += " \\\n" + indent + "  '1:argument:(" + joined(words, " ") + ")'";
  if (takes_files(command)) script += " \\\n" + indent + "  '*:file:_files'";
  script += " ;;\n";
}

// Of the program, or of a command that has some.
void zsh_commands(std::string& script, const CLI::App& app, const std::string& indent) {
  script += indent + "  _arguments -C";
  for (const CLI::Option* option : options_of(app)) script += " \\\n" + indent + "    " + zsh_option(*option);
  script += " \\\n" + indent + "    '1:command:->command' '*::argument:->argument'\n";
  script += indent + "  case $state in\n" + indent + "    command)\n" + indent + "      local commands=(\n";
  for (const CLI::App* command : commands_of(app)) {
    script +=
        indent + "        " + single_quoted(command->get_name() + ":" + command->get_description()) + "\n";
  }
  script += indent + "      )\n" + indent + "      _describe command commands ;;\n";
  script += indent + "    argument)\n" + indent + "      case $words[1] in\n";
  for (const CLI::App* command : commands_of(app)) {
    script += indent + "        " + command->get_name() + ")\n";
    if (commands_of(*command).empty()) {
      zsh_command(script, *command, indent + "          ");
    } else {
      zsh_commands(script, *command, indent + "        ");
      script += indent + "          ;;\n";
    }
  }
  script += indent + "      esac ;;\n" + indent + "  esac\n";
}

void fish_option(std::string& script, const CLI::Option& option, const std::string& where) {
  script += "complete -c weir -n " + single_quoted(where);
  for (const std::string& name : names_of(option))
    script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!is_switch(option)) script += wants_file(option) ? " -rF" : " -x";
  if (const auto words = words_of(option); !words.empty())
    script += " -a " + single_quoted(joined(words, " "));
  script += " -d " + single_quoted(option.get_description()) + "\n";
}

void fish_commands(std::string& script, const CLI::App& app, const std::string& where) {
  for (const CLI::App* command : commands_of(app)) {
    script += "complete -c weir -n " + single_quoted(where) + " -a " + command->get_name() + " -d " +
              single_quoted(command->get_description()) + "\n";
  }
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  std::string script =
      "# bash completion of weir.\n"
      "_weir() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || command=\n"
      "  case \"$command\" in\n";
  for (const CLI::App* command : commands_of(program)) {
    if (commands_of(*command).empty()) continue;
    script += "    " + command->get_name() +
              ") [ \"$COMP_CWORD\" -le 2 ] || command=\"$command ${COMP_WORDS[2]}\" ;;\n";
  }
  script +=
      "  esac\n"
      "  # --name=value comes as three words.\n"
      "  if [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  if [ \"$word\" = = ]; then word=; fi\n"
      "  case \"$command:$before\" in\n";
  visit_commands(program, "", [&script](const std::string& path, const CLI::App& command) {
    bash_values(script, path, command);
  });
  script += "  esac\n  case \"$command\" in\n";
  script += "    '') " + bash_one_of(bash_words(program)) + " ;;\n";
  visit_commands(program, "", [&script](const std::string& path, const CLI::App& command) {
    script += "    " + single_quoted(path) + ")\n";
    for (const CLI::Option* argument : arguments_of(command)) {
      const std::string choices = bash_choices(*argument);
      if (!choices.empty()) script += "      if [[ $word != -* ]]; then " + choices + "; return; fi\n";
    }
    script += "      " + bash_one_of(bash_words(command)) + " ;;\n";
  });
  return script + "  esac\n}\ncomplete -F _weir weir\n";
}

std::string zsh_completion(const CLI::App& program) {
  std::string script =
      "#compdef weir\n"
      "_weir() {\n"
      "  local context state state_descr line\n"
      "  typeset -A opt_args\n";
  zsh_commands(script, program, "");
  return script + "}\n_weir \"$@\"\n";
}

std::string fish_completion(const CLI::App& program) {
  // By their places: `weir ctl top` is not `weir top`.
  std::string script =
      "# fish completion of weir.\n"
      "function __weir_at\n"
      "  set -l words (commandline -opc)[2..-1]\n"
      "  set -l depth (count $argv)\n"
      "  test (count $words) -ge $depth; and test \"$words[1..$depth]\" = \"$argv\"\n"
      "end\n"
      "function __weir_ends_at\n"
      "  test (count (commandline -opc)) -eq (math (count $argv) + 1); and __weir_at $argv\n"
      "end\n"
      "complete -c weir -f\n";
  for (const CLI::Option* each : options_of(program)) fish_option(script, *each, "__fish_use_subcommand");
  fish_commands(script, program, "__fish_use_subcommand");
  visit_commands(program, "", [&script](const std::string& path, const CLI::App& command) {
    const std::string within = "__weir_at " + path;
    fish_commands(script, command, "__weir_ends_at " + path);
    const bool nests = !commands_of(command).empty();
    for (const CLI::Option* each : options_of(command))
      fish_option(script, *each, (nests ? "__weir_ends_at " : "__weir_at ") + path);
    if (takes_files(command)) script += "complete -c weir -n " + single_quoted(within) + " -F\n";
    if (const auto words = argument_words(command); !words.empty())
      script +=
          "complete -c weir -n " + single_quoted(within) + " -a " + single_quoted(joined(words, " ")) + "\n";
  });
  return script;
}

}  // namespace weir::cli
