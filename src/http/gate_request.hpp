// What a gateway says of its client's request, as attributes: by a profile of the limits file, from the
// headers of the check that it sends.
//
// Pure, any thread. A client can write headers too: only those that the profile names are read, and one that
// comes twice is nobody's word. Not for: who may ask, and the answer (gate.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "limits/attribute.hpp"
#include "limits/file.hpp"

namespace weir::inline v0_1::http {

// Used again for the next one, so that the path keeps its memory. It views the message and the profile.
struct GateRequest {
  enum class Wrong : std::uint8_t {
    nothing,
    header_twice,
    odd_address,  // where the client's is looked for, something else stands
    odd_path,
  };
  static constexpr std::size_t kMost = 40;  // five of the gateway's and those that a profile may map

  Wrong wrong = Wrong::nothing;  // then it is denied, and no attribute counts
  bool has_ip = false;
  bool has_path = false;
  // The client's address, where it may be that of a proxy which `trusted` lacks.
  std::string_view proxy{};
  std::size_t count = 0;
  std::array<limits::Attribute, kMost> attributes;
  std::string path;

  std::span<const limits::Attribute> all() const { return {attributes.data(), count}; }
};

// `target` is what follows the profile in the target of the check, its query too.
void read_gate_request(const limits::Gateway& gateway, const Message& message, std::string_view target,
                       GateRequest& into);

}  // namespace weir::http
