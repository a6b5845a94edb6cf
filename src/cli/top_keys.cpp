#include "cli/top_keys.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "cli/ctl_answer.hpp"
#include "core/json_writer.hpp"

namespace weir::inline v0_1::cli {

ServerTop top_of(ServerConnection& server, const std::string& limit, const std::string& by) {
  constexpr const char* kMostAsked = "1024";
  std::vector<std::string> words = {"WEIR.TOP", "BY", by, "COUNT", kMostAsked};
  if (!limit.empty()) words.insert(words.end(), {"LIMIT", limit});
  const CtlAnswer answer = ask(server, words);
  if (answer.items.empty() || answer.items.front().find("total") == nullptr)
    throw std::runtime_error("unexpected answer: this is not a weir server");
  const CtlAnswer& about = answer.items.front();
  ServerTop top;
  top.by = by;
  top.seconds = about.number_of("seconds");
  top.total = about.number_of("total");
  top.keys = about.number_of("keys");
  top.banned = about.number_of("banned");
  for (std::size_t i = 1; i < answer.items.size(); ++i) {
    const CtlAnswer& row = answer.items[i];
    top.top.push_back({row.text_of("limit"), row.text_of("key"), row.number_of("count"),
                       row.number_of("error"), row.number_of("banned") != 0});
  }
  return top;
}

std::vector<TopKey> added_up(const std::vector<ServerTop>& servers) {
  std::map<std::tuple<std::string_view, std::string_view, bool>, std::pair<std::int64_t, std::int64_t>> sums;
  for (const ServerTop& server : servers) {
    for (const TopKey& each : server.top) {
      auto& [count, error] = sums[{each.limit, each.key, each.banned}];
      count += each.count;
      error += each.error;
    }
  }
  std::vector<TopKey> all;
  for (const auto& [of, sum] : sums) {
    const auto& [limit, key, banned] = of;
    all.push_back({std::string(limit), std::string(key), sum.first, sum.second, banned});
  }
  std::sort(all.begin(), all.end(), [](const TopKey& a, const TopKey& b) {
    return std::tie(b.count, a.limit, a.key, a.banned) < std::tie(a.count, b.limit, b.key, b.banned);
  });
  return all;
}

std::string top_text(const std::vector<ServerTop>& servers, std::size_t most) {
  const bool by_cost = !servers.empty() && servers.front().by == "cost";
  std::vector<std::vector<std::string>> lines = {{"COUNT", "ERROR", "WHAT", "LIMIT", "KEY"}};
  for (const TopKey& each : added_up(servers)) {
    if (lines.size() > most) break;
    lines.push_back({std::to_string(each.count), std::to_string(each.error), std::string(each.what(by_cost)),
                     each.limit, each.key});
  }
  return table(std::move(lines));
}

std::string top_json(const std::vector<ServerTop>& servers, const std::string& by, std::size_t most) {
  std::string out;
  core::JsonWriter json(out);
  json.begin_object();
  json.member("by", by);
  json.begin_array("servers");
  for (const ServerTop& each : servers) {
    json.begin_object();
    json.member("server", each.server);
    json.member("error", core::or_null(each.wrong));
    json.member("seconds", each.seconds);
    json.member("total", each.total);
    json.member("keys", each.keys);
    json.member("banned", each.banned);
    json.end_object();
  }
  json.end_array();
  json.begin_array("top");
  std::vector<TopKey> top = added_up(servers);
  top.resize(std::min(top.size(), most));
  for (const TopKey& each : top) {
    json.begin_object();
    json.member("limit", each.limit);
    json.member("key", each.key);
    json.member("count", each.count);
    json.member("error", each.error);
    json.member("banned", each.banned);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out + "\n";
}

}  // namespace weir::cli
