// What happened in a world, as far as anybody outside of weir can know it: what clients asked and were told,
// with the times at which it passed the server's port, and what went wrong and when.
//
// The referee (referee.hpp) judges by nothing else. All times are the world's.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "simulation/plan.hpp"

namespace weir::inline v0_1::simulation {

inline constexpr nanoseconds kNever = nanoseconds::max();

struct Reply {
  enum class Kind : std::uint8_t { none, values, integer, error };
  Kind kind = Kind::none;
  std::array<std::int64_t, 5> values{};  // of five, six and seven
  std::int64_t integer = 0;
  std::int64_t granted = 0;  // units, of what takes as much as there is
  std::string id{};          // of a reservation
  std::string text{};

  bool allowed() const { return kind == Kind::values && values[0] == 0; }
  bool denied() const { return kind == Kind::values && values[0] == 1; }
};

struct Asked {
  const Event* event = nullptr;
  std::size_t server = 0;
  std::uint64_t life = 0;        // of the server: which of its processes
  std::uint64_t connection = 0;  // no other has it
  nanoseconds sent{0};
  nanoseconds arrived = kNever;   // at the server
  nanoseconds departed = kNever;  // the reply, from the server
  nanoseconds received = kNever;  // the reply, by the client
  nanoseconds ended = kNever;     // its connection, or its server
  // What was granted is bound to its connection, which its client closed then, or its server's end did; and
  // its server was told of it, if it lived.
  nanoseconds left = kNever;
  nanoseconds told_left = kNever;
  Reply reply{};
};

struct Span {
  nanoseconds from;
  nanoseconds to;
};

struct History {
  std::deque<Event> followed;  // what clients asked on by what they were told: no part of the plan
  std::deque<Asked> asked;
  // By server: when its answers may be the fallback's.
  std::vector<std::vector<Span>> disturbed;
  std::vector<std::vector<Span>> asleep;
  std::vector<std::vector<Span>> stuck;  // one of its threads
  // By server: of the limits file, since when it went by it.
  struct Form {
    nanoseconds at;
    std::uint32_t form;
  };
  std::vector<std::vector<Form>> forms;
  // States that were lost: of a server's own store or of a node; what was charged since `since` is gone.
  struct Loss {
    std::size_t place;
    nanoseconds since;
    nanoseconds at;
  };
  std::vector<Loss> losses;
  // Of the clock by which the store counts.
  struct Step {
    std::size_t place;
    nanoseconds at;
    nanoseconds by;
  };
  std::vector<Step> steps;
  nanoseconds end{0};
  std::uint64_t faults = 0;
  std::uint64_t replies_too_many = 0;
  std::string odd{};         // what weir's own objects said that cannot be, first of all
  std::uint64_t digest = 0;  // of everything, in order
};

}  // namespace weir::simulation
