// weir ctl usage: how much of a limit that is tracked a key has used, as each server has it. With a shared
// store they all tell the same, so nothing is added up.
#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/ctl.hpp"
#include "cli/ctl_answer.hpp"
#include "cli/print.hpp"
#include "core/json_writer.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct UsageFlags {
  ServerFlags server;
  std::string limit;
  std::vector<std::string> attributes;
  bool json = false;
};

// The last of the answer; before it come the windows.
const std::vector<CtlAnswer>& hours_of(const CtlAnswer& answer) {
  if (answer.items.empty() || answer.items.back().find("hours") == nullptr)
    throw std::runtime_error("unexpected answer: this is not a weir server");
  return answer.items.back().find("hours")->items;
}

std::string usage_json(const std::string& server, const CtlAnswer& answer) {
  std::string out;
  core::JsonWriter json(out);
  json.begin_object();
  json.member("server", server);
  const CtlAnswer none;
  const CtlAnswer& first = answer.items.size() > 1 ? answer.items.front() : none;
  json.member("limit", first.text_of("limit"));
  json.member("key", first.text_of("key"));
  json.begin_array("windows");
  for (std::size_t i = 0; i + 1 < answer.items.size(); ++i) {
    const CtlAnswer& each = answer.items[i];
    json.begin_object();
    json.member("window", each.text_of("window"));
    json.member("used", each.number_of("used"));
    json.member("last", each.number_of("last"));
    json.member("began", each.text_of("began"));
    json.member("ends", each.text_of("ends"));
    json.end_object();
  }
  json.end_array();
  json.begin_array("hours");
  for (const CtlAnswer& each : hours_of(answer)) json.value(each.number);
  json.end_array();
  json.end_object();
  return out + "\n";
}

std::string usage_text(const std::string& heading, const CtlAnswer& answer) {
  std::vector<std::vector<std::string>> lines = {{"WINDOW", "USED", "LAST", "BEGAN", "ENDS"}};
  for (std::size_t i = 0; i + 1 < answer.items.size(); ++i) {
    const CtlAnswer& each = answer.items[i];
    lines.push_back({each.text_of("window"), each.text_of("used"), each.text_of("last"),
                     each.text_of("began"), each.text_of("ends")});
  }
  std::string hours;
  for (const CtlAnswer& each : hours_of(answer)) hours += " " + std::to_string(each.number);
  return heading + table(std::move(lines)) + "the last 24 hours, the oldest first:" + hours + "\n";
}

int usage(const UsageFlags& flags) {
  const bool several = flags.server.urls.size() > 1;
  std::vector<std::string> words = {"WEIR.USAGE", "LIMIT", flags.limit, "AS"};
  words.insert(words.end(), flags.attributes.begin(), flags.attributes.end());
  return ask_each(flags.server, [&](const ServerFlags::Named& each) {
    const CtlAnswer answer = ask(*flags.server.connect(each), words);
    const std::string heading = several ? core::printable(each.name) + ":\n" : "";
    print(flags.json ? usage_json(each.name, answer) : usage_text(heading, answer));
  });
}

}  // namespace

void add_ctl_usage(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<UsageFlags>();
  CLI::App* app = ctl.add_subcommand("usage", "Tell how much of a limit that is tracked a key has used");
  app->add_option("LIMIT", flags->limit, "the limit of the file")->required();
  app->add_option("KEY", flags->attributes, "attribute=value, for all that the limit counts by")->required();
  app->add_flag("--json", flags->json, "print a line of JSON for each server");
  add_server_to(*app, flags->server, true);
  app->callback([flags, &result] { result = usage(*flags); });
}

}  // namespace weir::cli
