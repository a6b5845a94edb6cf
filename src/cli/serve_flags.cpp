#include "cli/serve_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "cli/option_table.hpp"
#include "cli/values.hpp"
#include "cli/version.hpp"

namespace weir::inline v0_1::cli {
namespace {

using server::Settings;

// These say something about the store; without one they would say it to nobody.
constexpr std::array kOfTheStore = {
    "on-store-error", "store-deadline", "local-share",      "no-remember-denials", "denial-memory",
    "merge",          "lease",          "lease-for",        "store-tls-ca",        "store-tls-cert",
    "store-tls-key",  "store-tls-name", "ready-needs-store"};

void need_a_store(const CLI::App& app) {
  for (const char* name : kOfTheStore) {
    if (app.count(std::string("--") + name) > 0)
      throw std::runtime_error(std::string(name) + " needs --store");
  }
}

// These say something about `--rls-xds`.
constexpr std::array kOfXds = {
    "rls-xds-node", "rls-xds-metadata", "rls-xds-header",   "rls-xds-retry",   "rls-xds-max-message",
    "rls-xds-tls",  "rls-xds-tls-ca",   "rls-xds-tls-cert", "rls-xds-tls-key", "rls-xds-tls-name"};

std::pair<std::string, std::string> parse_pair(const std::string& flag, const std::string& text) {
  const std::size_t at = text.find('=');
  // What follows may be a secret.
  if (at == std::string::npos || at == 0)
    throw std::runtime_error(flag + ": '" + text.substr(0, at) + "' is not NAME=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

std::pair<std::string, std::string> parse_header(const std::string& flag, const std::string& text) {
  auto [name, value] = parse_pair(flag, text);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
    const bool known = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!known) throw std::runtime_error(flag + ": '" + name + "' is not the name of a header");
  }
  if (!std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
    throw std::runtime_error(flag + ": the value of '" + name + "' is not printable ASCII");
  return {name, value};
}

void judge_xds(const ServeFlags& flags, const CLI::App& app, Settings& settings) {
  if (flags.rls_xds.empty()) {
    for (const char* name : kOfXds) {
      if (app.count(std::string("--") + name) > 0)
        throw std::runtime_error(std::string(name) + " needs --rls-xds");
    }
    return;
  }
  if (!settings.rls_config.empty())
    throw std::runtime_error("rls-config and rls-xds cannot be given together: one of them has the limits");
  server::XdsSettings xds = flags.xds;
  xds.text = flags.rls_xds;
  xds.server = parse_endpoint("rls-xds", flags.rls_xds);
  for (const std::string& each : flags.rls_xds_metadata)
    xds.metadata.push_back(parse_pair("rls-xds-metadata", each));
  for (const std::string& each : flags.rls_xds_headers)
    xds.headers.push_back(parse_header("rls-xds-header", each));
  const std::size_t comma = std::min(flags.rls_xds_retry.find(','), flags.rls_xds_retry.size());
  const std::chrono::milliseconds least{100};
  xds.retry_first = parse_time("rls-xds-retry", flags.rls_xds_retry.substr(0, comma), least);
  xds.retry_most = comma < flags.rls_xds_retry.size()
                       ? parse_time("rls-xds-retry", flags.rls_xds_retry.substr(comma + 1), xds.retry_first)
                       : xds.retry_first;
  xds.most_message = parse_bytes("rls-xds-max-message", flags.rls_xds_max_message, 1);
  xds.tls = flags.rls_xds_tls || !xds.tls_ca.empty() || !xds.tls_cert.empty() || !xds.tls_key.empty() ||
            !xds.tls_name.empty();
  settings.rls_xds = std::move(xds);
}

// These say something about `--rls`.
constexpr std::array kOfRls = {"rls-headers",     "rls-dynamic-metadata",   "rls-on-bad-request",
                               "rls-shadow-mode", "rls-quota-mode",         "rls-charge",
                               "rls-stats-names", "grpc-max-connection-age"};

void judge_rls(const ServeFlags& flags, const CLI::App& app, Settings& settings) {
  if (flags.rls.empty()) {
    for (const char* name : kOfRls) {
      if (app.count(std::string("--") + name) > 0)
        throw std::runtime_error(std::string(name) + " needs --rls");
    }
  }
  rls::RlsOptions& options = settings.rls_options;
  options.bad_is_error = flags.rls_on_bad_request == "error";
  options.others_free = flags.rls_charge == "others-free";
  options.max_age =
      parse_time("grpc-max-connection-age", flags.grpc_max_connection_age, std::chrono::seconds{1});
  options.headers_of_answers = flags.rls_headers == "answers";
  if (flags.rls_headers.empty() || options.headers_of_answers) return;
  std::size_t at = 0;
  std::string_view rest = flags.rls_headers;
  for (std::string& name : options.headers) {
    const std::size_t comma = rest.find(',');
    name = rest.substr(0, comma);
    at += name.empty() ? 0 : 1;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  const auto is_name = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' || c == ',';
  };
  if (at != options.headers.size() || !rest.empty() ||
      !std::all_of(flags.rls_headers.begin(), flags.rls_headers.end(), is_name))
    throw std::runtime_error(
        "rls-headers: '" + flags.rls_headers +
        "' is neither answers nor three names, as in RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset");
}

void judge_store(const ServeFlags& flags, Settings& settings) {
  redis::SharedStore::Options& options = settings.store_options;
  options.deadline = parse_time("store-deadline", flags.store_deadline, std::chrono::milliseconds{1});
  options.local_share = parse_share("local-share", flags.local_share);
  options.remember_denials = !flags.no_remember_denials;
  settings.store_sharing = {
      .lease = flags.lease,
      .lease_for = parse_time("lease-for", flags.lease_for, std::chrono::milliseconds{1}),
      .merge = flags.merge};
  if (flags.on_store_error == "allow") settings.on_store_error = OnStoreError::allow;
  if (flags.on_store_error == "deny") settings.on_store_error = OnStoreError::deny;
  if (flags.store.empty()) return;
  auto endpoint = redis::Endpoint::parse(flags.store);
  if (!endpoint) throw std::runtime_error(endpoint.error());
  settings.store_text = endpoint->text();
  settings.store = std::move(*endpoint);
}

}  // namespace

void add_serve_flags(CLI::App& app, ServeFlags& flags) {
  // Wider than CLI11's 30, so that most flags take one line and all of them fit a screen.
  auto formatter = std::make_shared<CLI::Formatter>();
  formatter->column_width(38);
  app.formatter(formatter);
  Settings& s = flags.settings;
  const auto file = [&app](const char* name, std::string& path, const char* what) {
    app.add_option(name, path, what)->type_name("FILE");
  };
  const auto time = [&app](const char* name, std::string& text, const char* what) {
    app.add_option(name, text, what)->type_name("TIME")->capture_default_str();
  };
  // Validators describe themselves at length; the text says it shorter.
  const auto number = [&app](const char* name, auto& value, int most, const char* what) {
    app.add_option(name, value, what)
        ->type_name("N")
        ->check(CLI::Range(1, most).description(""))
        ->capture_default_str();
  };
  const auto choice = [&app](const char* name, std::string& word, const std::vector<std::string>& words,
                             const char* what) {
    take_only(*app.add_option(name, word, what)->capture_default_str(), words);
  };
  app.add_option("--resp", flags.resp, "listen here; may be repeated; with =ROLE nobody has more")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  file("--unix-socket", flags.unix_socket, "listen on a Unix socket, mode 0660; =ROLE too");
  app.add_option("--http", flags.http, "speak HTTP here; may be repeated; unix:/PATH and =ROLE too")
      ->type_name("HOST:PORT");
  app.add_option("--rls", flags.rls, "Envoy's rate limit service here; repeatable; unix:/PATH too")
      ->type_name("HOST:PORT");
  app.add_option("--admin", flags.admin, "metrics and health here; repeatable; unix:/PATH, =ROLE too")
      ->type_name("HOST:PORT");
  app.add_option("--admin-name", s.admin_names, "a host name by which browsers reach us; may be repeated")
      ->type_name("NAME");
  app.add_flag("--ready-needs-store", s.ready_needs_store, "/readyz says no while the store does not decide");
  number("--threads", s.threads, 256, "event loops, up to 256 [one for each core]");
  const auto size = [&app](const char* name, std::string& text, const char* what) {
    app.add_option(name, text, what)->type_name("SIZE")->capture_default_str();
  };
  size("--memory", flags.memory, "resident memory: 8 MiB for the program, the rest for keys");
  choice("--when-full", flags.when_full, {"deny", "allow"}, "what new keys get when every slot is in use");
  number("--max-connections", s.max_connections, 1'000'000, "connections at once");
  number("--max-waiters", s.max_waiters, 1'000'000, "how many may wait for their moment at once");
  size("--reservation-memory", flags.reservation_memory, "most for reservations and pauses");
  size("--penalty-memory", flags.penalty_memory, "most for how often keys were breached");
  size("--client-memory", flags.client_memory, "most that they make it keep; the largest are closed");
  time("--stall-timeout", flags.stall_timeout, "close after this long with half a command or unread replies");
  time("--drain-grace", flags.drain_grace, "at the end serve on for this long, while /readyz says no");
  time("--max-wait", flags.max_wait, "the longest that a reservation may ask to wait, up to 24h");
  time("--max-overdraft", flags.max_overdraft, "longest that charges may lock a limit beyond its burst");
  app.add_flag("--allow-refunds", s.allow_refunds, "take WEIR.REFUND for limits that do not say so, too");
  file("--users", s.users, "users, their roles and secrets; read again when it changes");
  app.add_option("--user", s.user, "name for AUTH")
      ->type_name("NAME")
      ->envname("WEIR_USER")
      ->capture_default_str();
  app.add_option("--password", s.password, "password for AUTH; better in the environment or the file")
      ->type_name("WORD")
      ->envname("WEIR_PASSWORD");
  app.add_option("--http-token", s.http_token, "bearer token for HTTP")
      ->type_name("WORD")
      ->envname("WEIR_HTTP_TOKEN");
  app.add_option("--headers", s.headers, "the form of RateLimit fields, whatever the limits file says")
      ->type_name("FORM")
      ->check(CLI::IsMember({"ratelimit-11", "draft-06", "x-ratelimit", "x-ratelimit-epoch", "off"}));
  app.add_option("--rls-headers", flags.rls_headers,
                 "tell Envoy's clients these: LIMIT,REMAINING,RESET; or answers")
      ->type_name("NAMES");
  app.add_flag("--rls-dynamic-metadata", s.rls_options.metadata, "tell Envoy's other filters what was asked");
  app.add_flag("--rls-stats-names", s.rls_options.stats_names,
               "metrics by envoyproxy/ratelimit's names, too");
  app.add_flag("--rls-shadow-mode", s.rls_options.shadow,
               "deny no request of Envoy's, and tell what would be");
  app.add_flag("--rls-quota-mode", s.rls_options.quota,
               "all limits of --rls-config or --rls-xds are in quota mode");
  choice("--rls-charge", flags.rls_charge, {"each", "others-free"},
         "what Envoy's descriptors are charged when one is over");
  choice("--rls-on-bad-request", flags.rls_on_bad_request, {"deny", "error"},
         "what a message gets that cannot be asked about");
  time("--grpc-max-connection-age", flags.grpc_max_connection_age,
       "then a client of gRPC is told to connect again");
  file("--tls-cert", s.tls_cert, "certificate chain (PEM): TCP listeners speak TLS");
  file("--tls-key", s.tls_key, "its private key (PEM)");
  file("--tls-ca", s.tls_ca, "clients must show a certificate signed by this one (PEM)");
  app.add_option("--tls-client-name", s.tls_client_name, "which must be for this host (DNS)")
      ->type_name("NAME");
  app.add_option("--store", flags.store, "Redis or Valkey that counts, as in redis://HOST:6379")
      ->type_name("URL")
      ->envname("WEIR_STORE");
  choice("--on-store-error", flags.on_store_error, {"local", "allow", "deny"},
         "fallback while the store does not answer");
  time("--store-deadline", flags.store_deadline, "longest wait for the store");
  app.add_option("--local-share", flags.local_share, "share of each limit for the fallback 'local'")
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_flag("--no-remember-denials", flags.no_remember_denials,
               "ask the store again about a key just denied");
  size("--denial-memory", flags.denial_memory, "for keys just denied, which it is not asked about");
  app.add_flag("--merge", flags.merge, "one call at a time for each key; later checks share the next");
  number("--lease", flags.lease, 1'000'000'000, "units of a key taken from the store at a time; 1: none");
  time("--lease-for", flags.lease_for, "what is left of them then goes back");
  file("--store-tls-ca", s.store_tls_ca, "CA of the store's certificate (PEM) [the system's]");
  file("--store-tls-cert", s.store_tls_cert, "certificate chain for the store (PEM)");
  file("--store-tls-key", s.store_tls_key, "its private key (PEM)");
  app.add_option("--store-tls-name", s.store_tls_name, "whom the store's certificate names [its host]")
      ->type_name("NAME");
  file("--limits", s.limits, "limits file, for WEIR.CHECK; read again when it changes");
  app.add_option("--rls-config", s.rls_config,
                 "folder of envoyproxy/ratelimit's files; read again on changes")
      ->type_name("FOLDER");
  app.add_option("--rls-xds", flags.rls_xds, "xDS server that has Envoy's rate limits")
      ->type_name("HOST:PORT");
  app.add_option("--rls-xds-node", flags.xds.node, "the node that it knows")
      ->type_name("ID")
      ->capture_default_str();
  app.add_option("--rls-xds-metadata", flags.rls_xds_metadata, "metadata of that node; may be repeated")
      ->type_name("KEY=VALUE");
  app.add_option("--rls-xds-header", flags.rls_xds_headers, "header for the server; may be repeated")
      ->type_name("NAME=VALUE");
  app.add_option("--rls-xds-retry", flags.rls_xds_retry, "connect again after this long, and at most that")
      ->type_name("TIME,TIME")
      ->capture_default_str();
  size("--rls-xds-max-message", flags.rls_xds_max_message, "the longest message that is taken of it");
  app.add_flag("--rls-xds-tls", flags.rls_xds_tls, "speak TLS to it; the next four do too");
  file("--rls-xds-tls-ca", flags.xds.tls_ca, "CA of its certificate (PEM) [the system's]");
  file("--rls-xds-tls-cert", flags.xds.tls_cert, "certificate chain for it (PEM)");
  file("--rls-xds-tls-key", flags.xds.tls_key, "its private key (PEM)");
  app.add_option("--rls-xds-tls-name", flags.xds.tls_name, "whom its certificate names [its host]")
      ->type_name("NAME");
  app.add_flag("--rls-merge-domains", s.rls_merge_domains, "several of them may say one domain");
  choice("--rls-algorithm", flags.rls_algorithm, {"fixed_window", "gcra"}, "how their limits are counted");
  app.add_option("--top", s.top, "keys that WEIR.TOP tells apart, in each loop; 0: none")
      ->type_name("N")
      ->check(CLI::Range(0, 65'536).description(""))
      ->capture_default_str();
  number("--top-sample", s.top_sample, 1'000'000, "of that many units charged it counts one");
  app.add_flag("--top-hash", s.top_hash, "it tells keys by a hash");
  size("--track-memory", flags.track_memory, "most for what keys have used, for WEIR.USAGE");
  file("--snapshot", s.snapshot, "start from this file, save to it: restarts keep debts");
  time("--snapshot-every", flags.snapshot_every, "time between saves");
  app.add_flag("--ignore-bad-snapshot", s.ignore_bad_snapshot, "put a damaged snapshot aside, start empty");
  file("--audit", s.audit, "write what operators change here, as a chain of hashes");
  app.add_flag("--audit-required", s.audit_required, "change nothing that cannot be written there");
  app.add_option("--events", s.events, "tell these of denials, bans, failures; unix:PATH and URLs too")
      ->type_name("FILE");
  app.add_option("--takeover", s.takeover, "take over from the server there, then wait for the next")
      ->type_name("PATH");
  app.add_flag("--allow-shutdown", s.allow_shutdown, "take SHUTDOWN from other machines too");
  app.add_flag("--insecure", s.insecure, "listen beyond loopback without password or TLS");
  choice("--log-level", flags.log_level, {"debug", "info", "warn", "warning", "error", "off"},
         "the least that is logged");
  choice("--log-format", flags.log_format, {"text", "json"}, "lines of the log as text or JSON");
  file("--config", flags.config, "file with any of these, one 'name = value' a line");
}

Settings settings_from(const ServeFlags& flags, const CLI::App& app) {
  Settings settings = flags.settings;
  settings.commit = kCommit;
  for (const std::string& text : flags.resp) {
    if (!text.empty()) settings.resp.push_back(parse_capped_address("resp", text));
  }
  settings.unix_socket = flags.unix_socket;
  settings.most_by_unix_socket = take_role("unix-socket", settings.unix_socket);
  for (const std::string& text : flags.http) {
    if (!text.empty()) settings.http.push_back(parse_capped_address("http", text));
  }
  judge_rls(flags, app, settings);
  for (const std::string& text : flags.rls) {
    if (!text.empty()) settings.rls.push_back(parse_address("rls", text));
  }
  for (const std::string& text : flags.admin) {
    if (!text.empty()) settings.admin.push_back(parse_capped_address("admin", text));
  }
  for (std::string& each : settings.admin_names) {
    for (char& c : each) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  settings.memory = parse_bytes("memory", flags.memory, 1_MiB);
  settings.reservation_memory = parse_bytes("reservation-memory", flags.reservation_memory, 1_MiB);
  settings.penalty_memory = parse_bytes("penalty-memory", flags.penalty_memory, std::size_t{64} << 10);
  settings.track_memory = parse_bytes("track-memory", flags.track_memory, 1);
  settings.denial_memory = parse_bytes("denial-memory", flags.denial_memory, std::size_t{4} << 10);
  settings.client_memory = parse_bytes("client-memory", flags.client_memory, 1_MiB);
  settings.when_full = flags.when_full == "allow" ? WhenFull::allow : WhenFull::deny;
  settings.snapshot_every = parse_time("snapshot-every", flags.snapshot_every, std::chrono::milliseconds{10});
  settings.stall_timeout = std::chrono::ceil<std::chrono::seconds>(
      parse_time("stall-timeout", flags.stall_timeout, std::chrono::seconds{1}));
  settings.drain_grace = std::chrono::ceil<std::chrono::milliseconds>(
      parse_time("drain-grace", flags.drain_grace, std::chrono::nanoseconds{0}));
  if (settings.drain_grace > std::chrono::hours{1})
    throw std::runtime_error("drain-grace: " + flags.drain_grace + " is above the maximum (1h)");
  settings.max_wait = std::chrono::floor<std::chrono::milliseconds>(
      parse_time("max-wait", flags.max_wait, std::chrono::milliseconds{1}));
  if (settings.max_wait > std::chrono::hours{24})
    throw std::runtime_error("max-wait: " + flags.max_wait + " is above the maximum (24h)");
  settings.store_options.longest_wait = settings.max_wait;
  settings.max_overdraft = parse_time("max-overdraft", flags.max_overdraft, std::chrono::nanoseconds{0});
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    throw std::runtime_error("tls-cert and tls-key must be given together");
  }
  if (!settings.tls_ca.empty() && settings.tls_cert.empty()) {
    throw std::runtime_error("tls-ca needs tls-cert and tls-key");
  }
  if (!settings.tls_client_name.empty() && settings.tls_ca.empty())
    throw std::runtime_error("tls-client-name needs tls-ca");
  if (flags.rls_algorithm == "gcra") settings.rls_algorithm = Algorithm::gcra;
  judge_xds(flags, app, settings);
  if (settings.rls_config.empty() && !settings.rls_xds &&
      (settings.rls_merge_domains || app.count("--rls-algorithm") > 0))
    throw std::runtime_error("rls-merge-domains and rls-algorithm need rls-config or rls-xds");
  if (settings.audit_required && settings.audit.empty())
    throw std::runtime_error("audit-required needs audit");
  judge_store(flags, settings);
  if (!settings.store) need_a_store(app);
  return settings;
}

}  // namespace weir::cli
