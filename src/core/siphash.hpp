// SipHash, a keyed hash: without the key, an attacker cannot choose collisions.
//
// Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", Indocrypt 2012. The table uses
// SipHash-1-3, which Rust's and Python's hash tables use against chosen keys; the tests check the 2-4 rounds
// against the paper's own vector. Pure, any thread. Not for: passwords or signatures.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir::inline v0_1::core {

struct HashKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

// A salt other than 0 is hashed as one more word before the bytes, so that equal bytes under different salts
// have unrelated hashes. No salted text equals another unsalted one: their lengths, which are
// hashed too, differ by 8.
template <int kCompress, int kFinish>
inline std::uint64_t siphash(HashKey key, std::string_view bytes, std::uint64_t salt = 0) {
  static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");
  std::uint64_t v0 = key.k0 ^ 0x736f6d6570736575;
  std::uint64_t v1 = key.k1 ^ 0x646f72616e646f6d;
  std::uint64_t v2 = key.k0 ^ 0x6c7967656e657261;
  std::uint64_t v3 = key.k1 ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  if (salt != 0) {
    v3 ^= salt;
    rounds(kCompress);
    v0 ^= salt;
  }
  const char* at = bytes.data();
  const char* const last = at + (bytes.size() & ~std::size_t{7});
  std::uint64_t word = 0;
  for (; at != last; at += 8) {
    std::memcpy(&word, at, 8);
    v3 ^= word;
    rounds(kCompress);
    v0 ^= word;
  }
  // The remaining bytes, without a copy of variable length: the last eight where there are eight.
  word = 0;
  if (const std::size_t left = bytes.size() & 7; left != 0 && bytes.size() >= 8) {
    std::memcpy(&word, at + left - 8, 8);
    word >>= 8 * (8 - left);
  } else {
    for (std::size_t i = left; i > 0; --i) word = word << 8 | static_cast<unsigned char>(at[i - 1]);
  }
  word |= static_cast<std::uint64_t>(bytes.size()) << 56;
  v3 ^= word;
  rounds(kCompress);
  v0 ^= word;
  v2 ^= 0xff;
  rounds(kFinish);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace weir::core
