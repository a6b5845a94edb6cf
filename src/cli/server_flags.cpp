#include "cli/server_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cli/values.hpp"
#include "core/percent.hpp"

namespace weir::inline v0_1::cli {
namespace {

// Says nothing of what was given: it may hold a password.
[[noreturn]] void not_a_url() {
  throw std::runtime_error(
      "url: expected weir://[[USER:]PASSWORD@]HOST[:PORT], the same with weirs:// for TLS, or "
      "weir+unix:///PATH");
}

// What a URL may not have as it is comes with a percent sign.
std::string decoded(std::string_view text) { return core::percent_decoded(text).bytes; }

// Takes "USER:PASSWORD@" from the front.
void take_user(std::string_view& rest, ServerFlags::Named& into) {
  const std::size_t at = rest.substr(0, rest.find('/')).rfind('@');
  if (at == std::string_view::npos) return;
  const std::string_view who = rest.substr(0, at);
  const std::size_t colon = who.find(':');
  if (colon == std::string_view::npos) {
    into.password = decoded(who);
  } else {
    if (colon > 0) into.user = decoded(who.substr(0, colon));
    into.password = decoded(who.substr(colon + 1));
  }
  rest.remove_prefix(at + 1);
}

bool take_scheme(std::string_view& rest, std::string_view scheme) {
  if (!rest.starts_with(scheme)) return false;
  rest.remove_prefix(scheme.size());
  return true;
}

void read_place(std::string place, ServerFlags::Named& into) {
  if (place.ends_with('/')) place.pop_back();
  if (place.rfind(':') == std::string::npos || place.ends_with(']'))
    place += ":" + std::to_string(ServerAddress{}.port);
  try {
    const server::HostPort found = parse_endpoint("url", place);
    if (found.host.empty() || found.host.find_first_of("/@") != std::string::npos || found.port == 0)
      not_a_url();
    into.address.host = found.host;
    into.address.port = found.port;
  } catch (const std::runtime_error&) {
    not_a_url();
  }
  into.name = place;
}

ServerFlags::Named server_of(std::string_view url, ServerFlags::Named server) {
  if (take_scheme(url, "weir+unix://")) {
    take_user(url, server);
    if (!url.starts_with('/')) not_a_url();
    server.address.unix_socket = decoded(url);
    server.name = server.address.unix_socket;
    return server;
  }
  if (take_scheme(url, "weirs://")) {
    server.address.tls = true;
  } else if (!take_scheme(url, "weir://")) {
    not_a_url();
  }
  take_user(url, server);
  read_place(std::string(url), server);
  return server;
}

}  // namespace

void ServerFlags::add_to(CLI::App& app) {
  const auto file = [&app](const char* name, std::string& path, const char* what) {
    return app.add_option(name, path, what)->type_name("FILE");
  };
  of_a_host_ = {app.add_option("--host", address.host, "the server's host")->type_name("HOST"),
                app.add_option("--port", address.port, "the server's port")
                    ->type_name("N")
                    ->check(CLI::Range(1, 65535).description(""))};
  for (CLI::Option* each : of_a_host_) each->capture_default_str();
  file("--unix-socket", address.unix_socket, "the server's Unix socket, in place of both");
  app.add_flag("--tls", address.tls, "TLS; so does each of the next four");
  file("--tls-ca", address.files.ca, "CA of the server's certificate (PEM) [the system's]");
  file("--tls-cert", address.files.cert, "certificate chain to show (PEM)");
  file("--tls-key", address.files.key, "its private key (PEM)");
  app.add_option("--tls-name", address.tls_name, "name in the server's certificate [HOST]")
      ->type_name("NAME");
  app.add_option("--user", user, "name for AUTH")
      ->type_name("NAME")
      ->envname("WEIR_USER")
      ->capture_default_str();
  app.add_option("--password", password, "password or token for AUTH; better in the environment")
      ->type_name("WORD")
      ->envname("WEIR_PASSWORD");
  app.add_option("--timeout", timeout, "longest wait for the answer")
      ->type_name("TIME")
      ->capture_default_str();
}

void ServerFlags::add_url_to(CLI::App& app, bool several) {
  CLI::Option* const url = app.add_option("--url", urls,
                                          several ? "a server, in place of those; may be repeated"
                                                  : "the server, in place of those: weir://HOST:PORT");
  url->type_name("URL")->expected(1)->allow_extra_args(false);
  if (several) url->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::vector<ServerFlags::Named> ServerFlags::servers() const {
  const bool by_host = std::any_of(of_a_host_.begin(), of_a_host_.end(),
                                   [](const CLI::Option* each) { return each->count() > 0; });
  if (!address.unix_socket.empty() && by_host)
    throw std::runtime_error("unix-socket stands in place of host and port: give it or them");
  Named one{"", address, user, password};
  one.name =
      address.unix_socket.empty() ? address.host + ":" + std::to_string(address.port) : address.unix_socket;
  if (urls.empty()) return {one};
  if (by_host || !address.unix_socket.empty())
    throw std::runtime_error("url stands in place of host, port and unix-socket: give it or them");
  std::vector<Named> servers;
  for (const std::string& each : urls) servers.push_back(server_of(each, one));
  return servers;
}

std::unique_ptr<ServerConnection> ServerFlags::connect(const Named& server,
                                                       std::function<bool()> interrupted) const {
  const auto patience = parse_time("timeout", timeout, std::chrono::milliseconds{1});
  auto connection = std::make_unique<ServerConnection>(server.address, patience, std::move(interrupted));
  if (!server.password.empty()) connection->authenticate(server.user, server.password);
  return connection;
}

}  // namespace weir::cli
