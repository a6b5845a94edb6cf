#include "cli/server_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "cli/values.hpp"

namespace weir::inline v0_1::cli {
namespace {

constexpr std::string_view kForms = "weir://[[USER]:PASSWORD@]HOST[:PORT], weirs://... or weir+unix:///PATH";

int hex_digit(char c) {
  const std::string_view digits = "0123456789abcdef";
  return static_cast<int>(digits.find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c)));
}

// What a URL may not have as it is comes with a percent sign.
std::string decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      bytes += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

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
  app.add_option("--tls-name", address.tls_name, "name in the server's certificate [HOST]")->type_name("NAME");
  app.add_option("--user", user, "name for AUTH")
      ->type_name("NAME")
      ->envname("WEIR_USER")
      ->capture_default_str();
  app.add_option("--password", password, "password for AUTH; better in the environment")
      ->type_name("WORD")
      ->envname("WEIR_PASSWORD");
  app.add_option("--timeout", timeout, "longest wait for the answer")->type_name("TIME")->capture_default_str();
}

void ServerFlags::add_url_to(CLI::App& app, bool several) {
  CLI::Option* const url = app.add_option("--url", urls,
                                          several ? "a server, in place of those; may be repeated"
                                                  : "the server, in place of those: weir://HOST:PORT");
  url->type_name("URL");
  if (!several) url->expected(1);
}

std::vector<ServerFlags::Named> ServerFlags::servers() const {
  const bool by_host =
      std::any_of(of_a_host_.begin(), of_a_host_.end(), [](const CLI::Option* each) { return each->count() > 0; });
  if (!address.unix_socket.empty() && by_host)
    throw std::runtime_error("unix-socket stands in place of host and port: give it or them");
  if (urls.empty()) {
    const std::string name = !address.unix_socket.empty() ? address.unix_socket
                                                          : address.host + ":" + std::to_string(address.port);
    return {{name, address, user, password}};
  }
  if (by_host || !address.unix_socket.empty())
    throw std::runtime_error("url stands in place of host, port and unix-socket: give it or them");
  std::vector<Named> servers;
  for (const std::string& url : urls) {
    Named each{"", address, user, password};
    std::string_view rest = url;
    const auto skip = [&rest](std::string_view scheme) {
      const bool is = rest.starts_with(scheme);
      if (is) rest.remove_prefix(scheme.size());
      return is;
    };
    if (skip("weir+unix://")) {
      take_user(rest, each);
      each.address.unix_socket = decoded(rest);
      each.name = each.address.unix_socket;
      if (!rest.starts_with('/')) throw std::runtime_error("url: expected " + std::string(kForms));
    } else {
      each.address.tls = each.address.tls || rest.starts_with("weirs:");
      if (!skip("weir://") && !skip("weirs://")) throw std::runtime_error("url: expected " + std::string(kForms));
      take_user(rest, each);
      std::string place(rest.substr(0, rest.find('/')));
      const bool has_port = place.rfind(':') != std::string::npos && !place.ends_with(']');
      if (!has_port) place += ":6390";
      const server::HostPort found = parse_endpoint("url", place);
      each.address.host = found.host;
      each.address.port = found.port;
      each.name = place;
    }
    servers.push_back(std::move(each));
  }
  return servers;
}

std::unique_ptr<ServerConnection> ServerFlags::connect(const Named& server) const {
  auto connection = std::make_unique<ServerConnection>(
      server.address, parse_time("timeout", timeout, std::chrono::milliseconds{1}));
  if (!server.password.empty()) connection->authenticate(server.user, server.password);
  return connection;
}

}  // namespace weir::cli
