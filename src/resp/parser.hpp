// RequestParser: finds the commands in the bytes that a client sent, as Redis 7 does.
//
// One parser serves one connection and is used by one thread at a time. The bytes stay the caller's: args()
// are views into `input`, valid until `input` changes or next() is called again, whichever comes first. Only
// words of a quoted inline line, which had to be unescaped, live in the parser itself (see args_in_input).
// Memory follows the bytes that have arrived, never a length that a client has promised.
// Not for: replies of another Redis, sockets, or what a command means.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::resp {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMostCommandBytes = 16 * kKiB * kKiB;

// What one command may be. A command beyond it is a protocol error, so that a caller never has to hold more
// than `command_bytes` of an unfinished one.
struct Bounds {
  std::size_t args = 256 * kKiB;                  // words in one command
  std::size_t bulk_bytes = 512 * kKiB;            // bytes in one word
  std::size_t inline_bytes = 64 * kKiB;           // bytes in one line, inline or header; at least 8
  std::size_t command_bytes = kMostCommandBytes;  // in a whole command with its headers; above 4 GiB is 4 GiB
  bool authenticated = true;                      // only chooses the error text
};

// Redis allows a client that has not given its password yet 10 words of 16,384 bytes; here the whole command
// is held to that size as well.
inline constexpr Bounds kUnauthenticated{.args = 10,
                                         .bulk_bytes = 16 * kKiB,
                                         .inline_bytes = 16 * kKiB,
                                         .command_bytes = 16 * kKiB,
                                         .authenticated = false};

class CommandParser {
 public:
  enum class Status { complete, incomplete, malformed };

  CommandParser() = default;
  // Moving keeps args() valid; a copy would refer to the other parser's unescaped words.
  CommandParser(CommandParser&&) = default;
  CommandParser& operator=(CommandParser&&) = default;
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;
  ~CommandParser() = default;

  // Parses the first command of `input`, which holds every byte received and not yet consumed.
  //
  // complete:   args() are its words and consumed() says how many bytes to drop before the next call.
  //             A command without words (`*0`, `*-1`, an empty line) is complete too: ignore it.
  // incomplete: nothing is to be dropped; the next call must pass the same bytes at the front, at any
  //             address, with more after them. The work is linear in the bytes, however they are cut.
  // malformed:  error() is the text of the one error line to send before closing. The parser stays so.
  //
  // The call after a large command releases the memory for its words, even with an empty input.
  Status next(std::string_view input, const Bounds& bounds);

  std::span<const std::string_view> args() const {
    return {count_ <= kFew ? few_.data() : many_.data(), count_};
  }

  // Whether every word is a view into `input`, so that it outlives the next call of next(): true of
  // everything except inline lines with quotes. A caller that parses a batch before it decides must
  // look here.
  bool args_in_input() const { return unquoted_.empty(); }

  std::size_t consumed() const { return consumed_; }

  // The memory that it keeps beyond its own.
  std::size_t kept() const {
    return many_.capacity() * sizeof(std::string_view) + places_.capacity() * sizeof(Place) +
           unquoted_.capacity();
  }

  // Starts with "ERR Protocol error: " and holds printable ASCII only.
  std::string_view error() const { return error_; }

 private:
  // Commands of this many words need no memory beyond the parser itself: CL.THROTTLE has five or six.
  static constexpr std::size_t kFew = 16;

  enum class Phase : std::uint8_t {
    fresh,
    fresh_after_large,
    inline_line,
    count_line,
    length_line,
    word,
    failed
  };
  enum class LineStatus : std::uint8_t { found, incomplete, broken, too_long, too_large };

  // Where a word lies while the command is unfinished and its bytes may still move.
  struct Place {
    std::uint32_t offset;
    std::uint32_t length;
  };

  bool next_small(std::string_view input, const Bounds& bounds);
  Status next_any(std::string_view input, const Bounds& bounds);
  Status next_inline(std::string_view input, const Bounds& bounds);
  Status read_count(std::string_view input, const Bounds& bounds);
  Status read_length(std::string_view input, const Bounds& bounds);
  Status read_word(std::string_view input);
  LineStatus find_line(std::string_view input, const Bounds& bounds, std::string_view& number);
  void start();
  void add_arg(std::string_view word);
  Status finish(std::size_t consumed);
  Status fail(std::string_view text);

  std::array<std::string_view, kFew> few_{};
  std::vector<std::string_view> many_;  // all words, when they are more than kFew
  std::size_t count_ = 0;
  std::size_t consumed_ = 0;

  Phase phase_ = Phase::fresh;
  std::size_t position_ = 0;    // where the header or word being read begins
  std::size_t scanned_ = 0;     // up to where the present line is known to have no end
  std::size_t words_left_ = 0;  // promised and not yet seen: a number, not a reservation
  std::size_t word_length_ = 0;
  std::vector<Place> places_;
  std::vector<char> unquoted_;  // a vector, because its bytes stay where they are when the parser moves
  std::string error_;
};

// Whether this is a browser tricked into speaking to us: the first word of a line is `POST` or
// `Host:`, in any case. Such a connection is to be closed without running anything, as Redis does
// (cross-protocol scripting).
bool looks_like_http(std::span<const std::string_view> args);

}  // namespace weir::resp
