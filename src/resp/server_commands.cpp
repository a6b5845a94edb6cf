// Commands about the server.
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "resp/commands.hpp"
#include "resp/info.hpp"

namespace weir::inline v0_1::resp {
namespace {

// The first six of the fields that Redis gives for a command: what cluster-aware clients read to find the
// keys.
void describe(Writer& to, const Command& command) {
  const bool has_keys = command.keys.first != 0;
  to.array(6);
  to.bulk(lower(command.name));
  to.integer(command.arity);
  to.array(1);
  to.simple(has_keys ? "write" : "fast");
  to.integer(command.keys.first);
  to.integer(command.keys.last);
  to.integer(has_keys ? command.keys.step : 0);
}

const Command* find_listed(std::string_view name) {
  const Command* found = find_command(name);
  return found != nullptr && !has(found->flags, Flags::unlisted) ? found : nullptr;
}

void tell_docs(RunningCommand& call) {
  const Arguments words = call.words;
  std::vector<const Command*> shown;
  for (const Command& each : listed_commands()) {
    const auto is_it = [&each](std::string_view name) { return find_listed(name) == &each; };
    if (words.size() == 2 || std::any_of(words.begin() + 2, words.end(), is_it)) shown.push_back(&each);
  }
  Writer to = call.reply();
  to.map(shown.size());
  for (const Command* each : shown) {
    to.bulk(lower(each->name));
    to.map(2);
    to.bulk("summary");
    to.bulk(each->summary());
    to.bulk("group");
    to.bulk("weir");
  }
}

}  // namespace

void run_command(RunningCommand& call) {
  const Arguments words = call.words;
  const std::string what = words.size() > 1 ? lower(words[1]) : "";
  Writer to = call.reply();
  if (what == "count") return to.integer(static_cast<std::int64_t>(listed_commands().size()));
  if (what == "docs") return tell_docs(call);
  if (!what.empty() && what != "info") return call.fail_subcommand(what);
  if (words.size() > 2) {
    to.array(words.size() - 2);
    for (const std::string_view name : words.subspan(2)) {
      if (const Command* found = find_listed(name)) {
        describe(to, *found);
      } else {
        to.null_array();
      }
    }
    return;
  }
  to.array(listed_commands().size());
  for (const Command& each : listed_commands()) describe(to, each);
}

void run_info(RunningCommand& call) {
  std::vector<std::string> sections;
  for (const std::string_view word : call.words.subspan(1)) sections.push_back(lower(word));
  const Info info = tell_info(call.service.metrics.rows(), sections);
  call.slow = info.slow;
  call.reply().verbatim(info.text);
}

void run_config(RunningCommand& call) {
  const Arguments words = call.words;
  if (lower(words[1]) != "get" || words.size() < 3) {
    return call.fail("ERR CONFIG supports only GET; settings are given when the server starts");
  }
  const service::ServiceOptions& options = call.service.options();
  const std::array<std::pair<std::string_view, std::string>, 7> known = {{
      {"save", options.snapshots ? "snapshot" : ""},
      {"appendonly", "no"},
      {"databases", "1"},
      {"timeout", "0"},
      {"maxclients", std::to_string(options.max_connections)},
      {"maxmemory", std::to_string(options.memory)},
      {"maxmemory-policy", "noeviction"},
  }};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const bool asked = std::any_of(words.begin() + 2, words.end(), [&](std::string_view word) {
      return fnmatch(lower(word).c_str(), known[i].first.data(), 0) == 0;
    });
    if (asked) found.push_back(i);
  }
  Writer to = call.reply();
  to.map(found.size());
  for (const std::size_t i : found) {
    to.bulk(known[i].first);
    to.bulk(known[i].second);
  }
}

void run_time(RunningCommand& call) {
  const auto now = std::chrono::floor<std::chrono::microseconds>(call.service.wall_now()).count();
  Writer to = call.reply();
  to.array(2);
  to.bulk(std::to_string(now / 1'000'000));
  to.bulk(std::to_string(now % 1'000'000));
}

void run_dbsize(RunningCommand& call) {
  call.slow = true;
  call.reply().integer(static_cast<std::int64_t>(call.service.live_keys()));
}

void run_lastsave(RunningCommand& call) { call.reply().integer(call.service.process.last_saved().count()); }

void run_bgsave(RunningCommand& call) {
  if (call.words.size() > 2 || (call.words.size() == 2 && lower(call.words[1]) != "schedule"))
    return call.fail("ERR syntax error");
  if (!call.service.options().snapshots)
    return call.fail("ERR there is no snapshot to write: start weir with --snapshot FILE");
  call.service.process.save_soon();
  call.reply().simple("Background saving started");
}

void run_shutdown(RunningCommand& call) {
  const std::string how = call.words.size() > 1 ? lower(call.words[1]) : "save";
  if (how != "save" && how != "nosave") return call.fail("ERR syntax error");
  if (!call.caller.peer.local && !call.service.options().allow_shutdown) {
    return call.fail(
        "NOPERM SHUTDOWN is taken from this machine only; start weir with --allow-shutdown to take it from "
        "others");
  }
  // Like Redis, no reply on success: the connection closes.
  call.caller.closing = true;
  call.service.process.shut_down(how == "save");
}

}  // namespace weir::resp
