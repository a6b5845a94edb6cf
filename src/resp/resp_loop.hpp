// What the RESP connections of an event loop share.
#pragma once

#include "resp/throttle.hpp"
#include "service/asker.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::resp {

struct RespLoop {
  // Without `acquiring` nobody waits for a moment.
  RespLoop(service::Service& service, store::Store& store, waiting::AcquiringStore* acquiring = nullptr)
      : asker(service, store, acquiring),
        parser(service.options().on_store_error, service.options().sharing) {}

  service::Asker asker;
  ThrottleParser parser;  // the limits of gathered questions are its
};
static_assert(service::Asker::kMany <= ThrottleParser::kMostLimits);

}  // namespace weir::resp
