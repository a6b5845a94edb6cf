// The connections of Sockets as Boost.Asio makes them: TCP, TLS and Unix.
//
// The thread of the io_context. Not for: what is sent, and when (sockets.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <optional>

#include "net/tls.hpp"
#include "redis/endpoint.hpp"
#include "redis/sockets.hpp"

namespace weir::inline v0_1::redis {

// For connections to the endpoint; nothing when it has no TLS. Throws as net::client_tls() does, for the
// flags store-tls-ca, store-tls-cert and store-tls-key, and std::invalid_argument for a certificate without
// TLS.
std::optional<boost::asio::ssl::context> tls_for(const Endpoint& endpoint, const net::TlsFiles& files);

// `tls` may be null when the endpoint has none. Both must outlive the connections.
Sockets::Open streams(boost::asio::io_context& context, boost::asio::ssl::context* tls);

}  // namespace weir::redis
