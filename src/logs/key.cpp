#include "logs/key.hpp"

#include <algorithm>

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kLacking = 0xFFFFFFFF;  // the length of a value that the line lacks

void write_length(std::size_t size, char* to) {
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte) to[byte] = static_cast<char>(size >> (byte * 8));
}

std::size_t read_length(std::string_view key) {
  std::size_t size = 0;
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte)
    size |= std::size_t{static_cast<unsigned char>(key[byte])} << (byte * 8);
  return size;
}

}  // namespace

std::size_t begin_value(std::string& key) {
  key.append(kLengthBytes, '\0');
  return key.size();
}

void end_value(std::size_t begin, std::string& key) {
  write_length(key.size() - begin, key.data() + begin - kLengthBytes);
}

void append_lacking(std::string& key) {
  const std::size_t begin = begin_value(key);
  write_length(kLacking, key.data() + begin - kLengthBytes);
}

std::vector<std::string_view> values_of(std::string_view key, std::size_t parts) {
  std::vector<std::string_view> values(parts);
  for (std::size_t i = 0; i < parts && key.size() >= kLengthBytes; ++i) {
    const std::size_t size = read_length(key);
    key.remove_prefix(kLengthBytes);
    if (size == kLacking) continue;
    values[i] = key.substr(0, size);
    key.remove_prefix(std::min(size, key.size()));
  }
  return values;
}

std::string shown(std::string_view key, std::size_t parts) {
  if (parts < 2) return std::string(key);
  const std::vector<std::string_view> values = values_of(key, parts);
  std::string text;
  for (std::size_t i = 0; i < parts; ++i) text += (i > 0 ? " " : "") + std::string(values[i]);
  return text;
}

}  // namespace weir::logs
