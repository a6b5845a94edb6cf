// weir ctl overrides: what operators have changed and has not ended; and that again, after a loss.
#include "cli/ctl_overrides.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cli/ctl.hpp"
#include "cli/ctl_restore.hpp"
#include "cli/print.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct OverridesFlags {
  ServerFlags server;
  std::string limit;
  bool json = false;
  std::string restore;  // a file
  bool yes = false;
};

// An override, and the servers that tell of it: all, where they share a store.
struct ToldBy {
  CtlAnswer row;
  std::vector<std::string> servers;
};

bool says_the_same(const CtlAnswer& a, const CtlAnswer& b) {
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const CtlAnswer& left, const CtlAnswer& right) {
                      return left.number == right.number && left.text == right.text;
                    });
}

void merge(std::vector<CtlAnswer> rows, const std::string& server, std::vector<ToldBy>& into) {
  std::unordered_multimap<std::string, std::size_t> known;
  for (std::size_t i = 0; i < into.size(); ++i) known.emplace(into[i].row.text_of("number"), i);
  for (CtlAnswer& row : rows) {
    const auto [first, last] = known.equal_range(row.text_of("number"));
    const auto same = std::find_if(
        first, last, [&](const auto& each) { return says_the_same(into[each.second].row, row); });
    if (same == last) {
      into.push_back({std::move(row), {server}});
    } else {
      into[same->second].servers.push_back(server);
    }
  }
}

std::string overrides_json(const std::vector<ToldBy>& all, bool several) {
  std::string out;
  for (const ToldBy& each : all) {
    append_json(each.row, several ? each.servers : std::vector<std::string>{}, out);
    out += '\n';
  }
  return out;
}

// `servers`: how many were asked.
std::string overrides_text(const std::vector<ToldBy>& all, std::size_t servers) {
  if (all.empty()) return "no override is in force\n";
  std::vector<std::vector<std::string>> lines = {
      {"NUMBER", "KIND", "LIMIT", "WHEN", "RATE", "UNTIL", "SET", "BY", "REASON"}};
  for (const auto& [row, told_by] : all) {
    const std::string rate = row.text_of("rate");
    lines.push_back({row.text_of("number"), row.text_of("kind"), row.text_of("limit"), row.text_of("when"),
                     rate.empty() ? "-" : rate, row.text_of("until"), row.text_of("set_at"),
                     row.text_of("user"), row.text_of("reason")});
  }
  if (servers == 1) return table(std::move(lines));
  lines.front().insert(lines.front().begin(), "SERVER");
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string which;
    for (const std::string& each : all[i].servers) which += (which.empty() ? "" : ",") + each;
    lines[i + 1].insert(lines[i + 1].begin(), all[i].servers.size() == servers ? "all" : which);
  }
  return table(std::move(lines));
}

int list_overrides(const OverridesFlags& flags) {
  const std::size_t servers = flags.server.servers().size();
  std::size_t answered = 0;
  std::vector<ToldBy> all;
  const int result = ask_each(flags.server, [&](const ServerFlags::Named& each) {
    merge(all_overrides(flags.server, each, flags.limit), each.name, all);
    ++answered;
  });
  if (answered == 0) return result;
  // The oldest first, as each has told them.
  const auto place = [](const ToldBy& each) {
    return std::make_tuple(each.row.text_of("set_at"), each.row.number_of("number"), each.servers.front());
  };
  if (servers > 1)
    std::sort(all.begin(), all.end(),
              [&place](const ToldBy& a, const ToldBy& b) { return place(a) < place(b); });
  print(flags.json ? overrides_json(all, servers > 1) : overrides_text(all, servers));
  return result;
}

}  // namespace

std::vector<CtlAnswer> all_overrides(const ServerFlags& flags, const ServerFlags::Named& named,
                                     const std::string& limit) {
  constexpr std::size_t kPage = 100;
  const auto server = flags.connect(named);
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
  CLI::Option* restore =
      app->add_option("--restore", flags->restore, "set again what export, or this with --json, has written")
          ->type_name("FILE")
          ->excludes("--limit");
  app->add_flag("--yes", flags->yes, "do not ask before it restores; needed off a terminal")->needs(restore);
  add_server_to(*app, flags->server, true);
  app->callback([flags, &result] {
    if (flags->restore.empty()) {
      result = list_overrides(*flags);
      return;
    }
    if (flags->server.servers().size() > 1)
      throw std::runtime_error("--restore is of one server: --url more than once is not allowed with it");
    result =
        run_for_operator([&] { restore_overrides(flags->server, flags->restore, flags->yes, flags->json); });
  });
}

}  // namespace weir::cli
