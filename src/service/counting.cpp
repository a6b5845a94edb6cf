#include "service/counting.hpp"

#include <algorithm>
#include <utility>

#include "core/random.hpp"
#include "steering/shown_key.hpp"

namespace weir::inline v0_1::service {

Counting::Counting(CountingOptions options, core::ClockFunction clock)
    : options_(options), clock_(std::move(clock)), start_(clock_()), seed_(core::random_key()) {}

void Counting::join(const steering::Top& top) {
  const detail::Held lock(mutex_);
  tops_.push_back(&top);
}

void Counting::leave(const steering::Top& top) {
  const detail::Held lock(mutex_);
  std::erase(tops_, &top);
}

steering::Top::Answer Counting::top(steering::Top::By by, std::string_view limit, std::size_t most) const {
  const detail::Held lock(mutex_);
  auto answer = steering::Top::ask(tops_, by, limit, most, clock_());
  if (options_.hashes)
    for (auto& row : answer.rows) row.key = steering::hashed_key(seed_, row.limit, row.key);
  return answer;
}

}  // namespace weir::service
