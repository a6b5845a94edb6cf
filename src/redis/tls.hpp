// What TLS takes from files: whom we trust, and who we are. Ours is the same on both ends: of weir serve
// towards its clients, and of a client towards Redis.
//
// Read once, on the thread that asks. A file that is of no use is a std::runtime_error that names the flag of
// weir serve, the file, and what is wrong with it.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <optional>
#include <string>

#include "redis/endpoint.hpp"

namespace weir::redis {

struct TlsFiles {    // all in PEM
  std::string ca;    // who signs the other's certificate; empty: whom the system trusts
  std::string cert;  // ours, a chain; with `key`, or neither
  std::string key;
};

// For connections to the endpoint, whose certificate is verified; nothing when it has no TLS. Throws
// std::invalid_argument for files that do not go together or with the endpoint.
std::optional<boost::asio::ssl::context> client_tls(const Endpoint& endpoint, const TlsFiles& files);

// Who we are. `flag` is "tls" of the flags tls-cert and tls-key.
void show_certificate(boost::asio::ssl::context& tls, const std::string& flag, const std::string& cert,
                      const std::string& key);

// Whom we trust: those whose certificates are in the file.
void trust(boost::asio::ssl::context& tls, const std::string& flag, const std::string& ca);

}  // namespace weir::redis
