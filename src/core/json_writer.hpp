// JSON as weir writes it, in answers, logs and reports alike: text that grows value by value, with no tree of
// values before it.
//
// A view of the text that it appends to; one thread. Whatever it is given, what it writes is well formed:
// nothing in a text can end its string, and commas stand where they have to. Not for: reading JSON, and
// closing what was begun, which is up to the caller.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

// Seconds, exact: 0.05, 12, 0.000000001.
void append_seconds(std::string& out, std::chrono::nanoseconds time);
// What of them follows the point, with it: ".05"; nothing for 0. `ns` is below a second.
void append_fraction(std::string& out, std::int64_t ns);
void append_integer(std::string& out, std::int64_t number);

// Nothing, which is written as null, for an empty text, a line that is 0, a number below 0.
inline std::optional<std::string_view> or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
inline std::optional<std::int64_t> line_or_null(std::uint32_t line) {
  return line == 0 ? std::nullopt : std::optional(std::int64_t{line});
}
inline std::optional<std::int64_t> or_null(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

class JsonWriter {
 public:
  // How a text is spelled; a reader of JSON gets the same from both.
  enum class Spelling : std::uint8_t {
    // Quotes, backslashes and what is not printable (printable.hpp) are \u0022 and the like, so no text can
    // change how those after it are shown. Of bytes that are not UTF-8 each is U+FFFD.
    shown,
    // As short as it gets: \" \\ \n, and \u0000 for each other control below a space. Of bytes that are not
    // UTF-8 those that begin one character are one U+FFFD.
    shortest,
  };

  // A text that the compiler knows, and knows to stand as it is.
  class Known {
   public:
    template <std::size_t kSize>
    consteval Known(const char (&text)[kSize])  // NOLINT(google-explicit-constructor): it is its text
        : text_(text, kSize - 1) {
      for (const char each : text_) {
        if (each < ' ' || each > '~' || each == '"' || each == '\\') throw "a text that has to be escaped";
      }
    }
    constexpr std::string_view text() const { return text_; }

   private:
    std::string_view text_;
  };

  // A member's name that the compiler knows, with all that surrounds it: ,"limit":
  class Name {
   public:
    template <std::size_t kSize>
    consteval Name(const char (&name)[kSize]) {  // NOLINT(google-explicit-constructor): it is its text
      static_assert(kSize + 3 <= kMost);
      text_[size_++] = ',';
      text_[size_++] = '"';
      for (const char each : Known(name).text()) text_[size_++] = each;
      text_[size_++] = '"';
      text_[size_++] = ':';
    }

   private:
    friend JsonWriter;
    static constexpr std::size_t kMost = 32;
    std::array<char, kMost> text_{};
    std::size_t size_ = 0;
  };

  explicit JsonWriter(std::string& out, Spelling spelling = Spelling::shown)
      : out_(out), spelling_(spelling) {}

  void begin_object() { begin('{'); }
  void begin_object(const Name& name) { begin(name, '{'); }
  void end_object() { out_ += '}'; }
  void begin_array() { begin('['); }
  void begin_array(const Name& name) { begin(name, '['); }
  void end_array() { out_ += ']'; }

  // A member's name; its value is next.
  void name(const Name& name) {
    const std::size_t from = out_.back() == '{' ? 1 : 0;
    out_.append(name.text_.data() + from, name.size_ - from);
  }
  // One that the compiler does not know.
  void unknown_name(std::string_view name) {
    separate();
    append(name);
    out_ += ':';
  }

  // A truth, a number, a text, a time in seconds; null for nothing.
  template <class Value>
  void value(const Value& value) {
    separate();
    append(value);
  }
  template <class Value>
  void member(const Name& name, const Value& value) {
    this->name(name);
    append(value);
  }
  template <class Values>
  void array(const Name& name, const Values& values) {
    begin_array(name);
    for (const auto& each : values) value(each);
    end_array();
  }

 private:
  // Nothing stands before it in its object or array; or it is all there is, in a line of its own.
  bool is_first() const {
    if (out_.empty()) return true;
    const char last = out_.back();
    return last == '{' || last == '[' || last == ':' || last == '\n';
  }
  void separate() {
    if (!is_first()) out_ += ',';
  }
  void begin(char bracket) {
    separate();
    out_ += bracket;
  }
  void begin(const Name& name, char bracket) {
    this->name(name);
    out_ += bracket;
  }

  void append(std::string_view text);
  void append(Known text) {
    (out_ += '"') += text.text();
    out_ += '"';
  }
  void append(const std::string& text) { append(std::string_view(text)); }
  void append(const char* text) { append(std::string_view(text)); }
  void append(bool truth) { out_ += truth ? std::string_view("true") : "false"; }
  void append(std::signed_integral auto number) { append_integer(out_, number); }
  void append(std::unsigned_integral auto number) { append_unsigned(number); }
  void append(double number);
  void append(std::chrono::nanoseconds time) { append_seconds(out_, time); }
  void append(std::nullptr_t) { out_ += "null"; }
  template <class Value>
  void append(const std::optional<Value>& value) {
    value ? append(*value) : append(nullptr);
  }
  void append_unsigned(std::uint64_t number);
  void append_special(std::string_view& text);

  std::string& out_;
  Spelling spelling_;
};

}  // namespace weir::core
