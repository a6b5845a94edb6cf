// A connection to a running server, for a subcommand that asks it: TCP, TLS or a Unix socket, with a time by
// which all is over.
//
// One thread. Whatever fails is a std::runtime_error of one line that names the server, and no such line
// holds the password, whatever the server answers. Not for: many requests at once, or a connection that
// lasts.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/tls.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::cli {

struct ServerAddress {
  std::string host = "127.0.0.1";
  int port = 6390;
  std::string unix_socket;  // in place of both
  bool tls = false;
  std::string tls_name;  // that the server's certificate must hold; empty: the host
  net::TlsFiles files;   // any of them means tls
};

class ServerConnection {
 public:
  // Connects. Everything, from looking up the name to the last answer, must be done within `patience`.
  // It ends early, with an error, once `interrupted` says so.
  ServerConnection(const ServerAddress& address, std::chrono::nanoseconds patience,
                   std::function<bool()> interrupted = {});
  ~ServerConnection();
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  // Of a Unix socket: the number of the user who listens there.
  unsigned listening_user() const;

  void authenticate(const std::string& user, const std::string& password);
  // What a server says may hold it.
  std::string without_password(std::string text) const;
  // From now on as long again.
  void renew_patience();

  // A command.
  void send(std::initializer_list<std::string_view> words);
  void send_bytes(std::string_view bytes);
  // The next reply, until the one after it is asked for; none: no server of this kind answers so. Throws what
  // the server said if it is an error.
  std::optional<resp::Value> answer();
  // The same where an error is an answer too; and its bytes.
  struct Reply {
    resp::Value value;
    std::string_view bytes;
  };
  std::optional<Reply> reply();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::cli
