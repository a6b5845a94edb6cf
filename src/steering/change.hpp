// What an operator changes, as the audit has it.
//
// A plain value, any thread. Not for: writing it down (audit.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "steering/actor.hpp"

namespace weir::inline v0_1::steering {

struct Change {
  Actor by;
  std::string verb;  // upper case, without "WEIR.": "BAN"
  std::string limit{};
  // Whom it concerns: attributes and values as they were written; empty: everybody, or it is not said.
  std::vector<std::pair<std::string, std::string>> when{};
  std::string before{};
  std::string after{};
  std::string reason{};
  std::uint64_t number = 0;  // of an override; 0: none
};

}  // namespace weir::steering
