// TLS contexts from files in PEM: which certificate we show, and which signers we trust, as a server and as a
// client.
//
// The files are read once, on the calling thread. A file that cannot be used throws a std::runtime_error that
// names the flag, the file, and what is wrong with it; `flag` is "tls" for the flags tls-cert and tls-key.
// Not for: sessions and handshakes.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/verify_context.hpp>
#include <string>

namespace weir::inline v0_1::net {

struct TlsFiles {    // all in PEM
  std::string ca;    // the signer of the peer's certificate; empty: those that the system trusts
  std::string cert;  // ours, a chain; with `key`, or neither
  std::string key;
};

// Whether there is a certificate to show. Throws std::invalid_argument when there is only half of the pair.
bool has_certificate(const std::string& flag, const TlsFiles& files);

// For connections that we open: the peer's certificate is verified. Throws as has_certificate() does.
boost::asio::ssl::context client_tls(const std::string& flag, const TlsFiles& files);

// Shows the certificate to peers.
void show_certificate(boost::asio::ssl::context& tls, const std::string& flag, const std::string& cert,
                      const std::string& key);

// Trusts the signers whose certificates are in the file. `flag` is the whole name of its flag.
void trust(boost::asio::ssl::context& tls, const std::string& flag, const std::string& ca);

// For the verify callback of a connection to `host`: whether the certificate that is being looked at passes,
// which OpenSSL has done when `passed`. When not, `why` says which check it has failed.
bool verify(boost::asio::ssl::verify_context& certificate, bool passed, const std::string& host,
            std::string& why);

}  // namespace weir::net
