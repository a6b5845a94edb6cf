#include "resp/value.hpp"

#include <algorithm>
#include <optional>

#include "core/number.hpp"

namespace weir::inline v0_1::resp {
namespace {

// The shortest value is a type, nothing, CR and LF.
constexpr std::size_t kShortestValue = 3;

constexpr std::string_view kAnswerTooLarge = "the answer is larger than 1 MiB";

}  // namespace

// Walks through one answer. Every step says whether it reached its end; if not, status() says why.
class ReplyParser::Reader {
 public:
  Reader(std::string_view input, std::vector<Value>& items)
      : input_(input.substr(0, kMostBytes)), items_(items) {}

  bool value(Value& out, std::size_t nesting) {
    for (;;) {
      if (input_.size() - at_ < kShortestValue) return more();
      const char type = input_[at_++];
      switch (type) {
        case '+':
        case ',':
        case '(':
          out.type = Value::Type::string;
          return line(out.text);
        case '-':
          out.type = Value::Type::error;
          return line(out.text);
        case ':':
          out.type = Value::Type::integer;
          return number(out.integer);
        case '$':
          return bulk(out, Value::Type::string);
        case '!':
          return bulk(out, Value::Type::error);
        case '=':
          return bulk(out, Value::Type::string) && unmarked(out);
        case '_':
          return nothing();
        case '#':
          return boolean(out);
        case '*':
        case '~':
          return array(out, Value::Type::array, 1, nesting);
        case '%':
          return array(out, Value::Type::array, 2, nesting);
        case '>':
          return array(out, Value::Type::push, 1, nesting);
        case '|': {  // Attributes precede the value that they belong to.
          Value attributes;
          if (!array(attributes, Value::Type::array, 2, nesting)) return false;
          break;
        }
        default:
          return broken("an answer begins with an unknown type byte");
      }
    }
  }

  std::size_t used() const { return at_; }
  Parsed::Status status() const { return status_; }
  std::string_view why() const { return why_; }
  // Whether it stopped because `items` was too small and would have had to move.
  bool again() const { return again_; }

 private:
  bool more() {
    if (input_.size() == kMostBytes) return broken(kAnswerTooLarge);
    status_ = Parsed::Status::more;
    return false;
  }

  bool broken(std::string_view why) {
    status_ = Parsed::Status::broken;
    why_ = why;
    return false;
  }

  bool line(std::string_view& text) {
    const std::size_t end = input_.find('\r', at_);
    if (end == std::string_view::npos || end + 1 == input_.size()) return more();
    if (input_[end + 1] != '\n') return broken("a line of an answer does not end with CRLF");
    text = input_.substr(at_, end - at_);
    at_ = end + 2;
    return true;
  }

  bool number(std::int64_t& value) {
    std::string_view text;
    if (!line(text)) return false;
    const std::optional<std::int64_t> read = core::parse_integer(text);
    if (!read) return broken("a number in an answer is not one");
    value = *read;
    return true;
  }

  bool nothing() {
    std::string_view text;
    if (!line(text)) return false;
    return text.empty() || broken("a null in an answer has a value");
  }

  bool boolean(Value& out) {
    std::string_view text;
    if (!line(text)) return false;
    if (text != "t" && text != "f") return broken("a boolean in an answer is not one");
    out.type = Value::Type::integer;
    out.integer = text == "t" ? 1 : 0;
    return true;
  }

  bool bulk(Value& out, Value::Type type) {
    std::int64_t length = 0;
    if (!number(length)) return false;
    if (length == -1) return true;
    if (length < 0) return broken("a length in an answer is negative");
    if (static_cast<std::uint64_t>(length) > kMostBytes) return broken(kAnswerTooLarge);
    const auto size = static_cast<std::size_t>(length);
    if (at_ + size + 2 > kMostBytes) return broken(kAnswerTooLarge);
    if (input_.size() - at_ < size + 2) return more();
    if (input_.substr(at_ + size, 2) != "\r\n")
      return broken("a string in an answer is longer than its length");
    out.type = type;
    out.text = input_.substr(at_, size);
    at_ += size + 2;
    return true;
  }

  // A verbatim string begins with three letters that say what it is, and a colon.
  bool unmarked(Value& out) {
    if (out.type != Value::Type::string || out.text.size() < 4 || out.text[3] != ':') {
      return broken("a verbatim string in an answer does not say what it is");
    }
    out.text.remove_prefix(4);
    return true;
  }

  bool array(Value& out, Value::Type type, std::size_t each, std::size_t nesting) {
    std::int64_t promised = 0;
    if (!number(promised)) return false;
    if (promised == -1) return true;
    if (promised < 0) return broken("a length in an answer is negative");
    if (nesting == kMostNesting) return broken("an answer is nested more than 8 deep");
    if (static_cast<std::uint64_t>(promised) > kMostBytes) return broken(kAnswerTooLarge);
    const std::size_t count = static_cast<std::size_t>(promised) * each;
    // Room is made for values whose bytes can be there, those of the arrays around this one included.
    owed_ += count;
    if (at_ + owed_ * kShortestValue > kMostBytes) return broken(kAnswerTooLarge);
    if (input_.size() - at_ < owed_ * kShortestValue) return more();
    const std::size_t first = items_.size();
    if (first + count > items_.capacity()) {
      again_ = true;
      items_.reserve(std::max(first + count, 2 * items_.capacity()));
      return false;
    }
    items_.resize(first + count);
    for (std::size_t i = first; i < first + count; ++i) {
      --owed_;
      if (!value(items_[i], nesting + 1)) return false;
    }
    out.type = type;
    out.items = std::span(items_).subspan(first, count);
    return true;
  }

  std::string_view input_;
  std::vector<Value>& items_;
  std::size_t at_ = 0;
  std::size_t owed_ = 0;  // values promised by arrays and not yet there
  Parsed::Status status_ = Parsed::Status::value;
  std::string_view why_;
  bool again_ = false;
};

Parsed ReplyParser::parse(std::string_view input) {
  for (;;) {
    items_.clear();
    Reader reader(input, items_);
    Value value;
    if (reader.value(value, 0)) return {Parsed::Status::value, reader.used(), value, {}};
    // Items that moved would leave the arrays around them pointing to where they were.
    if (reader.again()) continue;
    return {reader.status(), 0, {}, reader.why()};
  }
}

}  // namespace weir::resp
