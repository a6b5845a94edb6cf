// What the RESP connections of an event loop share.
#pragma once

#include <functional>
#include <utility>

#include "resp/limits_words.hpp"
#include "resp/throttle.hpp"
#include "service/asker.hpp"
#include "service/hold_ender.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::resp {

struct RespLoop {
  // Without `acquiring` nobody waits for a moment. `soon`: of service::HoldEnder.
  RespLoop(service::Service& service, store::Store& store, waiting::AcquiringStore* acquiring = nullptr,
           std::function<void()> soon = {})
      : ender(store, service.options().clock, std::move(soon)),
        asker(service, store, acquiring, &ender),
        parser(service.options().on_store_error, service.options().sharing) {}

  service::HoldEnder ender;
  service::Asker asker;
  ThrottleParser parser;  // the limits of gathered questions are its
  LimitsWords words;      // of the command that is being read: too much to be made for every one
};
static_assert(service::Asker::kMany <= ThrottleParser::kMostLimits);

}  // namespace weir::resp
