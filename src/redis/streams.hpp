// The connections of Sockets as Boost.Asio makes them: TCP, TLS and Unix.
//
// The thread of the io_context. Not for: what is sent, and when (sockets.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <optional>
#include <string>

#include "net/tls.hpp"
#include "redis/endpoint.hpp"
#include "redis/sockets.hpp"

namespace weir::inline v0_1::redis {

// For connections to the endpoint; nothing when it has no TLS. Throws as net::client_tls() does, for the
// flags store-tls-ca, store-tls-cert and store-tls-key, and std::invalid_argument for any of them, or
// store-tls-name, without TLS. `certified`: as streams() has it.
std::optional<boost::asio::ssl::context> tls_for(const Endpoint& endpoint, const net::TlsFiles& files,
                                                 const std::string& certified);

// `tls` may be null when the endpoint has none. Both must outlive the connections. `certified`: whom the
// certificates name; empty: the host of each connection.
Sockets::Open streams(boost::asio::io_context& context, boost::asio::ssl::context* tls,
                      std::string certified = {});

}  // namespace weir::redis
