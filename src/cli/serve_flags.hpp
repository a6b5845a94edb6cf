// The flags of `weir serve`: one table that --help, the manual and shell completion read, and what becomes of
// their values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/duration.hpp"
#include "server/settings.hpp"
#include "weir/source.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct ServeFlags {
  std::vector<std::string> resp = {"127.0.0.1:6390"};
  std::vector<std::string> http;
  std::vector<std::string> rls;
  std::vector<std::string> admin;
  std::string unix_socket;
  std::string memory = "64MiB";
  std::string reservation_memory = "64MiB";
  std::string penalty_memory = "8MiB";
  std::string client_memory = "128MiB";
  std::string when_full = "deny";
  std::string snapshot_every = "60s";
  std::string stall_timeout = "30s";
  std::string drain_grace = "0s";
  std::string max_wait = "1h";
  std::string max_overdraft = "24h";
  std::string track_memory = "16MiB";
  std::string rls_headers;
  std::string rls_charge = "each";
  std::string rls_on_bad_request = "deny";
  std::string grpc_max_connection_age = "24h";
  std::string log_level = "info";
  std::string log_format = "text";
  std::string config;
  std::string store;
  std::string on_store_error = "local";
  std::string store_deadline = core::to_text(kStoreDeadline);
  std::string local_share = "100%";
  bool no_remember_denials = false;
  std::string denial_memory = "2MiB";
  bool merge = false;
  std::uint64_t lease = 1;
  std::string lease_for = "1s";
  std::string rls_algorithm = "fixed_window";
  std::string rls_xds;
  std::vector<std::string> rls_xds_metadata;
  std::vector<std::string> rls_xds_headers;
  std::string rls_xds_retry = "10s,60s";
  std::string rls_xds_max_message = "4MiB";
  bool rls_xds_tls = false;
  server::XdsSettings xds;
  server::Settings settings;  // those that need no translation
};

// The flags must outlive the app.
void add_serve_flags(CLI::App& app, ServeFlags& flags);

// The values, judged and translated; `app` says which were given. Throws std::runtime_error of one line.
server::Settings settings_from(const ServeFlags& flags, const CLI::App& app);

}  // namespace weir::cli
