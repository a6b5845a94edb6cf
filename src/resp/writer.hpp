// Writer: writes answers in RESP2 or RESP3, and requests, at the end of a string that the caller owns.
//
// A Writer is a reference and a protocol number: make one where it is needed, in the thread that owns the
// string. The string must outlive it. Nothing is flushed and nothing else is allocated, so a batch of answers
// is one string.
// The header functions (array, map, set) announce how many values follow; that many must then be written, and
// a map announces pairs.
// Not for: reading answers (resp/value.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::resp {

class Writer {
 public:
  // `protocol` is what the client chose by HELLO: 2 or 3.
  explicit Writer(std::string& out, int protocol = 2) : out_(out), resp3_(protocol >= 3) {}

  // What follows is in this protocol: the client has just chosen it.
  void use(int protocol) { resp3_ = protocol >= 3; }

  void integer(std::int64_t value);

  // A status line and an error line end at their first CRLF, so a CR or LF inside `text` is sent as
  // a space: an echoed argument must not be able to forge a second answer. The text of an error
  // starts with its code word ("ERR ..."); what would control a terminal in it is sent as \xNN.
  void simple(std::string_view text);
  void error(std::string_view text);

  // Any bytes, unchanged.
  void bulk(std::string_view bytes);
  // A number as commands want it: its digits, as bulk() would write them.
  void number(std::uint64_t value);

  // RESP2 has two kinds of nil, and clients expect the one that fits the place; RESP3 has one.
  void null();
  void null_array();

  void array(std::size_t values);
  void map(std::size_t pairs);    // RESP2: a flat array of twice as many values
  void push(std::size_t values);  // RESP3 alone: what answers nothing that stands beside it

  // Text for a person, as INFO answers: RESP3 marks it "txt", RESP2 sends a bulk.
  void verbatim(std::string_view text);

  // The answer to CL.THROTTLE, in one append: this is the reply that the server sends most.
  void five_integers(const std::array<std::int64_t, 5>& values);
  // Four integers and of which limit they are, as WEIR.CHARGE answers.
  void four(const std::array<std::int64_t, 4>& values, std::string_view by);
  // The five and who decided, as WEIR.* answers.
  void six(const std::array<std::int64_t, 5>& values, std::string_view by);
  // The same with the id of a reservation, at most 64 bytes; null when it is empty.
  void seven(const std::array<std::int64_t, 5>& values, std::string_view id, std::string_view by);

 private:
  void append_with_bulk(char* first, char* at, std::string_view bytes);
  void header(char type, std::uint64_t count);
  void line(char type, std::string_view text);

  std::string& out_;
  bool resp3_;
};

}  // namespace weir::resp
