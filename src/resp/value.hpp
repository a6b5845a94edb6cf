// ReplyParser: reads the answers of a Redis or Valkey, in RESP2 or RESP3.
//
// One parser serves one connection and is used by one thread at a time. A Value and everything in it are
// views: text lies in `input`, items in the parser. Both are valid until the next parse(), and text only as
// long as the bytes of `input`. After an answer of some size, a parser allocates nothing for the next one of
// that size.
//
// Memory follows the bytes that have arrived, never a count that was promised. Not for: what clients send
// (resp/parser.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::resp {

struct Value {
  // Kinds that need no distinction here are one type: simple, bulk and verbatim strings, doubles and big
  // numbers are strings; a boolean is an integer; a set is an array, and so is a map, keys and values
  // alternating. Attributes are skipped. A push is an array that answers no command.
  enum class Type : std::uint8_t { string, error, integer, null, array, push };

  Type type = Type::null;
  std::int64_t integer = 0;
  std::string_view text;         // of a string; of an error, as in "ERR no"
  std::span<const Value> items;  // of an array or a push
};

struct Parsed {
  enum class Status : std::uint8_t { value, more, broken };

  Status status;
  std::size_t used;      // bytes of `input` that the value took; 0 without one
  Value value;           // with Status::value
  std::string_view why;  // with Status::broken: a sentence; the connection is no longer usable
};

class ReplyParser {
 public:
  // An answer beyond these is broken: none that we ask for comes near them.
  static constexpr std::size_t kMostBytes = 1024 * std::size_t{1024};
  static constexpr std::size_t kMostNesting = 8;

  ReplyParser() = default;
  // A copy's values would refer to the original.
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // The first answer in `input`. `more`: call again with the same bytes and more after them. Parsing then
  // starts again, which does not matter at the size of our answers.
  Parsed parse(std::string_view input);

 private:
  class Reader;

  std::vector<Value> items_;  // of every array; those of one array lie side by side
};

}  // namespace weir::resp
