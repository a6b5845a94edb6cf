// One call that a client of gRPC makes over a connection of its own, and in which both sides send messages
// until one of them ends it: bytes to messages, messages to bytes.
//
// The thread of its connection. Not for: sockets, and what a message means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct nghttp2_session;  // NOLINT(readability-identifier-naming): the library's

namespace weir::inline v0_1::grpc {

class ClientStream {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  struct Options {
    std::string path;
    std::string authority;
    std::string scheme = "http";
    Fields headers{};  // names in lower case
    std::size_t most_message = std::size_t{4} << 20;
  };
  // It must not end the ClientStream.
  using OnMessage = std::function<void(std::string_view message)>;

  ClientStream(const Options& options, OnMessage on_message);
  ~ClientStream();
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // Takes all of `input`. False: the call is over, and why() says why.
  bool receive(std::string_view input);
  // Appends all that is to be sent and that the server's windows admit.
  void send(std::string& out);
  void write(std::string_view message);
  void ping();

  const std::string& why() const { return why_; }
  bool greeted() const { return greeted_; }            // the server has begun to speak HTTP/2
  bool owes_pong() const { return pings_ != pongs_; }  // it has not answered the last ping

 private:
  struct Callbacks;

  void collect();
  void take_header(std::string_view name, std::string_view value);
  void take_data(std::string_view data);
  void take_end(std::uint32_t error);
  void fail(std::string why);

  const std::size_t most_message_;
  const OnMessage on_message_;
  nghttp2_session* session_ = nullptr;
  std::int32_t stream_ = 0;
  std::string out_;      // frames
  std::string sending_;  // messages, of which `sent_` bytes are written
  std::size_t sent_ = 0;
  std::string body_;  // of a message that is not whole
  std::size_t header_bytes_ = 0;
  std::string http_status_;
  std::string status_;
  std::string text_;
  std::string why_;
  std::uint64_t pings_ = 0;
  std::uint64_t pongs_ = 0;
  bool greeted_ = false;
};

}  // namespace weir::grpc
