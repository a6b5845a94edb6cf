#include "cli/config_file.hpp"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <stdexcept>

#include "cli/values.hpp"
#include "core/regular_file.hpp"

namespace weir::inline v0_1::cli {
namespace {

CLI::Option* find(CLI::App& app, std::string_view name) {
  if (name == "config" || name == "help") return nullptr;
  return app.get_option_no_throw("--" + std::string(name));
}

// Reads one line; an error is what is wrong with it.
class ConfigLine {
 public:
  ConfigLine(CLI::App& app, std::string_view text) : app_(app), text_(text) {}

  Setting read(int number) const {
    if (text_.find('\0') != std::string_view::npos)
      throw std::runtime_error("a NUL byte; the file has to be UTF-8");
    const std::size_t equals = text_.find('=');
    if (equals == std::string_view::npos) {
      const std::string_view word = text_.substr(0, text_.find_first_of(" \t:"));
      throw std::runtime_error("missing '='" +
                               (find(app_, word) ? " after '" + std::string(word) + "'" : ""));
    }
    const std::string_view name = trimmed(text_.substr(0, equals));
    const CLI::Option* option = find(app_, name);
    if (option == nullptr) {
      throw std::runtime_error("unknown setting" + shown(name) + "; weir serve --help lists them");
    }
    Setting setting{number, std::string(name), value(std::string(name), trimmed(text_.substr(equals + 1)))};
    const bool is_switch = option->get_items_expected_max() == 0;
    if (is_switch && setting.value != "true" && setting.value != "false")
      throw std::runtime_error("'" + setting.name + "' must be true or false");
    return setting;
  }

 private:
  // A name as somebody may have meant it. Not a secret: those stand after the '=', or have a digit in them.
  static std::string shown(std::string_view name) {
    const auto of_a_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
    const bool harmless =
        !name.empty() && name.size() <= 24 && std::all_of(name.begin(), name.end(), of_a_name);
    return harmless ? " '" + std::string(name) + "'" : "";
  }

  static std::string value(const std::string& name, std::string_view text) {
    if (text.empty()) throw std::runtime_error("missing value after '" + name + " ='; \"\" is an empty one");
    if (text[0] != '"') {
      if (text[0] == '#' || text.find(" #") != text.npos || text.find("\t#") != text.npos)
        throw std::runtime_error(
            "'" + name + "': put the value in quotes: it has a # after a blank, or a comment follows it");
      return std::string(text);
    }
    const std::size_t end = text.find('"', 1);
    if (end == std::string_view::npos)
      throw std::runtime_error("'" + name + "': missing '\"' at the end of the value");
    const std::string_view rest = trimmed(text.substr(end + 1));
    if (!rest.empty() && rest[0] != '#')
      throw std::runtime_error("'" + name + "': after the value in quotes only a # comment may follow");
    return std::string(text.substr(1, end - 1));
  }

  CLI::App& app_;
  std::string_view text_;
};

bool is_secret(const Setting& setting) {
  const bool in_url =
      setting.value.find('@') != std::string::npos || setting.value.find("password=") != std::string::npos;
  return !setting.value.empty() &&
         (setting.name == "password" || setting.name == "http-token" || (setting.name == "store" && in_url));
}

std::string contents(const std::string& path) {
  auto text = core::read_regular_file(path);
  if (!text) throw std::runtime_error("config: cannot open '" + path + "': " + text.error());
  return *std::move(text);
}

}  // namespace

std::vector<Setting> parse_config(CLI::App& app, const std::string& path, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<Setting> settings;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    try {
      settings.push_back(ConfigLine(app, line).read(number));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("config: " + path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return settings;
}

bool read_config(CLI::App& app, const std::string& path) {
  const std::vector<Setting> settings = parse_config(app, path, contents(path));
  std::map<CLI::Option*, std::vector<const Setting*>> found;
  for (const Setting& setting : settings) found[find(app, setting.name)].push_back(&setting);
  for (auto& [option, given] : found) {
    if (given.size() > 1 && option->get_items_expected_max() <= 1)
      throw std::runtime_error("config: " + path + ":" + std::to_string(given[1]->line) + ": '" +
                               given[1]->name + "' is set twice, first in line " +
                               std::to_string(given[0]->line));
    if (option->count() > 0) continue;
    for (const Setting* setting : given) option->add_result(setting->value);
    try {
      option->run_callback();
    } catch (const CLI::Error& error) {
      throw std::runtime_error("config: " + path + ":" + std::to_string(given.back()->line) + ": " +
                               error.what());
    }
  }
  struct stat status{};
  const bool for_all = stat(path.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
  return for_all && std::any_of(settings.begin(), settings.end(), is_secret);
}

}  // namespace weir::cli
