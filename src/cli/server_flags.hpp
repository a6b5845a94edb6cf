// The flags by which a subcommand finds a running server, and who it says it is.
//
// One thread. Not for: talking to it (server_connection.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/server_connection.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
class Option;
}  // namespace CLI

namespace weir::inline v0_1::cli {

struct ServerFlags {
  ServerAddress address;
  std::string timeout = "5s";
  std::string user = "default";
  std::string password;
  std::vector<std::string> urls;  // in place of the address

  void add_to(CLI::App& app);
  void add_url_to(CLI::App& app, bool several);

  // A server, and by what name it is told of.
  struct Named {
    std::string name;
    ServerAddress address;
    std::string user;
    std::string password;
  };
  // Of --url, or the one of the other flags. Throws std::runtime_error, as the next does.
  std::vector<Named> servers() const;
  // Connects, and authenticates where there is a password.
  std::unique_ptr<ServerConnection> connect(const Named& server,
                                            std::function<bool()> interrupted = {}) const;

 private:
  std::vector<CLI::Option*> of_a_host_;
};

}  // namespace weir::cli
