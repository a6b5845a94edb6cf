// reply_fuzz: whatever a server answers, and however it is cut, the parser reads the same values and stays
// within the bytes; and what is read as the script's answer makes decisions or errors, nothing else.
//
// The input is what a server would send, one answer after the other.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/script.hpp"
#include "resp/value.hpp"

namespace {

using weir::resp::Parsed;
using weir::resp::ReplyParser;
using weir::resp::Value;
using Status = Parsed::Status;

// Longer inputs are not cut at every byte: that is quadratic.
constexpr std::size_t kEveryByte = 256;

// Unlike assert, it holds in every build.
void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "reply_fuzz: not so: %s\n", what);
  std::abort();
}

bool lies_in(std::string_view text, std::string_view bytes) {
  const std::less_equal<const char*> not_after;
  return not_after(bytes.data(), text.data()) &&
         not_after(text.data() + text.size(), bytes.data() + bytes.size());
}

// Everything in it, as text, so that two can be compared. Every view is read.
void tell(const Value& value, std::string_view bytes, std::size_t nesting, std::string& out) {
  require(nesting <= ReplyParser::kMostNesting, "nesting is bounded");
  if (!value.text.empty()) require(lies_in(value.text, bytes), "a text lies in its own answer");
  out += std::to_string(static_cast<int>(value.type)) + " " + std::to_string(value.integer) + " ";
  out += value.text;
  out += "(";
  for (const Value& item : value.items) tell(item, bytes, nesting + 1, out);
  out += ")";
}

std::string told(const Parsed& parsed, std::string_view bytes) {
  std::string out = std::to_string(static_cast<int>(parsed.status)) + " " + std::to_string(parsed.used) + " ";
  if (parsed.status == Status::value) tell(parsed.value, bytes.substr(0, parsed.used), 0, out);
  require(parsed.why.empty() == (parsed.status != Status::broken),
          "what is broken says why, and nothing else");
  return out;
}

void check_cut(std::string_view bytes, std::size_t size, const Parsed& whole, const std::string& whole_told) {
  // A block of exactly this size: a byte read too far is an ASan report.
  const std::vector<char> block(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  const std::string_view piece(block.data(), block.size());
  ReplyParser parser;
  const Parsed cut = parser.parse(piece);
  const std::string cut_told = told(cut, piece);
  if (whole.status == Status::value) {
    require(size < whole.used ? cut.status == Status::more : cut_told == whole_told,
            "an answer is read when its last byte is there");
  } else {
    require(cut.status == Status::more || cut.status == whole.status, "a beginning is not an answer");
  }
}

void check_decisions(const Value& value) {
  for (const char* text : {"10/s", "1/9223372036854775807ns", "3/s burst 1000", "10/s algorithm=fixed_window",
                           "10/s algorithm=fixed_window align=clock", "10/s algorithm=sliding_window_log",
                           "4/2s algorithm=sliding_window_counter"}) {
    const weir::core::Rule rule = weir::core::Rule::parse(text).value();
    for (const std::uint64_t cost : {0UL, 1UL, 2000UL}) {
      const std::array asks = {weir::redis::ScriptCheck{&rule, "key", weir::Cost{cost}},
                               weir::redis::ScriptCheck{&rule, "other", weir::Cost{1}}};
      std::array<weir::Decision, 2> decisions;
      for (std::size_t count = 1; count <= asks.size(); ++count) {
        const auto charged = weir::redis::read_check(value, std::span(asks).first(count), decisions);
        if (!charged || !*charged) continue;
        for (std::size_t i = 0; i < count; ++i) require(decisions[i].allowed(), "what is charged is allowed");
      }
      std::array guaranteed = asks;
      guaranteed[0].shadow = true;
      guaranteed[1].inside = 0;
      const auto passes = weir::redis::read_check(value, guaranteed, decisions);
      require(!passes || *passes == decisions[1].allowed(), "a shadow stops nobody");
      const auto would_pass = weir::redis::read_look(value, asks, decisions);
      require(!would_pass || *would_pass == (decisions[0].allowed() && decisions[1].allowed()),
              "a look says whether all are allowed");
      if (rule.algorithm == weir::Algorithm::sliding_window_log) continue;
      std::array<weir::Decision, 5> times;
      const auto charged = weir::redis::read_times(value, asks[0], times);
      for (std::size_t i = 0; charged && i < times.size(); ++i)
        require(times[i].allowed() == (i < *charged), "the first ones are those that are charged");
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string stream(data, data + size);
  std::string_view rest = stream;
  ReplyParser parser;
  for (;;) {
    const Parsed parsed = parser.parse(rest);
    require(parsed.used <= rest.size(), "an answer is not longer than what came");
    require((parsed.used != 0) == (parsed.status == Status::value), "an answer has bytes");
    const std::string whole = told(parsed, rest);
    if (parsed.status == Status::value) check_decisions(parsed.value);
    if (size <= kEveryByte) {
      for (std::size_t cut = 0; cut <= rest.size(); ++cut) check_cut(rest, cut, parsed, whole);
    } else if (!rest.empty()) {
      check_cut(rest, std::hash<std::string_view>{}(rest) % rest.size(), parsed, whole);
    }
    if (parsed.status != Status::value) return 0;
    rest.remove_prefix(parsed.used);
  }
}
