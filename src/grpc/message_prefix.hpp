// What stands before each message of gRPC: whether it is compressed, and its size. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::grpc {

constexpr std::size_t kPrefix = 5;

// Of kPrefix bytes or more.
inline std::uint32_t size_of_message(std::string_view prefix) {
  std::uint32_t size = 0;
  for (std::size_t i = 1; i < kPrefix; ++i) size = size << 8 | static_cast<unsigned char>(prefix[i]);
  return size;
}

// Of the message that begins after the prefix at `at` and is the rest.
inline void write_prefix(std::string& message, std::size_t at) {
  const auto size = static_cast<std::uint32_t>(message.size() - at - kPrefix);
  message[at] = 0;
  for (std::size_t i = 0; i < 4; ++i) message[at + 1 + i] = static_cast<char>(size >> (24 - 8 * i));
}

}  // namespace weir::grpc
