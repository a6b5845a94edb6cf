// The HTTP/2 of one connection, as a server of gRPC speaks it: bytes to calls, answers to bytes. Framing,
// header compression, flow control and what the RFC says of a client's mistakes are nghttp2's; bounds are
// ours.
//
// Calls come whole, each with one message. The thread of its loop. Not for: sockets, and what a message
// means.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grpc/call.hpp"

struct nghttp2_session;  // NOLINT(readability-identifier-naming): the library's

namespace weir::inline v0_1::grpc {

// What answers calls.
class Services {
 public:
  virtual ~Services() = default;
  // The number of a method by its path; below 0: there is none.
  virtual int find(std::string_view path) const = 0;
  // Answers `call` by reply(), refuse() or stream(), now or, when it sets `asked`, later.
  virtual void run(GrpcCall& call) = 0;
  // A stream()'s client has gone.
  virtual void gone(GrpcCall& call) = 0;
};

// Frames that end a connection that has none: SETTINGS, and GOAWAY with ENHANCE_YOUR_CALM.
std::string_view last_words();

class Connection {
 public:
  static constexpr std::uint32_t kMostStreams = 1024;
  // Calls that wait for a store, those too whose clients have gone: a client that resets all that it asks
  // (CVE-2023-44487) has no more of them than this.
  static constexpr std::size_t kMostCalls = std::size_t{4} * kMostStreams;
  static constexpr std::size_t kMostMessage = std::size_t{4} << 20;
  static constexpr std::size_t kMostHeaderBytes = std::size_t{16} << 10;
  // About the bytes of one whose client asks nothing: what nghttp2 keeps of a session, mostly the tables of
  // its compression, and what is kept to be used again.
  static constexpr std::size_t kAtRest = std::size_t{16} << 10;
  // Bytes to send beyond this end a call of send().
  static constexpr std::size_t kOutputCap = std::size_t{256} << 10;

  explicit Connection(Services& services);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Takes all of `input`, and runs the calls that are whole. False: the client does not speak HTTP/2, or
  // floods; what is to be sent says why, and then the connection ends.
  bool receive(std::string_view input, std::chrono::nanoseconds now);
  // Appends what is to be sent. False: there is more.
  bool send(std::string& out);

  // Its message is in answer(), after the prefix.
  void reply(GrpcCall& call);
  void refuse(GrpcCall& call, Code code, std::string_view text);
  // A first message, or one more, of a call that stays open; and its end.
  void stream(GrpcCall& call, std::string_view message);
  void end(GrpcCall& call, Code code, std::string_view text);

  // Says that the client is to go elsewhere; and takes no more calls, as it does by itself once the client
  // has understood. Those that have come are answered.
  void go_away();
  void take_no_more();
  bool leaving() const { return leaving_; }
  // Nothing is to be read or written any more.
  bool over() const;

  // Its client is to send the rest of a call, or to take what is sent, which its windows do not admit.
  bool owed() const { return owed_ > 0 || unsent_ > 0; }
  // The calls, in the order in which they came; one whose client has gone may be among them.
  const std::list<std::unique_ptr<GrpcCall>>& calls() const { return calls_; }
  // Bytes: what its peer makes it keep, besides what any has it keep.
  std::size_t kept() const;
  // Why receive() was false.
  const std::string& wrong() const { return wrong_; }

 private:
  struct Callbacks;

  GrpcCall* begin(std::int32_t stream);
  void take_header(GrpcCall& call, std::string_view name, std::string_view value);
  void take_head(GrpcCall& call);
  void take_data(GrpcCall& call, std::string_view data);
  void take_end(GrpcCall& call);
  void refuse_compressed(GrpcCall& call);
  using Field = std::pair<std::string_view, std::string_view>;
  void refuse_by(GrpcCall& call, std::initializer_list<Field> head);
  void start(GrpcCall& call);
  void go_on(GrpcCall& call);
  std::ptrdiff_t read_reply(GrpcCall& call, std::span<std::uint8_t> to, std::uint32_t* flags);
  void close(GrpcCall& call);
  void forget(GrpcCall& call);
  void hold(GrpcCall& call, std::size_t bytes);

  Services& services_;
  nghttp2_session* session_ = nullptr;
  std::list<std::unique_ptr<GrpcCall>> calls_;
  std::vector<std::unique_ptr<GrpcCall>> free_;
  std::chrono::nanoseconds now_{0};
  std::size_t owed_ = 0;    // calls whose clients have not said all
  std::size_t unsent_ = 0;  // calls of whose answers something is to be sent
  std::size_t held_ = 0;    // bytes of messages and answers
  bool leaving_ = false;
  bool takes_no_more_ = false;
  bool broken_ = false;
  std::string wrong_;
};

}  // namespace weir::grpc
