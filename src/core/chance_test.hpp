// For tests: the one source of chance. It prints its seed, so that a failure can be repeated with
// WEIR_SEED=n.
//
// One thread for each object. Every object of a process starts from the same seed; a test that wants several
// that differ numbers them. Not for: values that must not repeat, such as free ports and folder names.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace weir::inline v0_1::core {

class Chance {
 public:
  using result_type = std::uint64_t;  // with min(), max() and operator(), what <random> and <algorithm> take

  explicit Chance(std::uint64_t number = 0) : engine_(seed() + number) {}

  static constexpr result_type min() { return std::mt19937_64::min(); }
  static constexpr result_type max() { return std::mt19937_64::max(); }
  result_type operator()() { return engine_(); }

  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>{0, most}(engine_);
  }
  // Of any magnitude.
  std::int64_t from_one_to(std::int64_t most) { return 1 + (up_to(most - 1) >> up_to(62)); }

  // Whether tests may take long: WEIR_LONG=1.
  static bool is_long() { return std::getenv("WEIR_LONG") != nullptr; }
  // How many of its random runs a test takes: a quarter, and all of them when it may take long. Each check
  // takes others.
  static unsigned runs(unsigned all) { return is_long() ? all : (all + 3) / 4; }

  // Of this process: WEIR_SEED, or the kernel's choice. Printed the first time, and at once, since a crash
  // loses what is buffered.
  static std::uint64_t seed() {
    static const std::uint64_t chosen = [] {
      const char* const given = std::getenv("WEIR_SEED");
      const std::uint64_t value =
          given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
      std::printf("WEIR_SEED=%llu\n", static_cast<unsigned long long>(value));
      std::fflush(stdout);
      return value;
    }();
    return chosen;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace weir::core
