// That nobody could decide, and why: an error of the request or of the deployment, never a denial. What a
// RedisStore and weir::Limits throw, and what their callbacks are told.
#pragma once

#include <stdexcept>
#include <string>

#include "weir/source.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

class WEIR_API StoreFault : public std::runtime_error {
 public:
  StoreFault(Fault fault, const std::string& why) : std::runtime_error(why), fault_(fault) {}
  // Never Fault::none.
  [[nodiscard]] Fault fault() const noexcept { return fault_; }

 private:
  Fault fault_;
};

}  // namespace weir
