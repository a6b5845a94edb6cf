// What the connections of an event loop that speak Envoy's rate limit service share, and how the service is
// set.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "limits/descriptors.hpp"
#include "rls/counts.hpp"
#include "rls/holds.hpp"
#include "rls/request.hpp"
#include "rls/series_counts.hpp"
#include "service/asker.hpp"
#include "service/descriptors_in_force.hpp"
#include "service/service.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::rls {

// What a message is sent for: by Envoy's method, or by Kuadrant's.
enum class Asks : std::uint8_t {
  may_pass,  // what it says is charged
  whether,   // whether one more unit would fit; nothing is charged
  report,    // what has been used is charged, whatever is left, and nobody is denied
  reserve,   // what it may need is held
  commit,    // the same as a report, in the place of what is held
};
inline bool denies_nobody(Asks asks) { return asks == Asks::report || asks == Asks::commit; }

struct RlsOptions {
  bool bad_is_error = false;  // what callers can cause is answered with an error, which lets them pass
  // The limit, what remains and when it is reset, of the descriptor with the least left; empty: not told.
  std::array<std::string, 3> headers{};
  bool headers_of_answers = false;  // as HTTP tells its clients, instead
  bool metadata = false;            // what was asked, for Envoy's other filters
  bool shadow = false;              // the overall code is OK, whatever those of the descriptors are
  bool quota = false;               // all limits of the trees are in quota mode
  bool stats_names = false;         // metrics have envoyproxy/ratelimit's names, too
  float near = 0.8F;                // the share of a limit from which on hits are near it, in those
  bool others_free = false;         // by the trees, where a descriptor is over, no other is charged
  // After that long a connection is told to go elsewhere, one earlier or later than another by a tenth; then
  // it has the grace.
  std::chrono::nanoseconds max_age = std::chrono::hours{24};
  std::chrono::nanoseconds grace = std::chrono::hours{1};
  std::function<bool()> healthy{};  // that gRPC's health tells; any thread; empty: it always is
};

struct RlsLoop {
  // `store_is_far`: it takes time to answer, so that what has little left is not asked of it. All that is
  // handed in must outlive this. `wake`: as Holds has it.
  RlsLoop(service::Service& service, store::Store& store, bool store_is_far, const RlsOptions& said,
          RlsCounts& counted, std::function<void()> wake = {})
      : asker(service, store),
        trees(service.descriptors.get()),
        is_far(store_is_far),
        options(said),
        counts(counted),
        holds(store, service.options().clock, std::move(wake)) {}

  // What one of its descriptors is to be charged.
  std::uint64_t units(const AskedDescriptor& descriptor) const {
    return asks == Asks::commit ? actual : request.hits(descriptor);
  }

  service::Asker asker;
  service::DescriptorsView trees;
  SeriesCounts series;
  const bool is_far;
  const RlsOptions& options;
  RlsCounts& counts;
  Holds holds;
  RateLimitRequest request;                     // that is read now
  Asks asks = Asks::may_pass;                   // what it is sent for
  std::uint64_t actual = 0;                     // of a commit
  std::deque<limits::DescriptorMatch> matches;  // of its descriptors
};

}  // namespace weir::rls
