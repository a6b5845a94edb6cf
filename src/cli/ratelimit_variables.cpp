#include "cli/ratelimit_variables.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cli/values.hpp"
#include "core/duration.hpp"
#include "core/number.hpp"

namespace weir::inline v0_1::cli {
namespace {

constexpr RatelimitVariable kVariables[] = {
    {"GRPC_HOST", "`--rls`, its host: 0.0.0.0; `::` is IPv6 and IPv4"},
    {"GRPC_PORT", "`--rls`, its port: 8081"},
    {"GRPC_UDS", "`--rls unix:PATH` instead"},
    {"HOST", "the host of `/healthcheck`: 0.0.0.0"},
    {"PORT", "its port: 8080"},
    {"DEBUG_HOST", "the host of `/rlconfig`: 0.0.0.0"},
    {"DEBUG_PORT", "its port: 6070"},
    {"USE_PROMETHEUS", "whether there is a page of metrics"},
    {"PROMETHEUS_ADDR", "its address: :9090"},
    {"PROMETHEUS_PATH", "its path: /metrics"},
    {"DISABLE_STATS", "true: there is none"},
    {"NEAR_LIMIT_RATIO", "the share of a limit beyond which hits are near it, with `--rls-stats-names`: 0.8"},
    {"GRPC_MAX_CONNECTION_AGE", "`--grpc-max-connection-age`"},
    {"GRPC_MAX_CONNECTION_AGE_GRACE", "how long calls may then take: 1h"},
    {"WEIR_DRAIN_GRACE", "`--drain-grace`, which envoyproxy/ratelimit has not"},
    {"GRPC_SERVER_USE_TLS", "whether the next four are read"},
    {"GRPC_SERVER_TLS_CERT", "`--tls-cert`"},
    {"GRPC_SERVER_TLS_KEY", "`--tls-key`"},
    {"GRPC_CLIENT_TLS_CACERT", "`--tls-ca`"},
    {"GRPC_CLIENT_TLS_SAN", "`--tls-client-name`"},
    {"LOG_LEVEL", "`--log-level`: WARN"},
    {"LOG_FORMAT", "`--log-format`"},
    {"CONFIG_TYPE", "FILE, or GRPC_XDS_SOTW for the limits of an xDS server"},
    {"RUNTIME_ROOT", "`--rls-config`, its beginning: /srv/runtime_data/current"},
    {"RUNTIME_SUBDIRECTORY", "its middle"},
    {"RUNTIME_APPDIRECTORY", "its end: config"},
    {"CONFIG_GRPC_XDS_SERVER_URL", "`--rls-xds`: localhost:18000"},
    {"CONFIG_GRPC_XDS_NODE_ID", "`--rls-xds-node`: default"},
    {"CONFIG_GRPC_XDS_NODE_METADATA", "`--rls-xds-metadata` of each KEY=VALUE, by commas"},
    {"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "`--rls-xds-header` of each NAME:VALUE, by commas"},
    {"CONFIG_GRPC_XDS_SERVER_USE_TLS", "`--rls-xds-tls`, and whether the next four are read"},
    {"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "`--rls-xds-tls-ca`"},
    {"CONFIG_GRPC_XDS_SERVER_TLS_SAN", "`--rls-xds-tls-name`"},
    {"CONFIG_GRPC_XDS_CLIENT_TLS_CERT", "`--rls-xds-tls-cert`"},
    {"CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "`--rls-xds-tls-key`"},
    {"XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", "the first time of `--rls-xds-retry`: 10s"},
    {"XDS_CLIENT_BACKOFF_MAX_INTERVAL", "its second: 60s"},
    {"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "`--rls-xds-max-message`"},
    {"FORCE_START_WITHOUT_INITIAL_CONFIG",
     "whether weir listens while that folder cannot be used, or before the xDS server has sent limits"},
    {"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", "whether `/healthcheck` is 500 while there is no domain"},
    {"MERGE_DOMAIN_CONFIG", "`--rls-merge-domains`"},
    {"SHADOW_MODE", "`--rls-shadow-mode`"},
    {"QUOTA_MODE", "`--rls-quota-mode`"},
    {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "`--rls-charge others-free`"},
    {"RESPONSE_DYNAMIC_METADATA", "`--rls-dynamic-metadata`"},
    {"LIMIT_RESPONSE_HEADERS_ENABLED", "`--rls-headers`"},
    {"LIMIT_LIMIT_HEADER", "the first of its names: RateLimit-Limit"},
    {"LIMIT_REMAINING_HEADER", "the second: RateLimit-Remaining"},
    {"LIMIT_RESET_HEADER", "the third: RateLimit-Reset"},
    {"BACKEND_TYPE", "redis; memcache is refused"},
    {"REDIS_URL", "`--store`; empty: weir counts in its own memory"},
    {"REDIS_TYPE", "SINGLE, SENTINEL or CLUSTER: the form of `--store`"},
    {"REDIS_AUTH", "its password, or USER:PASSWORD"},
    {"REDIS_SENTINEL_AUTH", "those of its sentinels"},
    {"CACHE_KEY_PREFIX", "its `prefix`"},
    {"REDIS_TLS", "whether it speaks TLS"},
    {"REDIS_TLS_CACERT", "`--store-tls-ca`"},
    {"REDIS_TLS_CLIENT_CERT", "`--store-tls-cert`"},
    {"REDIS_TLS_CLIENT_KEY", "`--store-tls-key`"},
    {"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", "false; true is refused"},
    {"REDIS_TIMEOUT", "`--store-deadline`"},
    {"LOCAL_CACHE_SIZE_IN_BYTES", "`--denial-memory`; 0: `--no-remember-denials`"},
    {"REDIS_HEALTH_CHECK_ACTIVE_CONNECTION", "whether `/healthcheck` is 500 while the store does not decide"},
    {"REDIS_SOCKET_TYPE", ""},  // a URL tells it
    {"REDIS_POOL_*", ""},
    {"REDIS_PIPELINE_*", ""},
    {"REDIS_CLUSTER_PIPELINE_PARALLELISM", ""},
    {"REDIS_STARTUP_*", ""},
    {"REDIS_PERSECOND*", ""},
    {"MEMCACHE_*", ""},
    {"EXPIRATION_JITTER_MAX_SECONDS", ""},
    {"RUNTIME_IGNOREDOTFILES", ""},
    {"RUNTIME_WATCH_ROOT", ""},
    {"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", ""},
    {"XDS_CLIENT_BACKOFF_RANDOM_FACTOR", ""},
    {"XDS_CLIENT_BACKOFF_JITTER", ""},
    {"USE_STATSD", ""},
    {"STATSD_*", ""},
    {"USE_DOG_STATSD*", ""},
    {"EXTRA_TAGS", ""},
    {"STATS_FLUSH_INTERVAL", ""},
    {"PROMETHEUS_MAPPER_YAML", ""},
    {"PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS", ""},
    {"TRACING_*", ""},
    {"OTEL_*", ""},
};

constexpr std::string_view kNever = "87600h";  // ten years

// A time as Go reads it: 0 needs no unit, it may begin with a sign, its parts have any order and any of them
// a point.
std::optional<std::chrono::nanoseconds> parse_gos(std::string_view text) {
  using std::chrono::nanoseconds;
  constexpr std::pair<std::string_view, nanoseconds> kUnits[] = {{"ns", std::chrono::nanoseconds{1}},
                                                                 {"us", std::chrono::microseconds{1}},
                                                                 {"\u00b5s", std::chrono::microseconds{1}},
                                                                 {"\u03bcs", std::chrono::microseconds{1}},
                                                                 {"ms", std::chrono::milliseconds{1}},
                                                                 {"s", std::chrono::seconds{1}},
                                                                 {"m", std::chrono::minutes{1}},
                                                                 {"h", std::chrono::hours{1}}};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return nanoseconds{0};
  if (text.empty()) return std::nullopt;
  nanoseconds sum{0};
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::size_t end = std::min(text.find_first_of("0123456789.", digits), text.size());
    const auto* const unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& each) {
      return each.first == text.substr(digits, end - digits);
    });
    if (unit == std::end(kUnits)) return std::nullopt;
    const core::ScaledNumber part = core::parse_scaled(text.substr(0, digits), unit->second);
    if (part.fault != core::NumberFault::none || part.value > nanoseconds::max() - sum) return std::nullopt;
    sum += part.value;
    text.remove_prefix(end);
  }
  return negative ? -sum : sum;
}

std::runtime_error wrong(const std::string& name, const std::string& what) {
  return std::runtime_error(name + ": " + what);
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// Every byte but letters and digits as %41, as a URL wants it.
std::string encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out += c;
    } else {
      ((out += '%') += kHex[byte >> 4U]) += kHex[byte & 15U];
    }
  }
  return out;
}

// The variables by their names; one that no row has is a mistake of ours.
class Variables {
 public:
  explicit Variables(Environment environment) : environment_(environment) {}

  std::string text(const std::string& name, std::string_view unless = {}) const {
    const bool known = std::any_of(std::begin(kVariables), std::end(kVariables),
                                   [&name](const RatelimitVariable& each) { return each.name == name; });
    if (!known) throw std::logic_error(name + " has no row");
    const std::string value = value_of(name);
    return value.empty() ? std::string(unless) : value;
  }

  // Where 0 means that there is no end, `never` stands for it; what is shorter than `least` is that, and ten
  // years are the longest.
  std::string time(const std::string& name, std::string_view never, std::string_view least,
                   std::string_view unless = {}) const {
    const std::string said = text(name, unless);
    const auto parsed = parse_gos(said);
    if (!parsed) return said;  // nothing, or its flag says what is wrong
    if (*parsed == std::chrono::nanoseconds{0}) return taken(name, said, never);
    if (*parsed < core::parse_duration(least).value_or(std::chrono::nanoseconds{0}))
      return taken(name, said, least);
    if (*parsed > core::parse_duration(kNever)) return taken(name, said, kNever);
    return core::to_text(*parsed);
  }
  // Bytes; what is less or more is one of these.
  std::string size(const std::string& name, std::int64_t least, std::int64_t most) const {
    const std::string said = text(name);
    const auto number = core::parse_integer(said);
    if (!number) return said;  // nothing, or its flag says what is wrong
    const std::int64_t size = std::clamp(*number, least, most);
    return size == *number ? said : taken(name, said, std::to_string(size));
  }
  std::string taken(const std::string& name, const std::string& said, std::string_view as) const {
    warnings_.push_back(name + ": '" + said + "' is taken as " + std::string(as));
    return std::string(as);
  }

  // Those that are set and do nothing here, but for what says that something is off.
  void warn_of_idle_ones() const {
    std::string all;
    for (const std::string& each : environment_) {
      const std::string_view name = std::string_view(each).substr(0, each.find('='));
      const std::string value = value_of(name);
      if (value.empty() || value == "0" || value == "false" || !is_idle(name)) continue;
      (all += all.empty() ? "" : ", ") += name;
    }
    if (!all.empty()) warnings_.push_back("variables that do nothing here: " + all);
  }
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

  // As Go reads a bool.
  bool on(const std::string& name) const {
    const std::string word = text(name, "false");
    for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
      if (word == yes) return true;
    for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
      if (word == no) return false;
    throw wrong(name, "'" + word + "' is not true or false");
  }

  // That of `words` which it is in any case of its letters.
  std::string one_of(const std::string& name, const std::vector<std::string>& words) const {
    const std::string word = text(name, words.front());
    if (std::find(words.begin(), words.end(), in_capitals(word)) != words.end()) return in_capitals(word);
    std::string all;
    for (const std::string& each : words)
      all += (all.empty() ? "" : each == words.back() ? " or " : ", ") + each;
    throw wrong(name, "'" + word + "' is not " + all);
  }

  // Of "a:b,c:d" or "a=b,c=d", each as a=b; where `leaves_out`, those that are neither are left out, as
  // there.
  std::vector<std::string> pairs(const std::string& name, bool leaves_out) const {
    std::vector<std::string> all;
    const std::string said = text(name);
    for (std::string_view rest = said; !rest.empty();) {
      std::string one(rest.substr(0, rest.find(',')));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      const std::size_t colon = one.find_first_of(":=");
      if (colon == std::string::npos || colon == 0) {
        const std::string what = "'" + one + "' is neither KEY=VALUE nor KEY:VALUE";
        if (!leaves_out) throw wrong(name, what);
        warnings_.push_back(name + ": " + what + ", and is left out");
        continue;
      }
      one[colon] = '=';
      all.push_back(std::move(one));
    }
    return all;
  }

  server::HostPort host_port(const std::string& host, const std::string& port,
                             std::string_view unless) const {
    const std::string number = text(port, unless);
    const auto value = core::parse_integer(number);
    if (!value || *value < 0 || *value > 65535)
      throw wrong(port, "'" + number + "' is not a port from 0 to 65535");
    return {text(host, "0.0.0.0"), static_cast<std::uint16_t>(*value)};
  }

 private:
  std::string value_of(std::string_view name) const {
    for (const std::string& each : environment_) {
      if (each.size() > name.size() && each[name.size()] == '=' && each.starts_with(name))
        return each.substr(name.size() + 1);
    }
    return {};
  }
  static bool is_idle(std::string_view name) {
    return std::any_of(std::begin(kVariables), std::end(kVariables), [name](const RatelimitVariable& each) {
      if (!each.sets.empty()) return false;
      return each.name.ends_with('*') ? name.starts_with(each.name.substr(0, each.name.size() - 1))
                                      : name == each.name;
    });
  }

  Environment environment_;
  mutable std::vector<std::string> warnings_;
};

// Fills the flags that nobody has given.
class GivenFlags {
 public:
  explicit GivenFlags(CLI::App& app) : app_(app) {}

  void give(const std::string& name, const std::vector<std::string>& values) {
    CLI::Option* const option = app_.get_option("--" + name);
    if (values.empty() || option->count() > 0) return;
    option->add_result(values);
    option->run_callback();
  }
  void give(const std::string& name, const std::string& value) {
    if (!value.empty()) give(name, std::vector<std::string>{value});
  }
  void turn_on(const std::string& name, bool on) {
    if (on) give(name, "true");
  }

 private:
  CLI::App& app_;
};

void refuse_what_is_not_here(const Variables& variables) {
  const std::string backend = in_capitals(variables.text("BACKEND_TYPE", "redis"));
  if (backend != "REDIS")
    throw wrong("BACKEND_TYPE", backend == "MEMCACHE"
                                    ? "memcache cannot count for weir: it needs redis, or no REDIS_URL at all"
                                    : "it is redis, or left out");
  if (variables.on("REDIS_TLS_SKIP_HOSTNAME_VERIFICATION"))
    throw wrong(
        "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION",
        "weir checks the name of its store; leave it out, and give the store a certificate of its name");
}

// ------------------------------------------------------------------------------------------------ the store

// "master,host:port,host:port", "host:port", "redis://user:password@host:port/1", "/run/redis.sock".
class StoreUrl {
 public:
  explicit StoreUrl(const Variables& variables)
      : variables_(variables), type_(variables.one_of("REDIS_TYPE", {"SINGLE", "SENTINEL", "CLUSTER"})) {}

  // As weir's own; empty: there is none.
  std::string text() {
    const std::string url = variables_.text("REDIS_URL");
    if (url.empty()) return {};
    if (const std::string auth = variables_.text("REDIS_AUTH"); !auth.empty()) who_ = login(auth);
    if (url.front() == '/') {
      if (type_ != "SINGLE" || variables_.on("REDIS_TLS"))
        throw wrong("REDIS_URL", "a path goes with REDIS_TYPE=SINGLE, and without REDIS_TLS");
      return "redis+unix://" + (who_.empty() ? "" : who_ + "@") + url + options();
    }
    std::string rest = url;
    std::string master;
    if (type_ == "SENTINEL") {
      const std::size_t comma = rest.find(',');
      if (comma == std::string::npos)
        throw wrong("REDIS_URL", "it is not MASTER,HOST:PORT,... as REDIS_TYPE=SENTINEL says");
      master = "/" + rest.substr(0, comma);
      rest = rest.substr(comma + 1);
    }
    const std::string hosts = addresses(rest);
    const std::string kind = type_ == "SINGLE" ? "" : type_ == "CLUSTER" ? "+cluster" : "+sentinel";
    return (variables_.on("REDIS_TLS") ? "rediss" : "redis") + kind + "://" +
           (who_.empty() ? "" : who_ + "@") + hosts + master + options();
  }

 private:
  static std::string login(const std::string& auth) {
    const std::size_t colon = auth.find(':');
    if (colon == std::string::npos) return ":" + encoded(auth);
    return encoded(auth.substr(0, colon)) + ":" + encoded(auth.substr(colon + 1));
  }

  // Without schemes; of the logins in them the first is taken, where REDIS_AUTH says none.
  std::string addresses(std::string_view rest) {
    std::string hosts;
    while (!rest.empty()) {
      std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      if (const std::size_t mark = one.find("://"); mark != one.npos) one.remove_prefix(mark + 3);
      if (const std::size_t at = one.rfind('@'); at != one.npos) {
        if (who_.empty()) who_ = one.substr(0, at);
        one.remove_prefix(at + 1);
      }
      (hosts += hosts.empty() ? "" : ",") += one;
    }
    return hosts;
  }

  std::string options() const {
    std::string all;
    const auto add = [&all](const std::string& name, const std::string& value) {
      if (!value.empty()) all += (all.empty() ? "?" : "&") + name + "=" + encoded(value);
    };
    add("prefix", variables_.text("CACHE_KEY_PREFIX"));
    const std::string auth = type_ == "SENTINEL" ? variables_.text("REDIS_SENTINEL_AUTH") : "";
    const std::size_t colon = auth.find(':');
    add("sentinel_user", colon == std::string::npos ? "" : auth.substr(0, colon));
    add("sentinel_password", colon == std::string::npos ? auth : auth.substr(colon + 1));
    return all;
  }

  const Variables& variables_;
  const std::string type_;
  std::string who_;
};

void use_store(const Variables& variables, GivenFlags& flags) {
  const std::string url = StoreUrl(variables).text();
  flags.give("store", url);
  if (url.empty()) return;
  flags.give("store-deadline", variables.time("REDIS_TIMEOUT", "60s", "1ms"));
  if (variables.text("LOCAL_CACHE_SIZE_IN_BYTES") == "0")
    flags.turn_on("no-remember-denials", true);
  else
    flags.give("denial-memory", variables.size("LOCAL_CACHE_SIZE_IN_BYTES", 4 << 10, 1 << 30));
  if (!variables.on("REDIS_TLS")) return;
  flags.give("store-tls-ca", variables.text("REDIS_TLS_CACERT"));
  flags.give("store-tls-cert", variables.text("REDIS_TLS_CLIENT_CERT"));
  flags.give("store-tls-key", variables.text("REDIS_TLS_CLIENT_KEY"));
}

// ------------------------------------------------------------------------------------------------ the rest

void use_listeners(const Variables& variables, GivenFlags& flags) {
  const std::string path = variables.text("GRPC_UDS");
  const server::HostPort grpc = variables.host_port("GRPC_HOST", "GRPC_PORT", "8081");
  const bool v6 = grpc.host.find(':') != std::string::npos;
  flags.give("rls", !path.empty()
                        ? "unix:" + path
                        : (v6 ? "[" + grpc.host + "]" : grpc.host) + ":" + std::to_string(grpc.port));
  flags.give("grpc-max-connection-age", variables.time("GRPC_MAX_CONNECTION_AGE", kNever, "1s"));
  flags.give("drain-grace", variables.text("WEIR_DRAIN_GRACE"));
  if (!variables.on("GRPC_SERVER_USE_TLS")) return;
  if (!path.empty()) throw wrong("GRPC_SERVER_USE_TLS", "a Unix socket (GRPC_UDS) does not speak TLS");
  for (const std::string name : {"GRPC_SERVER_TLS_CERT", "GRPC_SERVER_TLS_KEY"})
    if (variables.text(name).empty()) throw wrong("GRPC_SERVER_USE_TLS", "it needs " + name);
  flags.give("tls-cert", variables.text("GRPC_SERVER_TLS_CERT"));
  flags.give("tls-key", variables.text("GRPC_SERVER_TLS_KEY"));
  flags.give("tls-ca", variables.text("GRPC_CLIENT_TLS_CACERT"));
  flags.give("tls-client-name", variables.text("GRPC_CLIENT_TLS_SAN"));
}

void use_pages(const Variables& variables, server::RatelimitPages& pages) {
  pages.health.tcp = variables.host_port("HOST", "PORT", "8080");
  pages.config.tcp = variables.host_port("DEBUG_HOST", "DEBUG_PORT", "6070");
  pages.needs_domain = variables.on("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED");
  pages.needs_store = variables.on("REDIS_HEALTH_CHECK_ACTIVE_CONNECTION");
  const bool counts = variables.on("USE_PROMETHEUS") && !variables.on("DISABLE_STATS");
  if (!counts) return;
  const std::string address = variables.text("PROMETHEUS_ADDR", ":9090");
  const std::string host = address.starts_with(':') ? "0.0.0.0" : "";
  pages.metrics =
      server::ListenAddress{.tcp = parse_endpoint("PROMETHEUS_ADDR", host + address), .unix_socket = {}};
  pages.metrics_path = variables.text("PROMETHEUS_PATH", "/metrics");
}

// As Go reads a float, in decimals.
float near_ratio(const Variables& variables) {
  const std::string said = variables.text("NEAR_LIMIT_RATIO", "0.8");
  const auto ratio = core::number_in<float>(said);
  if (!ratio) throw wrong("NEAR_LIMIT_RATIO", "'" + said + "' is not a number such as 0.8");
  return *ratio > 1 ? 1 : *ratio > 0 ? *ratio : 0;  // 0 of nan, too
}

void use_folder(const Variables& variables, GivenFlags& flags) {
  std::string folder = variables.text("RUNTIME_ROOT", "/srv/runtime_data/current");
  for (const std::string& each :
       {variables.text("RUNTIME_SUBDIRECTORY"), variables.text("RUNTIME_APPDIRECTORY", "config")})
    if (!each.empty()) folder += "/" + each;
  flags.give("rls-config", folder);
}

void use_xds(const Variables& variables, GivenFlags& flags) {
  flags.give("rls-xds", variables.text("CONFIG_GRPC_XDS_SERVER_URL", "localhost:18000"));
  flags.give("rls-xds-node", variables.text("CONFIG_GRPC_XDS_NODE_ID"));
  flags.give("rls-xds-metadata", variables.pairs("CONFIG_GRPC_XDS_NODE_METADATA", true));
  flags.give("rls-xds-header", variables.pairs("CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", false));
  const std::string first = variables.time("XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", "100ms", "100ms", "10s");
  const std::string most = variables.time("XDS_CLIENT_BACKOFF_MAX_INTERVAL", first, first, "60s");
  flags.give("rls-xds-retry", first + "," + most);
  const std::string size = variables.size("XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", 0, 1 << 30);
  if (size != "0") flags.give("rls-xds-max-message", size);  // 0: as if it were not set
  if (!variables.on("CONFIG_GRPC_XDS_SERVER_USE_TLS")) return;
  flags.turn_on("rls-xds-tls", true);
  flags.give("rls-xds-tls-ca", variables.text("CONFIG_GRPC_XDS_SERVER_TLS_CACERT"));
  flags.give("rls-xds-tls-name", variables.text("CONFIG_GRPC_XDS_SERVER_TLS_SAN"));
  flags.give("rls-xds-tls-cert", variables.text("CONFIG_GRPC_XDS_CLIENT_TLS_CERT"));
  flags.give("rls-xds-tls-key", variables.text("CONFIG_GRPC_XDS_CLIENT_TLS_KEY"));
}

void use_limits(const Variables& variables, GivenFlags& flags) {
  if (variables.one_of("CONFIG_TYPE", {"FILE", "GRPC_XDS_SOTW"}) == "FILE") {
    use_folder(variables, flags);
  } else {
    use_xds(variables, flags);
  }
  flags.turn_on("rls-merge-domains", variables.on("MERGE_DOMAIN_CONFIG"));
  flags.turn_on("rls-shadow-mode", variables.on("SHADOW_MODE"));
  flags.turn_on("rls-quota-mode", variables.on("QUOTA_MODE"));
  if (variables.on("STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT")) flags.give("rls-charge", "others-free");
  flags.turn_on("rls-dynamic-metadata", variables.on("RESPONSE_DYNAMIC_METADATA"));
  if (variables.on("LIMIT_RESPONSE_HEADERS_ENABLED"))
    flags.give("rls-headers", variables.text("LIMIT_LIMIT_HEADER", "RateLimit-Limit") + "," +
                                  variables.text("LIMIT_REMAINING_HEADER", "RateLimit-Remaining") + "," +
                                  variables.text("LIMIT_RESET_HEADER", "RateLimit-Reset"));
}

void use_log(const Variables& variables, GivenFlags& flags) {
  const std::string level =
      variables.one_of("LOG_LEVEL", {"WARN", "WARNING", "PANIC", "FATAL", "ERROR", "INFO", "DEBUG", "TRACE"});
  flags.give("log-level", level == "INFO"                         ? "info"
                          : level == "DEBUG" || level == "TRACE"  ? "debug"
                          : level == "WARN" || level == "WARNING" ? "warn"
                                                                  : "error");
  const std::string format = in_capitals(variables.text("LOG_FORMAT", "text"));
  if (format == "TEXT" || format == "JSON")
    return flags.give("log-format", format == "JSON" ? "json" : "text");
  flags.give("log-format", variables.taken("LOG_FORMAT", variables.text("LOG_FORMAT"), "text"));
}

}  // namespace

std::span<const RatelimitVariable> ratelimit_variables() { return kVariables; }

std::vector<std::string> use_environment(CLI::App& app, ServeFlags& flags, Environment environment) {
  Variables variables(environment);
  GivenFlags given(app);
  refuse_what_is_not_here(variables);
  use_log(variables, given);
  use_listeners(variables, given);
  use_store(variables, given);
  use_limits(variables, given);
  use_pages(variables, flags.settings.ratelimit.emplace());
  flags.settings.rls_options.near = near_ratio(variables);
  flags.settings.rls_config_later = variables.on("FORCE_START_WITHOUT_INITIAL_CONFIG");
  if (const std::string grace = variables.time("GRPC_MAX_CONNECTION_AGE_GRACE", kNever, "1ns");
      !grace.empty())
    flags.settings.rls_options.grace =
        parse_time("GRPC_MAX_CONNECTION_AGE_GRACE", grace, std::chrono::nanoseconds{0});
  variables.warn_of_idle_ones();
  return variables.take_warnings();
}

}  // namespace weir::cli
