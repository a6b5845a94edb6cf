// How long the first message of a TLS handshake says that it is, read off the records as they come. OpenSSL
// makes room for all of it at once, when its first four bytes are there.
//
// A value; one thread. Not for: what the message says, and later ones, which are encrypted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::inline v0_1::net {

class AnnouncedHello {
 public:
  // The next bytes of the stream, however it is cut. Of no use once it is known.
  constexpr void feed(std::string_view bytes) {
    for (const char byte : bytes) {
      if (is_known()) return;
      add(static_cast<unsigned char>(byte));
    }
  }

  constexpr bool is_known() const { return of_message_ == kHeader; }
  constexpr std::size_t bytes() const { return is_known() ? bytes_ : 0; }

 private:
  static constexpr std::uint8_t kHeader = 4;        // of a message: its type, and three bytes of length
  static constexpr std::uint8_t kRecordHeader = 5;  // a type, a version, and two bytes of length

  constexpr void add(unsigned char byte) {
    if (left_of_record_ == 0) {
      if (++of_record_header_ > kRecordHeader - 2) record_ = record_ << 8 | byte;
      if (of_record_header_ < kRecordHeader) return;
      left_of_record_ = record_;
      of_record_header_ = 0;
      record_ = 0;
      return;
    }
    --left_of_record_;
    if (++of_message_ > 1) bytes_ = bytes_ << 8 | byte;
  }

  std::uint32_t bytes_ = 0;
  std::uint32_t record_ = 0;
  std::uint32_t left_of_record_ = 0;
  std::uint8_t of_record_header_ = 0;
  std::uint8_t of_message_ = 0;
};

}  // namespace weir::net
