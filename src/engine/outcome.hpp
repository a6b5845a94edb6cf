// What a case of the check of an engine is, and what came of it.
//
// Plain values.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::inline v0_1::engine {

struct Outcome {
  enum class Kind : std::uint8_t {
    holds,
    note,     // it holds, and there is something to know
    skipped,  // it says nothing about this engine; `seen` is why
    fails,
    silent,  // no answer
  };
  Kind kind = Kind::holds;
  std::string seen;
};

inline Outcome holds(std::string seen) { return {Outcome::Kind::holds, std::move(seen)}; }
inline Outcome note(std::string seen) { return {Outcome::Kind::note, std::move(seen)}; }
inline Outcome skipped(std::string why) { return {Outcome::Kind::skipped, std::move(why)}; }
inline Outcome fails(std::string seen) { return {Outcome::Kind::fails, std::move(seen)}; }

// The case fails: what was seen. Its `needs` says what weir needs instead.
struct Seen : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Bench;

struct EngineCase {
  std::string_view name;
  std::string_view needs;  // "weir needs ..."
  Outcome (*run)(Bench&);
  bool is_vital = false;  // without it no later one can be asked
};

}  // namespace weir::engine
