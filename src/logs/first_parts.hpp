// Clients of a log that is read with more fields than make a client: which client a combination of all of
// them belongs to.
//
// One thread at a time. It views the combinations, which grow while the log is read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "logs/client_index.hpp"

namespace weir::inline v0_1::logs {

class FirstParts {
 public:
  // `parts` fields, the first `first` of which make a client.
  FirstParts(const ClientIndex& combinations, std::size_t parts, std::size_t first)
      : combinations_(combinations), parts_(parts), first_(first) {}

  const ClientIndex& clients() const { return first_ == parts_ ? combinations_ : clients_; }
  std::uint32_t client_of(std::uint32_t combination);
  // The values of the fields after the first ones.
  std::vector<std::string_view> rest(std::uint32_t combination) const;

 private:
  const ClientIndex& combinations_;
  std::size_t parts_;
  std::size_t first_;
  ClientIndex clients_;                // of the first parts
  std::vector<std::uint32_t> client_;  // of each combination so far
};

}  // namespace weir::logs
