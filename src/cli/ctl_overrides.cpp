// weir ctl overrides: what operators have changed and has not ended.
#include "cli/ctl_overrides.hpp"

#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>
#include <utility>

#include "cli/ctl.hpp"
#include "cli/print.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct OverridesFlags {
  ServerFlags server;
  std::string limit;
  bool json = false;
};

std::string overrides_text(const OverridesFlags& flags) {
  const std::vector<CtlAnswer> all = all_overrides(flags.server, flags.limit);
  std::string out;
  if (flags.json) {
    for (const CtlAnswer& each : all) {
      append_json(each, out);
      out += '\n';
    }
    return out;
  }
  if (all.empty()) return "no override is in force\n";
  std::vector<std::vector<std::string>> lines = {
      {"NUMBER", "KIND", "LIMIT", "WHEN", "RATE", "UNTIL", "SET", "BY", "REASON"}};
  for (const CtlAnswer& each : all) {
    const std::string rate = each.text_of("rate");
    lines.push_back({each.text_of("number"), each.text_of("kind"), each.text_of("limit"),
                     each.text_of("when"), rate.empty() ? "-" : rate, each.text_of("until"),
                     each.text_of("set_at"), each.text_of("user"), each.text_of("reason")});
  }
  return table(std::move(lines));
}

}  // namespace

std::vector<CtlAnswer> all_overrides(const ServerFlags& flags, const std::string& limit) {
  constexpr std::size_t kPage = 100;
  const auto server = flags.connect(flags.servers().front());
  std::vector<CtlAnswer> all;
  for (std::size_t got = kPage; got == kPage;) {
    std::vector<std::string> words = {"WEIR.OVERRIDES", "COUNT", std::to_string(kPage), "AFTER",
                                      all.empty() ? "0" : all.back().text_of("number")};
    if (!limit.empty()) words.insert(words.end(), {"LIMIT", limit});
    server->renew_patience();
    CtlAnswer page = ask(*server, words);
    got = page.items.size();
    all.insert(all.end(), std::make_move_iterator(page.items.begin()),
               std::make_move_iterator(page.items.end()));
  }
  return all;
}

void add_ctl_overrides(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<OverridesFlags>();
  CLI::App* app = ctl.add_subcommand("overrides", "List what operators have changed and has not ended");
  app->add_option("--limit", flags->limit, "only of this limit")->type_name("NAME");
  app->add_flag("--json", flags->json, "print a line of JSON for each");
  add_server_to(*app, flags->server, false);
  app->callback([flags, &result] { result = run_for_operator([&] { print(overrides_text(*flags)); }); });
}

}  // namespace weir::cli
