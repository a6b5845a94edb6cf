// What a descriptor is told, from what a store has answered.
//
// Pure, any thread. Not for: bytes (answer.hpp).
#pragma once

#include <optional>
#include <string>

#include "limits/set.hpp"
#include "rls/answer.hpp"
#include "service/question.hpp"

namespace weir::inline v0_1::rls {

struct StatusOf {
  Status status;
  std::optional<std::chrono::seconds> retry_after{};  // when it is over, and time helps
};
// Of one by the limits file, without a fault. `room` holds the name of its limit.
StatusOf status_of(const service::Question& question, const limits::Set& set, std::string& room);

}  // namespace weir::rls
