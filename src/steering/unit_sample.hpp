// A sample of units: of each `every` that come one after the other, one, each with the same chance.
//
// So whatever a request costs, the units of it that are in the sample, times `every`, are on average what it
// cost; and of one request they are off by less than 2 x every. Of n units of a key their sum has a variance
// of at most n x (every - 1): blocks are independent, and where u of a block's units are the key's, that
// block adds u x (every - u). A period in the traffic changes nothing, as each block chooses afresh.
//
// One thread.
#pragma once

#include <cstdint>

namespace weir::inline v0_1::steering {

class UnitSample {
 public:
  UnitSample() = default;  // none is in it
  UnitSample(std::uint64_t every, std::uint64_t seed) : every_(every), random_(seed) { begin_block(0); }

  // Whether none of these units is in the sample, which is so most times.
  bool misses(std::uint64_t units) {
    if (units >= until_) return false;
    until_ -= units;
    return true;
  }
  // How many of them are, where misses() has said no of them.
  std::uint64_t take(std::uint64_t units) {
    std::uint64_t taken = 0;
    if (units >= until_ + rest_ + every_) {
      // Those that the units fill have one each.
      const std::uint64_t blocks = (units - until_ - rest_) / every_;
      units -= until_ + rest_ + blocks * every_;
      taken += 1 + blocks;
      begin_block(0);
    }
    for (; units >= until_; ++taken) {
      units -= until_;
      begin_block(rest_);
    }
    until_ -= units;
    return taken;
  }

 private:
  // `before` units of the last block are yet to come.
  void begin_block(std::uint64_t before) {
    random_ ^= random_ << 13;  // xorshift64
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    // The high half, scaled: the bias is below every / 2^32.
    const std::uint64_t at = ((random_ >> 32) * every_) >> 32;
    until_ = before + at + 1;
    rest_ = every_ - at - 1;
  }

  std::uint64_t every_ = ~std::uint64_t{0};
  std::uint64_t random_ = 1;  // never 0
  std::uint64_t until_ = every_;  // the next one that is in the sample, counted from 1
  std::uint64_t rest_ = 0;   // of its block, after that
};

}  // namespace weir::steering
