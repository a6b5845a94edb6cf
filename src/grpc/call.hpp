// One call of a client: what it asks, and what it is answered.
//
// A stream of the connection (connection.hpp), which owns it; one that is asked of a store stays until it is
// answered, though its client may have gone. The thread of its loop. Not for: what the bytes of a message
// mean.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "grpc/message_prefix.hpp"

namespace weir::inline v0_1::grpc {

// Those of the codes of gRPC that are sent.
enum class Code : std::uint8_t {
  ok = 0,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
};

struct GrpcCall {
  static constexpr std::chrono::nanoseconds kNoDeadline = std::chrono::nanoseconds::max();

  // Its message, once it is whole.
  std::string_view message() const { return std::string_view(body).substr(kPrefix); }
  // To write an answer's message to: after room for its prefix.
  std::string& answer() {
    reply.assign(kPrefix, '\0');
    return reply;
  }

  std::int32_t stream = 0;
  int method = -1;                    // which, as its services know it
  std::chrono::nanoseconds began{0};  // when its headers came, on the loop's clock
  std::chrono::nanoseconds deadline = kNoDeadline;
  bool open = true;    // false: its client has gone
  bool asked = false;  // a service has it, and has not answered

  // The connection's own.
  std::string path{};
  std::string body{};   // prefix and message
  std::string reply{};  // of which `sent` bytes are written
  std::size_t sent = 0;
  std::size_t header_bytes = 0;
  std::size_t held = 0;  // bytes of it that are counted as kept
  Code code = Code::ok;  // of the end
  std::string text{};    // of the end
  bool post = false;
  bool is_grpc = false;
  bool wrong_timeout = false;
  bool ended = false;          // its client has said all
  bool answered = false;       // or refused: what else comes of it is thrown away
  bool streams = false;        // it gets more than one message
  bool finished = false;       // it gets no more
  bool waits_to_send = false;  // for more to send
  bool all_read = false;       // for the client
  std::list<std::unique_ptr<GrpcCall>>::iterator place{};

  bool has_reply() const { return !reply.empty(); }
  // As new, but for the memory of short texts.
  void reset(std::size_t most) {
    GrpcCall fresh;
    const auto keep = [most](std::string& from, std::string& to) {
      if (from.capacity() > most) return;
      from.clear();
      to = std::move(from);
    };
    keep(path, fresh.path);
    keep(body, fresh.body);
    keep(reply, fresh.reply);
    *this = std::move(fresh);
  }
};

}  // namespace weir::grpc
