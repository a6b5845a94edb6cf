// What the connections of an event loop that speak Envoy's rate limit service share.
#pragma once

#include "rls/request.hpp"
#include "service/asker.hpp"
#include "service/service.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::rls {

struct RlsLoop {
  // `store_is_far`: it takes time to answer, so that what has little left is not asked of it.
  RlsLoop(service::Service& service, store::Store& store, bool store_is_far)
      : asker(service, store), is_far(store_is_far) {}

  service::Asker asker;
  const bool is_far;
  Request request;  // that is read now
};

}  // namespace weir::rls
