// The certificates that the settings name: for connections to the store, and as far as their dates go. Those
// of the listeners are theirs (listeners.hpp). Any thread.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <optional>
#include <string>

#include "server/settings.hpp"

namespace weir::inline v0_1::server {

// Nothing when there is no store, or none with TLS. Throws what redis::tls_for() throws.
std::optional<boost::asio::ssl::context> store_tls(const Settings& settings);

// Logs a warning for each certificate of ours that has expired or is not yet valid, and for each file of
// signers of which none is valid now. Files that cannot be read are left out: their use says that.
void warn_of_dates(const Settings& settings);

// What tells that one of their files is another one, or has been written since.
std::string stamps_of_certificates(const Settings& settings);

}  // namespace weir::server
