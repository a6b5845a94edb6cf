// The flags of `weir serve`: one table, a row for each with what becomes of its value; --help, the manual and
// shell completion read it.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/settings.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct ServeFlags {
  server::Settings settings;  // what needs no more than its row
  server::XdsSettings xds;
  std::vector<std::string> resp = {"127.0.0.1:6390"};
  std::vector<std::string> http;
  std::vector<std::string> rls;
  std::vector<std::string> admin;
  std::string rls_headers;
  std::string store;
  std::string local_share = "100%";
  bool no_remember_denials = false;
  std::string rls_xds;
  std::vector<std::string> rls_xds_metadata;
  std::vector<std::string> rls_xds_headers;
  std::string rls_xds_retry = "10s,60s";
  std::string log_level = "info";
  std::string log_format = "text";
  std::string config;
  // Of the table: texts that are judged when all have been read, how, and which flag needs which.
  std::deque<std::string> texts{};
  std::vector<std::function<void()>> judged{};
  std::vector<std::pair<const char*, const char*>> needs{};
};

// The flags must outlive the app.
void add_serve_flags(CLI::App& app, ServeFlags& flags);

// The values, judged and translated; `app` says which were given. Throws std::runtime_error of one line.
server::Settings settings_from(ServeFlags& flags, const CLI::App& app);

}  // namespace weir::cli
