// Who asks: `Authorization: Bearer TOKEN`, or `Basic` with the user and the password of RESP.
//
// Pure, any thread. Not for: comparing secrets (service/credentials.hpp), and not for the gate, whose
// gateways pass on what their own clients send in this field.
#pragma once

#include <cstdint>
#include <string>

#include "http/message.hpp"
#include "service/service.hpp"

namespace weir::http {

enum class Authorized : std::uint8_t {
  yes,
  missing,  // it says nothing that could be compared
  wrong,
};

inline bool asks_who(const service::Service& service) {
  return service.credentials.required() || service.token.required();
}
Authorized authorize(const service::Service& service, const Message& message);
// The field of a 401, which says what is accepted.
void append_challenge(std::string& fields, const service::Service& service);

}  // namespace weir::http
