// Who asks: `Authorization: Bearer TOKEN`, or `Basic` with the user and the password of RESP.
//
// Any thread. Not for: comparing secrets (service/credentials.hpp), and not for the gate, whose
// gateways pass on what their own clients send in this field.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/message.hpp"
#include "http/writer.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::http {

enum class Authorized : std::uint8_t {
  yes,
  missing,  // it says nothing that could be compared, or that is compared
  wrong,
};

inline bool asks_who(const service::Service& service) {
  return service.credentials.required() || service.token.required();
}
// Unless `yes`, writes the refusal. What is `wrong` is a guess: it is counted and told of, and its answer is
// to come late. `known`: the connection has shown right ones before, so this is compared however many wrong
// ones come from its address.
Authorized admit(service::Service& service, const Message& message, std::string_view address, bool known,
                 Reply& reply);

}  // namespace weir::http
