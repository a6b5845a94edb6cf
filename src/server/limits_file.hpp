// The files of a server that are opened at the start and read again when they change: its limits, its folder
// of Envoy's rate limits, its users.
//
// The main thread; what it makes may be used by any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/settings.hpp"
#include "service/descriptors_in_force.hpp"
#include "service/limits_in_force.hpp"
#include "service/service.hpp"
#include "service/users_in_force.hpp"
#include "service/xds_in_force.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

// What a test has brought in the place of the limits file. Any thread.
class LimitsText {
 public:
  std::optional<std::string> exchange(std::optional<std::string> text) {
    const detail::Held lock(mutex_);
    return std::exchange(text_, std::move(text));
  }
  std::optional<std::string> get() const {
    const detail::Held lock(mutex_);
    return text_;
  }

 private:
  mutable detail::Mutex mutex_;
  std::optional<std::string> text_ WEIR_GUARDED_BY(mutex_);
};

// Null without a limits file; where there may be a text instead, nothing is in force then. Throws
// std::runtime_error with all that is wrong with it, a line each. `text` may be null, and must outlive it.
std::unique_ptr<service::LimitsInForce> open_limits(const Settings& settings, const service::Service& service,
                                                    const LimitsText* text);

// Null without such a folder. Throws the same.
std::unique_ptr<service::DescriptorsInForce> open_descriptors(const Settings& settings,
                                                              const service::Service& service);

// Null without an xDS server. Nothing is in force before it has sent something.
std::unique_ptr<service::XdsInForce> open_xds(const Settings& settings, const service::Service& service);

// Null without a users file. Throws as open_limits() does.
std::unique_ptr<service::UsersInForce> open_users(const Settings& settings, const service::Service& service);

}  // namespace weir::server
