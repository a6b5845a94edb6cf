#include "cli/serve_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "cli/option_table.hpp"
#include "cli/values.hpp"
#include "cli/version.hpp"
#include "core/duration.hpp"

namespace weir::inline v0_1::cli {
namespace {

using server::Settings;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// A word that an option takes, and the value that it stands for.
template <class Value>
using Meaning = std::pair<const char*, Value>;

std::string option_of(const char* name) { return std::string("--") + name; }

// Adds rows to the table of flags. A row is a flag's name, the setting that it fills, whose value is its
// default, and its bounds; what its text means is judged when all has been read. Those of one object are
// refused without the flag `of`.
class Rows {
 public:
  Rows(CLI::App& app, ServeFlags& flags, const char* of = nullptr) : app_(app), flags_(flags), of_(of) {}
  Rows of(const char* flag) const { return {app_, flags_, flag}; }

  // A text as it is, or a list of them.
  CLI::Option* text(const char* name, auto& into, const char* type, const char* help) const {
    CLI::Option* const option = app_.add_option(option_of(name), into, help)->type_name(type);
    if (!into.empty()) option->capture_default_str();
    need(name);
    return option;
  }
  void file(const char* name, std::string& into, const char* help) const { text(name, into, "FILE", help); }
  void on(const char* name, bool& into, const char* help) const {
    app_.add_flag(option_of(name), into, help);
    need(name);
  }
  void number(const char* name, auto& into, int least, int most, const char* help) const {
    // Validators describe themselves at length; the text says it shorter.
    app_.add_option(option_of(name), into, help)
        ->type_name("N")
        ->check(CLI::Range(least, most).description(""))
        ->capture_default_str();
    need(name);
  }
  void time(const char* name, auto& into, nanoseconds least, const char* help,
            nanoseconds most = nanoseconds::max()) const {
    const std::string& text = shown(name, core::to_text(nanoseconds(into)), "TIME", help);
    take(name, [=, &text, &into] {
      const nanoseconds given = parse_time(name, text, least);
      if (given > most)
        throw std::runtime_error(std::string(name) + ": " + text + " is above the maximum (" +
                                 core::to_text(most) + ")");
      into = std::chrono::ceil<std::remove_reference_t<decltype(into)>>(given);
    });
  }
  void size(const char* name, std::size_t& into, std::size_t least, const char* help) const {
    const std::string& text = shown(name, std::to_string(into / 1_MiB) + "MiB", "SIZE", help);
    take(name, [=, &text, &into] { into = parse_bytes(name, text, least); });
  }
  template <class Value>
  void choice(const char* name, Value& into, std::initializer_list<Meaning<Value>> words,
              const char* help) const {
    const std::vector<Meaning<Value>> all = words;
    std::vector<std::string> texts;
    std::string standard;
    for (const auto& [word, value] : all) {
      texts.emplace_back(word);
      if (value == into) standard = word;
    }
    const std::string& text = shown(name, standard, "", help);
    take_only(*app_.get_option(option_of(name)), texts);
    take(name, [=, &text, &into] {
      into =
          std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == text; })->second;
    });
  }

 private:
  const std::string& shown(const char* name, std::string standard, const char* type, const char* help) const {
    std::string& text = flags_.texts.emplace_back(std::move(standard));
    app_.add_option(option_of(name), text, help)->type_name(type)->capture_default_str();
    return text;
  }
  void take(const char* name, std::function<void()> judge) const {
    need(name);
    flags_.judged.push_back([option = app_.get_option(option_of(name)), judge = std::move(judge)] {
      if (option->count() > 0) judge();
    });
  }
  void need(const char* name) const {
    if (of_ != nullptr) flags_.needs.emplace_back(name, of_);
  }

  CLI::App& app_;
  ServeFlags& flags_;
  const char* of_;
};

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

void judge_xds(const ServeFlags& flags, Settings& settings) {
  if (flags.rls_xds.empty()) return;
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
  xds.tls = xds.tls || !xds.tls_ca.empty() || !xds.tls_cert.empty() || !xds.tls_key.empty() ||
            !xds.tls_name.empty();
  settings.rls_xds = std::move(xds);
}

void judge_rls(const ServeFlags& flags, Settings& settings) {
  rls::RlsOptions& options = settings.rls_options;
  options.headers_of_answers = flags.rls_headers == "answers";
  if (flags.rls_headers.empty() || options.headers_of_answers) return;
  std::string_view rest = flags.rls_headers;
  for (std::string& name : options.headers) {
    name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  const auto is_name = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' || c == ',';
  };
  if (std::count(options.headers.begin(), options.headers.end(), "") > 0 || !rest.empty() ||
      !std::all_of(flags.rls_headers.begin(), flags.rls_headers.end(), is_name))
    throw std::runtime_error(
        "rls-headers: '" + flags.rls_headers +
        "' is neither answers nor three names, as in RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset");
}

void judge_store(const ServeFlags& flags, Settings& settings) {
  settings.store_options.local_share = parse_share("local-share", flags.local_share);
  settings.store_options.remember_denials = !flags.no_remember_denials;
  if (flags.store.empty()) return;
  auto endpoint = redis::Endpoint::parse(flags.store);
  if (!endpoint) throw std::runtime_error(endpoint.error());
  settings.store_text = endpoint->text();
  settings.store = std::move(*endpoint);
}

void judge_tls(const Settings& settings) {
  if (settings.tls_cert.empty() != settings.tls_key.empty())
    throw std::runtime_error("tls-cert and tls-key must be given together");
  if (!settings.tls_ca.empty() && settings.tls_cert.empty())
    throw std::runtime_error("tls-ca needs tls-cert and tls-key");
}

// Whether it is given, as more than an empty text, or than off.
bool says(const CLI::App& app, const char* name) {
  const CLI::Option* const option = app.get_option(option_of(name));
  if (option->count() == 0) return false;
  if (is_switch(*option)) return option->as<bool>();
  const std::vector<std::string> given = option->results();
  return std::any_of(given.begin(), given.end(), [](const std::string& each) { return !each.empty(); });
}

void judge_needs(const ServeFlags& flags, const CLI::App& app) {
  for (const auto& [name, other] : flags.needs) {
    if (says(app, name) && !says(app, other))
      throw std::runtime_error(std::string(name) + " needs " + option_of(other));
  }
}

using ParseAddress = server::ListenAddress (*)(const std::string&, const std::string&);

// An empty text names no address.
void add_addresses(const char* flag, const std::vector<std::string>& texts, ParseAddress parse,
                   std::vector<server::ListenAddress>& into) {
  for (const std::string& text : texts)
    if (!text.empty()) into.push_back(parse(flag, text));
}

constexpr const char* kAddress = "HOST:PORT";

// In the order of --help.
void add_flags_of_clients(const Rows& all, ServeFlags& flags) {
  Settings& s = flags.settings;
  all.text("resp", flags.resp, kAddress, "listen here; may be repeated; with =ROLE nobody has more");
  all.file("unix-socket", s.unix_socket, "listen on a Unix socket, mode 0660; =ROLE too");
  all.text("http", flags.http, kAddress, "speak HTTP here; may be repeated; unix:/PATH and =ROLE too");
  all.text("rls", flags.rls, kAddress, "Envoy's rate limit service here; repeatable; unix:/PATH too");
  all.text("admin", flags.admin, kAddress, "metrics and health here; repeatable; unix:/PATH, =ROLE too");
  all.text("admin-name", s.admin_names, "NAME", "a host name by which browsers reach us; may be repeated");
  all.of("store").on("ready-needs-store", s.ready_needs_store,
                     "/readyz says no while the store does not decide");
  all.number("threads", s.threads, 1, 256, "event loops, up to 256 [one for each core]");
  all.size("memory", s.memory, 1_MiB, "resident memory: 8 MiB for the program, the rest for keys");
  all.choice("when-full", s.when_full, {{"deny", WhenFull::deny}, {"allow", WhenFull::allow}},
             "what new keys get when every slot is in use");
  all.number("max-connections", s.max_connections, 1, 1'000'000, "connections at once");
  all.number("max-waiters", s.max_waiters, 1, 1'000'000, "how many may wait for their moment at once");
  all.size("reservation-memory", s.reservation_memory, 1_MiB, "most for reservations and pauses");
  all.size("penalty-memory", s.penalty_memory, std::size_t{64} << 10,
           "most for how often keys were breached");
  all.size("client-memory", s.client_memory, 1_MiB, "most that they make it keep; the largest are closed");
  all.time("stall-timeout", s.stall_timeout, 1s,
           "close after this long with half a command or unread replies");
  all.time("drain-grace", s.drain_grace, 0s, "at the end serve on for this long, while /readyz says no", 1h);
  all.time("max-wait", s.max_wait, 1ms, "the longest that a reservation may ask to wait, up to 24h", 24h);
  all.time("max-overdraft", s.max_overdraft, 0s, "longest that charges may lock a limit beyond its burst");
  all.on("allow-refunds", s.allow_refunds, "take WEIR.REFUND for limits that do not say so, too");
  all.file("users", s.users, "users, their roles and secrets; read again when it changes");
  all.text("user", s.user, "NAME", "name for AUTH")->envname("WEIR_USER");
  all.text("password", s.password, "WORD", "password for AUTH; better in the environment or the file")
      ->envname("WEIR_PASSWORD");
  all.text("http-token", s.http_token, "WORD", "bearer token for HTTP")->envname("WEIR_HTTP_TOKEN");
  all.text("headers", s.headers, "FORM", "the form of RateLimit fields, whatever the limits file says")
      ->check(CLI::IsMember({"ratelimit-11", "draft-06", "x-ratelimit", "x-ratelimit-epoch", "off"}));
}

void add_flags_of_rls(const Rows& rows, ServeFlags& flags) {
  rls::RlsOptions& rls = flags.settings.rls_options;
  rows.text("rls-headers", flags.rls_headers, "NAMES",
            "tell Envoy's clients these: LIMIT,REMAINING,RESET; or answers");
  rows.on("rls-dynamic-metadata", rls.metadata, "tell Envoy's other filters what was asked");
  rows.on("rls-stats-names", rls.stats_names, "metrics by envoyproxy/ratelimit's names, too");
  rows.on("rls-shadow-mode", rls.shadow, "deny no request of Envoy's, and tell what would be");
  rows.on("rls-quota-mode", rls.quota, "all limits of --rls-config or --rls-xds are in quota mode");
  rows.choice("rls-charge", rls.others_free, {{"each", false}, {"others-free", true}},
              "what Envoy's descriptors are charged when one is over");
  rows.choice("rls-on-bad-request", rls.bad_is_error, {{"deny", false}, {"error", true}},
              "what a message gets that cannot be asked about");
  rows.time("grpc-max-connection-age", rls.max_age, 1s, "then a client of gRPC is told to connect again");
}

void add_flags_of_store(const Rows& rows, ServeFlags& flags) {
  Settings& s = flags.settings;
  store::Sharing& sharing = s.store_sharing;
  rows.choice("on-store-error", s.on_store_error,
              {{"local", OnStoreError::local}, {"allow", OnStoreError::allow}, {"deny", OnStoreError::deny}},
              "fallback while the store does not answer");
  rows.time("store-deadline", s.store_options.deadline, 1ms, "longest wait for the store");
  rows.text("local-share", flags.local_share, "SHARE", "share of each limit for the fallback 'local'");
  rows.on("no-remember-denials", flags.no_remember_denials, "ask the store again about a key just denied");
  rows.size("denial-memory", s.denial_memory, std::size_t{4} << 10,
            "for keys just denied, which it is not asked about");
  rows.on("merge", sharing.merge, "one call at a time for each key; later checks share the next");
  rows.number("lease", sharing.lease, 1, 1'000'000'000,
              "units of a key taken from the store at a time; 1: none");
  rows.time("lease-for", sharing.lease_for, 1ms, "what is left of them then goes back");
  rows.file("store-tls-ca", s.store_tls_ca, "CA of the store's certificate (PEM) [the system's]");
  rows.file("store-tls-cert", s.store_tls_cert, "certificate chain for the store (PEM)");
  rows.file("store-tls-key", s.store_tls_key, "its private key (PEM)");
  rows.text("store-tls-name", s.store_tls_name, "NAME", "whom the store's certificate names [its host]");
}

void add_flags_of_limits(const Rows& all, ServeFlags& flags) {
  Settings& s = flags.settings;
  server::XdsSettings& xds = flags.xds;
  const Rows of_xds = all.of("rls-xds");
  all.file("limits", s.limits, "limits file, for WEIR.CHECK; read again when it changes");
  all.text("rls-config", s.rls_config, "FOLDER",
           "folder of envoyproxy/ratelimit's files; read again on changes");
  all.text("rls-xds", flags.rls_xds, kAddress, "xDS server that has Envoy's rate limits");
  of_xds.text("rls-xds-node", xds.node, "ID", "the node that it knows");
  of_xds.text("rls-xds-metadata", flags.rls_xds_metadata, "KEY=VALUE",
              "metadata of that node; may be repeated");
  of_xds.text("rls-xds-header", flags.rls_xds_headers, "NAME=VALUE",
              "header for the server; may be repeated");
  of_xds.text("rls-xds-retry", flags.rls_xds_retry, "TIME,TIME",
              "connect again after this long, and at most that");
  of_xds.size("rls-xds-max-message", xds.most_message, 1, "the longest message that is taken of it");
  of_xds.on("rls-xds-tls", xds.tls, "speak TLS to it; the next four do too");
  of_xds.file("rls-xds-tls-ca", xds.tls_ca, "CA of its certificate (PEM) [the system's]");
  of_xds.file("rls-xds-tls-cert", xds.tls_cert, "certificate chain for it (PEM)");
  of_xds.file("rls-xds-tls-key", xds.tls_key, "its private key (PEM)");
  of_xds.text("rls-xds-tls-name", xds.tls_name, "NAME", "whom its certificate names [its host]");
  all.on("rls-merge-domains", s.rls_merge_domains, "several of them may say one domain");
  all.choice("rls-algorithm", s.rls_algorithm,
             {{"fixed_window", limits::kEnvoysAlgorithm}, {"gcra", core::first_that(core::has_burst)}},
             "how their limits are counted");
}

}  // namespace

void add_serve_flags(CLI::App& app, ServeFlags& flags) {
  // Wider than CLI11's 30, so that most flags take one line and all of them fit a screen.
  auto formatter = std::make_shared<CLI::Formatter>();
  formatter->column_width(38);
  app.formatter(formatter);
  Settings& s = flags.settings;
  const Rows all(app, flags);
  add_flags_of_clients(all, flags);
  add_flags_of_rls(all.of("rls"), flags);
  all.file("tls-cert", s.tls_cert, "certificate chain (PEM): TCP listeners speak TLS");
  all.file("tls-key", s.tls_key, "its private key (PEM)");
  all.file("tls-ca", s.tls_ca, "clients must show a certificate signed by this one (PEM)");
  all.of("tls-ca").text("tls-client-name", s.tls_client_name, "NAME", "which must be for this host (DNS)");
  all.text("store", flags.store, "URL", "Redis or Valkey that counts, as in redis://HOST:6379")
      ->envname("WEIR_STORE");
  add_flags_of_store(all.of("store"), flags);
  add_flags_of_limits(all, flags);
  all.number("top", s.top, 0, 65'536, "keys that WEIR.TOP tells apart, in each loop; 0: none");
  all.number("top-sample", s.top_sample, 1, 1'000'000, "of that many units charged it counts one");
  all.on("top-hash", s.top_hash, "it tells keys by a hash");
  all.size("track-memory", s.track_memory, 1, "most for what keys have used, for WEIR.USAGE");
  all.file("snapshot", s.snapshot, "start from this file, save to it: restarts keep debts");
  all.time("snapshot-every", s.snapshot_every, 10ms, "time between saves");
  all.on("ignore-bad-snapshot", s.ignore_bad_snapshot, "put a damaged snapshot aside, start empty");
  all.file("audit", s.audit, "write what operators change here, as a chain of hashes");
  all.of("audit").on("audit-required", s.audit_required, "change nothing that cannot be written there");
  all.text("events", s.events, "FILE", "tell these of denials, bans, failures; unix:PATH and URLs too");
  all.text("takeover", s.takeover, "PATH", "take over from the server there, then wait for the next");
  all.on("allow-shutdown", s.allow_shutdown, "take SHUTDOWN from other machines too");
  all.on("insecure", s.insecure, "listen beyond loopback without password or TLS");
  take_only(*all.text("log-level", flags.log_level, "", "the least that is logged"),
            {"debug", "info", "warn", "warning", "error", "off"});
  take_only(*all.text("log-format", flags.log_format, "", "lines of the log as text or JSON"),
            {"text", "json"});
  all.file("config", flags.config, "file with any of these, one 'name = value' a line");
}

Settings settings_from(ServeFlags& flags, const CLI::App& app) {
  for (const auto& judge : flags.judged) judge();
  Settings settings = flags.settings;
  settings.commit = kCommit;
  settings.most_by_unix_socket = take_role("unix-socket", settings.unix_socket);
  add_addresses("resp", flags.resp, parse_capped_address, settings.resp);
  add_addresses("http", flags.http, parse_capped_address, settings.http);
  add_addresses("rls", flags.rls, parse_address, settings.rls);
  add_addresses("admin", flags.admin, parse_capped_address, settings.admin);
  for (std::string& each : settings.admin_names) {
    for (char& c : each) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  judge_tls(settings);
  judge_rls(flags, settings);
  judge_xds(flags, settings);
  if (settings.rls_config.empty() && !settings.rls_xds &&
      (settings.rls_merge_domains || app.count("--rls-algorithm") > 0))
    throw std::runtime_error("rls-merge-domains and rls-algorithm need rls-config or rls-xds");
  judge_store(flags, settings);
  judge_needs(flags, app);
  return settings;
}

}  // namespace weir::cli
