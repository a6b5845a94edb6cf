// A connection to one node of the engine that is checked: bytes out, answers in.
//
// One thread. No sockets here: the program hands in how a connection is opened. Not for: which node that is
// (bench.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "resp/value.hpp"

namespace weir::inline v0_1::engine {

// Nothing came in time, or the connection could not be opened or has ended: a sentence.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The one who runs the check has stopped it.
struct Stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct WireAnswer {
  resp::Value value;
  std::string_view bytes;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual void send(std::string_view bytes) = 0;
  // The next answer, good until the one after it. Throws NoAnswer, Stopped, or Seen (outcome.hpp) when what
  // came is not RESP.
  virtual WireAnswer receive() = 0;
};

// Port 0: `host` is the path of a Unix socket. Throws NoAnswer.
using Open = std::function<std::unique_ptr<Wire>(const std::string& host, std::uint16_t port, bool tls)>;

}  // namespace weir::engine
