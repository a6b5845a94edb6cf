// The settings of `weir serve`. The command line and the configuration file fill it; the rest of this folder
// reads it; nothing changes it after the start.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "limits/descriptors.hpp"
#include "redis/shared_store.hpp"
#include "rls/rls_loop.hpp"
#include "steering/actor.hpp"
#include "weir/algorithm.hpp"
#include "weir/memory.hpp"

namespace weir::inline v0_1::server {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;  // 0: any free one
};

// Where to listen: TCP, or a Unix socket.
struct ListenAddress {
  HostPort tcp;
  std::string unix_socket;                      // its path; empty: TCP
  steering::Role most = steering::Role::admin;  // that anybody has there
};

// A listening socket that this process was given: by systemd, or by the process that it takes over from.
struct GivenSocket {
  std::string flag;    // resp, unix-socket, http, rls, admin
  std::string wanted;  // as it was asked for when it was opened: its port may have been 0
  std::string address;
  int descriptor;
};

// Where Envoy's rate limits come from, when an xDS server has them.
struct XdsSettings {
  HostPort server;
  std::string text;  // the same, as it was given
  std::string node = "default";
  std::vector<std::pair<std::string, std::string>> metadata;  // of the node
  std::vector<std::pair<std::string, std::string>> headers;   // of the stream; they may be secrets
  std::chrono::nanoseconds retry_first = std::chrono::seconds{10};
  std::chrono::nanoseconds retry_most = std::chrono::seconds{60};
  std::size_t most_message = 4_MiB;
  bool tls = false;
  std::string tls_ca;
  std::string tls_cert;  // and key: what we show it
  std::string tls_key;
  std::string tls_name;  // of the certificate; empty: the host
};

// What a server in the place of envoyproxy/ratelimit shows beside its gRPC, each page on an address of its
// own.
struct RatelimitPages {
  ListenAddress health;
  ListenAddress config;                  // what is in force
  std::optional<ListenAddress> metrics;  // at `metrics_path`
  std::string metrics_path;
  bool needs_domain = false;  // it is not healthy before there is one
  bool needs_store = false;   // nor while the store does not decide
};

struct Settings {
  std::string commit;  // of the sources, to be told
  std::vector<ListenAddress> resp;
  std::string unix_socket;  // RESP too; empty: none
  steering::Role most_by_unix_socket = steering::Role::admin;
  std::vector<ListenAddress> http;
  std::vector<ListenAddress> rls;  // Envoy's rate limit service, over gRPC
  rls::RlsOptions rls_options;
  std::vector<ListenAddress> admin;      // metrics and health
  std::vector<std::string> admin_names;  // hosts by which pages may ask, in lower case
  std::optional<RatelimitPages> ratelimit;
  std::vector<GivenSocket> given;  // of those above; the others are opened
  std::string takeover;            // where the process in charge listens for the next one; empty: nowhere
  bool ready_needs_store = false;  // /readyz says no while the store does not decide
  unsigned threads = 1;
  std::size_t memory = 64_MiB;
  WhenFull when_full = WhenFull::deny;
  std::size_t max_connections = 10'000;
  std::size_t max_waiters = 10'000;  // that wait for a moment
  std::size_t reservation_memory = 64_MiB;
  std::size_t penalty_memory = 8_MiB;
  std::size_t client_memory = 128_MiB;  // all that connections may make the server keep
  // A connection whose command stays half sent, whose replies are not taken, or that does not authenticate
  // for this long is closed. Idle connections are left alone: clients keep pools.
  std::chrono::seconds stall_timeout{30};
  std::chrono::milliseconds drain_grace{0};  // from when it says that it leaves until it stops accepting
  std::chrono::milliseconds max_wait = std::chrono::hours{1};  // that a reservation may ask for
  std::chrono::nanoseconds max_overdraft = std::chrono::hours{24};
  bool allow_refunds = false;   // of limits that do not say so, too
  bool allow_shutdown = false;  // from beyond loopback and the Unix socket
  // Of a server for one user: it ends when nobody has been connected for that long, or the file of its Unix
  // socket has gone, which nobody else may open.
  struct Local {
    std::chrono::nanoseconds idle{0};
  };
  std::optional<Local> local{};
  // Time stands still at this moment of the wall clock, until WEIR.TIME ADVANCE. With one thread, and no
  // store.
  std::optional<std::chrono::nanoseconds> virtual_now{};
  bool insecure = false;      // allows a listener beyond loopback without password and TLS
  bool warn_of_reach = true;  // of each such listener

  std::string users;  // the users file; empty: none
  std::string user = "default";
  std::string password;
  std::string http_token;  // of a bearer; the user and the password are taken too

  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;           // with it, clients must show a certificate that it signed
  std::string tls_client_name;  // and that names this host

  // A Redis or Valkey that counts, shared with others; empty: the embedded store counts.
  std::optional<redis::Endpoint> store;
  std::string store_text;  // the same for display, without the password
  redis::SharedStore::Options store_options;
  std::size_t denial_memory = redis::DenialMemory::kBytes;  // for those that it need not be asked for again
  OnStoreError on_store_error = OnStoreError::local;
  store::Sharing store_sharing{.lease = 1};  // of the rules that come with requests
  std::string store_tls_ca;
  std::string store_tls_cert;  // and key: what we show it
  std::string store_tls_key;
  std::string store_tls_name;  // of its certificate; empty: the host

  std::size_t top = 1024;         // keys that a loop tells apart of those that are denied, or charged, most
  std::uint64_t top_sample = 16;  // of as many units that are charged, one is counted
  bool top_hash = false;          // keys are told by a hash
  std::size_t track_memory = 16_MiB;  // most for what keys of limits that are tracked have used

  std::string limits;  // the limits file; empty: none
  // A folder of envoyproxy/ratelimit's files; empty: none.
  std::string rls_config;
  std::optional<XdsSettings> rls_xds;  // in its place
  bool rls_merge_domains = false;
  // It starts, and answers UNKNOWN, while the folder cannot be used and before the xDS server has sent
  // limits.
  bool rls_config_later = false;
  Algorithm rls_algorithm = limits::kEnvoysAlgorithm;
  std::string headers;  // the form of RateLimit fields; empty: as the limits file says

  std::string snapshot;
  std::chrono::nanoseconds snapshot_every = std::chrono::minutes{1};
  bool ignore_bad_snapshot = false;

  std::string audit;                // the file of what operators change; empty: it is kept in memory alone
  bool audit_required = false;      // what cannot be written there must not happen
  std::vector<std::string> events;  // where they go: files, unix:PATH, URLs
};

}  // namespace weir::server
