#include "resp/limits_words.hpp"

#include <cstring>
#include <utility>

namespace weir::inline v0_1::resp {
namespace {

// The '=', or null.
const char* sign_of(std::string_view word) {
  return word.empty() ? nullptr : static_cast<const char*>(std::memchr(word.data(), '=', word.size()));
}

}  // namespace

bool read_limits_words(std::span<const std::string_view> words, OptionSet takes, AttributeRoom& room,
                       LimitsWords& into, std::string& error) {
  const auto fail = [&error](std::string text) {
    error = std::move(text);
    return false;
  };
  const char* sign = words.empty() ? nullptr : sign_of(words[0]);
  if (sign == nullptr && !words.empty()) [[unlikely]] {
    if (!read_options(words, takes, into.said, error)) return false;
    sign = words.empty() ? nullptr : sign_of(words[0]);
  }
  if (words.size() > limits::kMostAttributes) {
    return fail("ERR " + std::to_string(words.size()) + " attributes; a request may have at most " +
                std::to_string(limits::kMostAttributes));
  }
  std::size_t count = 0;
  for (const std::string_view word : words) {
    if (count > 0) sign = sign_of(word);
    if (sign == nullptr) return fail(no_attribute(word));
    const auto at = static_cast<std::size_t>(sign - word.data());
    if (at == 0) return fail("ERR missing a name before " + shown_word(word));
    room[count++] = {word.substr(0, at), word.substr(at + 1)};
  }
  into.attributes = std::span(room).first(count);
  return true;
}

}  // namespace weir::resp
