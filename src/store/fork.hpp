// What a child of fork() has to know: its parent's other threads are not in it, so a lock that one of them
// held is never given back, and what they were to answer is never answered.
//
// Any thread. Not for: making a child work with what its parent's threads had begun.
#pragma once

#include <cstdint>

namespace weir::inline v0_1::store {

// How often this process, and those that it comes from, have been forked. What was made at another number
// was made by a parent.
std::uint32_t forks() noexcept;

// For a thread that has slept `sleeps` times for one lock, of about 50 us each. Ends the program, with a
// sentence, when it is a child of fork() and nobody is there to give the lock back.
void expect_a_holder(int sleeps) noexcept;

}  // namespace weir::store
