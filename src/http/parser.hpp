// Finds the requests in what a client sends: Boost.Beast's parser for the grammar, and more strictness where
// two readers of the same bytes could disagree about where a request ends (request smuggling).
//
// One connection's, one thread. What it finds views the input and the room for fields. Half a request is not
// read twice: only its head is, once more, when its body has come. Not for: what a request asks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace weir::inline v0_1::http {

// What a request may be at most. A connection's bytes are kept until its request is whole.
constexpr std::size_t kMostTarget = std::size_t{8} << 10;
constexpr std::size_t kMostHead = std::size_t{16} << 10;  // with the target
constexpr std::size_t kMostFields = 100;
constexpr std::size_t kMostBody = std::size_t{1} << 20;
// Of a body in chunks, as sent: one byte a chunk must not cost five times the memory.
constexpr std::size_t kMostChunks = 2 * kMostBody;

using FieldRoom = std::array<Field, kMostFields>;

class RequestParser {
 public:
  enum class Status : std::uint8_t {
    incomplete,  // its head is not whole
    head,        // its head is, not its body; message() has the head at the first of these answers
    whole,       // consumed() says how long it is, a body that is thrown away not counted
    skipped,     // consumed() bytes of such a body, all or some of it or none
    refused,     // not a request, or too large: refusal() says why; nothing after it can be understood
  };
  struct ParseError {
    int status = 400;
    std::string_view detail;  // a constant
  };

  // Whether the body of a request with this head is thrown away as it comes, however long: then the request
  // is whole with its head, and the message has no body.
  using ThrowsAway = bool (*)(const Message& head);

  explicit RequestParser(ThrowsAway throws_away = nullptr);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Looks at `input`, which begins with a request: after `whole` with the next one, else with the same one
  // and perhaps more of it.
  Status next(std::string_view input, FieldRoom& room);

  const Message& message() const { return message_; }
  // The request that was found last is not done with: next() finds it once more.
  void find_again() { done_ = true; }
  // After `whole`: the message is not looked at any more, and what its body takes is freed.
  void drop_body() {
    message_ = {};
    if (!skipping_) free_chunks();
  }
  std::size_t consumed() const { return consumed_; }
  const ParseError& refusal() const { return refusal_; }
  // More of a body that is thrown away is to come.
  bool skipping() const { return skipping_; }
  // With `head`, or `whole` before a body that is thrown away: the client sends it when it has been told to.
  bool expects_continue() const { return expects_continue_; }
  // Bytes, besides the input.
  std::size_t kept() const;

 private:
  struct Chunks;

  Status read_head(std::string_view input, FieldRoom& room);
  bool find_head_end(std::string_view input);
  bool judge_framing();
  bool judge_host();
  Status read_body(std::string_view input);
  Status begin_skipping(std::string_view input);
  Status skip(std::string_view input);
  Status refuse(int status, std::string_view detail);
  void forget();
  void free_chunks();

  ThrowsAway throws_away_;
  Message message_;
  std::size_t lead_ = 0;     // empty lines before the request
  std::size_t scanned_ = 0;  // of the input: lines that are looked at
  std::size_t head_ = 0;     // where the head ends in the input; 0: not found yet
  std::size_t body_ = 0;     // its length, or what is left of it to skip, unless it comes in chunks
  std::unique_ptr<Chunks> chunks_;
  std::size_t consumed_ = 0;
  ParseError refusal_;
  bool chunked_ = false;
  bool expects_continue_ = false;
  bool skips_ = false;     // its body is thrown away
  bool skipping_ = false;  // and it is on its way
  bool done_ = false;      // the last answer was `whole`
};

}  // namespace weir::http
