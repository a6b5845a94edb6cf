// Envoy's rate limits from an xDS server: a connection that is made again whenever it ends, on a thread of
// its own, so that a server that is slow or away keeps no request waiting.
//
// Made and ended by the main thread. Not for: what is said (xds/subscription.hpp), what is in force
// (service/xds_in_force.hpp).
#pragma once

#include <memory>

#include "server/settings.hpp"
#include "service/xds_in_force.hpp"

namespace weir::inline v0_1::server {

class XdsSource {
 public:
  // `rates` must outlive it. Throws std::runtime_error when the TLS files cannot be used.
  XdsSource(const XdsSettings& settings, service::XdsInForce& rates);
  // Ends the connection; waits for what is being compiled.
  ~XdsSource();
  XdsSource(const XdsSource&) = delete;
  XdsSource& operator=(const XdsSource&) = delete;

  void start();  // once

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::server
