#include "server/limits_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/printable.hpp"
#include "limits/set.hpp"
#include "net/listener.hpp"
#include "redis/reserve_script.hpp"
#include "redis/script.hpp"
#include "server/log.hpp"

namespace weir::inline v0_1::server {

namespace {

// Whether somebody beyond this machine can ask at the gate without a certificate. The gate asks nobody for a
// password, since gateways pass on their clients' own.
bool reaches_the_gate(const Settings& settings) {
  if (settings.insecure || !settings.tls_ca.empty()) return false;
  return std::any_of(settings.http.begin(), settings.http.end(), [](const ListenAddress& each) {
    return each.unix_socket.empty() &&
           !net::resolve("http", each.tcp.host, each.tcp.port).address().is_loopback();
  });
}

using Why = std::optional<std::string>;

// Why what counts cannot count by a rule, if it cannot.
std::function<Why(const core::Rule&)> unsuitable_for(const Settings& settings) {
  if (settings.store) return redis::unsuitable;
  return [](const core::Rule& rule) -> Why {
    if (core::kept_in_two_words(rule.algorithm) || core::counts_slots(rule.algorithm)) return std::nullopt;
    return core::name_of(rule.algorithm) +
           " cannot be counted by the table of this process; it needs --store";
  };
}

void write_line(bool warns, const std::string& line) {
  log(warns ? LogLevel::warning : LogLevel::info, core::printable(line));
}

// In the place of the file at `path`.
limits::OpenFile reads_text(const LimitsText& text, const std::string& path, bool has_file) {
  return [&text, path, has_file](const std::string& asked,
                                 std::size_t most) -> tl::expected<std::string, std::string> {
    if (asked != path) return limits::read_from_disk(asked, most);
    if (auto brought = text.get()) return *std::move(brought);
    if (has_file) return limits::read_from_disk(asked, most);
    return tl::unexpected(std::string("nobody has set a text"));
  };
}

service::DescriptorsInForce::Options descriptor_options(const Settings& settings,
                                                        const service::Service& service,
                                                        const std::string& path) {
  return {.path = path,
          .setting = {.algorithm = settings.rls_algorithm,
                      .merge_domains = settings.rls_merge_domains,
                      .on_store_error = settings.on_store_error,
                      .sharing = service.options().sharing,
                      .wall = service.wall_ahead(),
                      .unsuitable = unsuitable_for(settings)},
          .wall_clock = service.options().wall_clock,
          .log = write_line};
}

void read_first(service::FilesInForce& files, const std::string& what, const std::string& path,
                bool or_later) {
  const std::vector<std::string> errors = files.reload();
  if (errors.empty()) return;
  std::string text = what + ": '" + path + "' cannot be used";
  if (or_later) {
    write_line(true, text + " yet");
    for (const std::string& each : errors) write_line(true, each);
    return;
  }
  for (const std::string& each : errors) text += "\n" + each;
  throw std::runtime_error(text);
}

}  // namespace

std::unique_ptr<service::LimitsInForce> open_limits(const Settings& settings, const service::Service& service,
                                                    const LimitsText* text) {
  if (settings.limits.empty() && text == nullptr) return nullptr;
  if (settings.limits == "-")
    throw std::runtime_error(
        "limits: '-' is the standard input; a server needs a file that it can read again");
  limits::SetOptions setting{.on_store_error = settings.on_store_error,
                             .sharing = service.options().sharing,
                             .wall = service.wall_ahead(),
                             .utc_clock = &service.options().wall_clock,
                             .max_wait = settings.max_wait,
                             .unsuitable = unsuitable_for(settings)};
  if (settings.store) setting.cannot_pause = redis::cannot_reserve;
  setting.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets one
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
  setting.gate_exposed = reaches_the_gate(settings);
  const bool has_file = !settings.limits.empty();
  service::LimitsInForce::Options options{.path = has_file ? settings.limits : "limits.yaml",
                                          .setting = std::move(setting),
                                          .shared = settings.store.has_value(),
                                          .wall_clock = service.options().wall_clock,
                                          .log = write_line};
  if (text != nullptr) options.open = reads_text(*text, options.path, has_file);
  auto limits = std::make_unique<service::LimitsInForce>(std::move(options));
  if (has_file) read_first(*limits, "limits", settings.limits, false);
  return limits;
}

std::unique_ptr<service::DescriptorsInForce> open_descriptors(const Settings& settings,
                                                              const service::Service& service) {
  if (settings.rls_config.empty()) return nullptr;
  auto descriptors = std::make_unique<service::DescriptorsInForce>(
      descriptor_options(settings, service, settings.rls_config));
  read_first(*descriptors, "rls-config", settings.rls_config, settings.rls_config_later);
  return descriptors;
}

std::unique_ptr<service::XdsInForce> open_xds(const Settings& settings, const service::Service& service) {
  if (!settings.rls_xds) return nullptr;
  return std::make_unique<service::XdsInForce>(descriptor_options(settings, service, settings.rls_xds->text));
}

std::unique_ptr<service::UsersInForce> open_users(const Settings& settings, const service::Service& service) {
  if (settings.users.empty()) return nullptr;
  auto users = std::make_unique<service::UsersInForce>(
      service::UsersInForce::Options{.path = settings.users,
                                     .certificates = !settings.tls_ca.empty(),
                                     .taken = settings.password.empty() ? "" : settings.user,
                                     .wall_clock = service.options().wall_clock,
                                     .log = write_line});
  read_first(*users, "users", settings.users, false);
  return users;
}

}  // namespace weir::server
