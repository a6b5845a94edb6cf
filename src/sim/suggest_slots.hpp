// The fewest slots that would have denied at most a given share: how many each client needs is the greatest
// number of its requests at once, and a request that took the n-th place is denied where there are fewer than
// n (sim/first_fit.hpp). So one pass over the log finds both, exactly.
//
// One thread at a time; memory grows with the clients.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "logs/client_index.hpp"
#include "logs/log_reader.hpp"
#include "sim/first_fit.hpp"
#include "sim/report.hpp"
#include "sim/suggest.hpp"

namespace weir::inline v0_1::sim {

class SuggestSlots {
 public:
  // An event's cost is its end (Wanted::span).
  void take(const logs::Event& event);
  // Adds what the criterion, if there is one, and each of a few shares of the requests needs.
  void fill(SuggestReport& report, const Criterion* criterion,
            const std::function<std::string(std::uint32_t client)>& name) const;

 private:
  std::uint64_t denied(std::size_t slots) const;
  std::uint64_t clients_denied(std::size_t slots) const;
  std::size_t slots_for_requests(std::uint64_t may_be_denied) const;
  std::size_t slots_for(const Criterion& criterion) const;

  logs::Pieces<FirstFit> clients_;
  std::vector<std::uint64_t> took_;  // [i]: requests that took place i
};

}  // namespace weir::sim
