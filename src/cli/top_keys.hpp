// The most denied keys of servers: asked of each, added up, printed.
//
// Plain values; top_of() blocks. Not for: when to ask (top_watch.hpp), and what a terminal shows
// (top_view.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/server_connection.hpp"

namespace weir::inline v0_1::cli {

struct TopKey {
  std::string limit;
  std::string key;
  std::int64_t count = 0;  // the true one is from count - error to count
  std::int64_t error = 0;
  bool banned = false;  // by a ban of it

  std::string_view what(bool by_cost) const { return banned ? "banned" : by_cost ? "charged" : "denied"; }
};

// What one server said, or why it said nothing.
struct ServerTop {
  std::string server;
  std::string wrong;  // empty: it answered
  bool refused = false;
  std::string by;
  std::int64_t seconds = 0;
  std::int64_t total = 0;
  std::int64_t keys = 0;
  std::int64_t banned = 0;
  std::vector<TopKey> top;
};

// Asks for as many as a server tells. Throws as ask() does.
ServerTop top_of(ServerConnection& server, const std::string& limit, const std::string& by);

// The keys of all, counts and errors added, the greatest first.
std::vector<TopKey> added_up(const std::vector<ServerTop>& servers);

std::string top_text(const std::vector<ServerTop>& servers, std::size_t most);
// One document: {"by", "servers": [...], "top": [...]}.
std::string top_json(const std::vector<ServerTop>& servers, const std::string& by, std::size_t most);

}  // namespace weir::cli
