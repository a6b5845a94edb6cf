// Short texts compared and copied as two words of 8 bytes, which overlap where a text is shorter than 16:
// going through the letters one by one, or a call that does, costs several times as much.
//
// Pure functions, any thread. Not for: which of two texts is the greater.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir::inline v0_1::core {

constexpr std::size_t kLongestShortText = 16;

struct TextEnds {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;

  friend constexpr bool operator==(const TextEnds&, const TextEnds&) = default;
};

template <class Word>
TextEnds read_ends(std::string_view text) {
  Word head;
  Word tail;
  std::memcpy(&head, text.data(), sizeof head);
  std::memcpy(&tail, text.data() + text.size() - sizeof tail, sizeof tail);
  return {head, tail};
}

template <class Word>
void copy_ends(std::string_view text, char* to) {
  Word word;
  std::memcpy(&word, text.data(), sizeof word);
  std::memcpy(to, &word, sizeof word);
  std::memcpy(&word, text.data() + text.size() - sizeof word, sizeof word);
  std::memcpy(to + text.size() - sizeof word, &word, sizeof word);
}

// Of 1 to 16 bytes: those of one size have the same ends only when they are the same.
inline TextEnds ends_of(std::string_view text) {
  if (text.size() >= 8) return read_ends<std::uint64_t>(text);
  if (text.size() >= 4) return read_ends<std::uint32_t>(text);
  if (text.size() >= 2) return read_ends<std::uint16_t>(text);
  return read_ends<std::uint8_t>(text);
}

// As ==, for texts that mostly are short.
inline bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.empty() || a.size() > kLongestShortText) [[unlikely]]
    return a == b;
  return ends_of(a) == ends_of(b);
}

// Its bytes, put there; where they end.
inline char* copy_text(std::string_view text, char* to) {
  const std::size_t size = text.size();
  if (size > kLongestShortText) [[unlikely]] {
    std::memcpy(to, text.data(), size);
  } else if (size >= 8) {
    copy_ends<std::uint64_t>(text, to);
  } else if (size >= 4) {
    copy_ends<std::uint32_t>(text, to);
  } else if (size >= 2) {
    copy_ends<std::uint16_t>(text, to);
  } else if (size == 1) {
    *to = text[0];
  }
  return to + size;
}

}  // namespace weir::core
