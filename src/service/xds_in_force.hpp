// The domains of Envoy's rate limit service that an xDS server has sent, in force as those of a folder are.
// An update that cannot be used changes nothing. And what is told of the connection to that server.
//
// Any thread; take() compiles, which no event loop does. Not for: what is said to the server
// (xds/subscription.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "limits/domain.hpp"
#include "service/descriptors_in_force.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class XdsInForce final : public DescriptorsInForce {
 public:
  enum class Link : std::uint8_t {
    down,        // the next attempt is due later
    connecting,  // or nothing has been heard on the connection
    up,
  };
  struct Sent {
    std::string version;
    std::vector<limits::Domain> domains;
    std::vector<std::string> errors;  // of what could not be read: then nothing of it is used
    std::string text;                 // tells it from another
  };

  // `path` of the options is the server's HOST:PORT.
  explicit XdsInForce(Options options) : DescriptorsInForce("rls-xds", std::move(options)) {}

  // What is wrong with it, in lines; then what was in force before stays.
  std::vector<std::string> take(Sent sent);
  void note(Link link);
  void note_failure(const std::string& why);  // of the connection

  void add_rows(Metrics& metrics) const override;

 private:
  Compiled compile(const std::shared_ptr<const void>& before) const override;

  mutable detail::Mutex mutex_;
  mutable Sent sent_ WEIR_GUARDED_BY(mutex_);  // until it is compiled
  std::string version_ WEIR_GUARDED_BY(mutex_);
  std::string why_ WEIR_GUARDED_BY(mutex_);
  std::atomic<Link> link_{Link::connecting};
  std::atomic<std::uint64_t> connects_{0};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace weir::service
