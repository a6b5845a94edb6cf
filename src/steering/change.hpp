// What an operator changes, as the audit has it.
//
// A plain value, any thread. Not for: writing it down (server/audit_log.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steering/actor.hpp"

namespace weir::inline v0_1::steering {

// Why a change was refused that the audit has to have first.
constexpr std::string_view kNotWritten = "not written: the audit file cannot be written; nothing has changed";

struct OperatorChange {
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
