// resp_fuzz: whatever bytes arrive, and however they are cut, the parser hears the same commands.
//
// The input is a stream as a client would send it, so that the seeds in corpus/resp can be read and sent with
// nc. It is parsed three times under each of three sets of bounds: whole, cut where the input's own hash
// says, and byte by byte. Every word that comes out is then echoed through Writer and parsed as a number.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/number.hpp"
#include "resp/parser.hpp"
#include "resp/writer.hpp"

namespace {

using weir::resp::Bounds;
using weir::resp::CommandParser;
using weir::resp::Writer;

// Longer inputs are not fed byte by byte: the harness itself (not the parser) copies quadratically.
constexpr std::size_t kByteByByte = 1024;

// Unlike assert, it holds in every build.
void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "resp_fuzz: not so: %s\n", what);
  std::abort();
}

struct Heard {
  std::vector<std::vector<std::string>> commands;
  std::string error;
  std::string leftover;

  bool operator==(const Heard&) const = default;
};

bool lies_in(std::string_view word, std::string_view bytes) {
  const std::less_equal<const char*> not_after;
  return not_after(bytes.data(), word.data()) &&
         not_after(word.data() + word.size(), bytes.data() + bytes.size());
}

// `piece_size` says how long the next piece is, given how many bytes have been fed.
template <typename PieceSize>
Heard hear(std::string_view stream, const Bounds& bounds, const PieceSize& piece_size) {
  Heard heard;
  CommandParser parser;
  std::size_t fed = 0;
  while (fed < stream.size()) {
    const std::string_view piece = stream.substr(fed, piece_size(fed));
    fed += piece.size();
    heard.leftover += piece;
    // A fresh block of exactly this size: a view kept from the last call, or a byte read too far,
    // is an ASan report.
    const std::vector<char> block(heard.leftover.begin(), heard.leftover.end());
    std::string_view input(block.data(), block.size());
    CommandParser::Status status = parser.next(input, bounds);
    for (; status == CommandParser::Status::complete; status = parser.next(input, bounds)) {
      require(parser.consumed() > 0 && parser.consumed() <= input.size(),
              "a command has bytes, and no foreign ones");
      require(parser.consumed() <= bounds.command_bytes, "a command is within its bound");
      require(parser.args().size() <= bounds.args, "a command has no more words than allowed");
      const std::string_view own = input.substr(0, parser.consumed());
      for (const std::string_view word : parser.args()) {
        require(word.size() < own.size(), "a word is shorter than its command");
        if (parser.args_in_input()) require(lies_in(word, own), "a word lies in its own command");
      }
      heard.commands.emplace_back(parser.args().begin(), parser.args().end());
      input.remove_prefix(parser.consumed());
    }
    require(parser.args().empty() && parser.consumed() == 0, "no command, no words");
    if (status == CommandParser::Status::malformed) {
      heard.error = parser.error();
      heard.leftover.clear();
      require(heard.error.starts_with("ERR Protocol error: "), "an error says what it is");
      for (const char c : heard.error) require(c >= ' ' && c <= '~', "an error is printable");
      require(parser.next(stream, bounds) == CommandParser::Status::malformed, "an error stays");
      break;
    }
    heard.leftover = input;
    require(heard.leftover.size() <= bounds.command_bytes, "what is kept is within the bound of a command");
  }
  return heard;
}

void check_line(std::string_view wire, char type, std::size_t text_size) {
  require(wire.size() >= text_size + 3 && wire.front() == type, "a line is its type, its text and CRLF");
  require(wire.find_first_of("\r\n") == wire.size() - 2 && wire.ends_with("\r\n"), "a line has one end");
}

// A status line has its text as it is; an error line writes as \xNN what would control a terminal.
void check_status_line(std::string_view wire, std::size_t text_size) {
  check_line(wire, '+', text_size);
  require(wire.size() == text_size + 3, "a status line is as long as its text");
}

void check_error_line(std::string_view wire, std::size_t text_size) {
  check_line(wire, '-', text_size);
  for (const char c : wire.substr(0, wire.size() - 2)) {
    require(static_cast<unsigned char>(c) >= ' ' && c != '\x7F', "an error line controls no terminal");
  }
}

void check_number(std::string_view word) {
  const auto number = weir::core::parse_integer(word);
  if (number)
    require(std::to_string(*number) == word, "a number is what its text says, and has one spelling");
}

void check_echo(const std::vector<std::string>& words) {
  std::string command;
  Writer as_command(command);
  as_command.array(words.size());
  for (const std::string& word : words) {
    as_command.bulk(word);
    check_number(word);
    std::string out;
    Writer(out).simple(word);
    check_status_line(out, word.size());
    out.clear();
    Writer(out, 3).error(word);
    check_error_line(out, word.size());
  }
  CommandParser parser;
  const Bounds wide{.command_bytes = command.size()};
  require(
      parser.next(command, wide) == CommandParser::Status::complete && parser.consumed() == command.size(),
      "what Writer writes is a command again");
  require(std::vector<std::string>(parser.args().begin(), parser.args().end()) == words,
          "with the same words");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string stream(data, data + size);
  check_number(stream);
  const Bounds all_bounds[] = {
      {},
      weir::resp::kUnauthenticated,
      // So small that an input of fifty bytes reaches every bound.
      {.args = 3, .bulk_bytes = 24, .inline_bytes = 16, .command_bytes = 40, .authenticated = true},
  };
  for (const Bounds& bounds : all_bounds) {
    const Heard whole = hear(stream, bounds, [&](std::size_t) { return stream.size(); });
    std::size_t state = std::hash<std::string_view>{}(stream);
    const Heard cut = hear(stream, bounds, [&](std::size_t) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return 1 + (state >> 33) % (1 + size / 4);
    });
    require(whole == cut, "a cut stream holds the same commands");
    if (size <= kByteByByte) {
      require(whole == hear(stream, bounds, [](std::size_t) { return std::size_t{1}; }),
              "bytes hold the same commands");
    }
    for (const auto& words : whole.commands) check_echo(words);
  }
  return 0;
}
