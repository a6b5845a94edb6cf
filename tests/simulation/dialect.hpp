// What a client writes and reads, by the protocol that it speaks.
//
// Both protocols become the same Reply, so that the referee knows of neither. Written from the documentation,
// not by weir's own readers of requests and printers of answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "resp/value.hpp"
#include "simulation/history.hpp"
#include "simulation/plan.hpp"

namespace weir::inline v0_1::simulation {

enum class Protocol : std::uint8_t { resp, http };

// `id`: of the reservation that the event is about; where it has to have one and there is none, nothing is
// written.
std::string request_of(const Plan& plan, const Event& event, Protocol protocol, std::string_view id);

// The replies to the requests of one connection, in their order.
class Replies {
 public:
  explicit Replies(Protocol protocol) : protocol_(protocol) {}

  // The reply to `event` that these bytes begin with, which are taken off; none when it is not whole.
  std::optional<Reply> next(const Plan& plan, const Event* event, std::string& bytes);

 private:
  std::optional<Reply> next_of_resp(std::string& bytes);

  Protocol protocol_;
  resp::ReplyParser parser_{};
};

}  // namespace weir::simulation
