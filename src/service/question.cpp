#include "service/question.hpp"

#include "service/rule_texts.hpp"

namespace weir::inline v0_1::service {

std::span<store::Check> Question::room_for_many(std::size_t count) {
  more_of().checks.assign(count, {});
  checks = more->checks;
  return checks;
}

void Question::reserve(std::optional<std::chrono::nanoseconds> max_wait, std::chrono::nanoseconds hold) {
  room_for_reservation();
  reservation->max_wait = max_wait.value_or(std::chrono::nanoseconds{0});
  reservation->hold = hold;
  reservation->lines.clear();
  more->says_wait = max_wait.has_value();
  more->ended = Ended::no;
}

void Question::keep_keys() {
  std::string& kept = more_of().keys;
  if (!checks.empty() && checks[0].key.data() == kept.data() && !kept.empty()) return;  // it has
  kept.clear();
  for (const store::Check& each : checks) kept += each.key;
  std::size_t at = 0;
  for (store::Check& each : checks) {
    each.key = std::string_view(kept).substr(at, each.key.size());
    at += each.key.size();
  }
}

void Question::keep_limits() {
  std::shared_ptr<const void>& kept = more_of().limits;
  if (kept) return;  // it has
  if (checks.size() == 1) {
    kept = RuleTexts::share(*checks[0].limit);
    return;
  }
  auto all = std::make_shared<std::vector<std::shared_ptr<const store::Limit>>>();
  for (const store::Check& each : checks) all->push_back(RuleTexts::share(*each.limit));
  kept = std::move(all);
}

std::size_t Question::kept() const {
  if (!more) return sizeof(Question);
  const limits::Matched* const its = more->room_for_matched.get();
  const std::size_t matched = its == nullptr ? 0
                                             : sizeof(*its) + its->checks.capacity() * sizeof(store::Check) +
                                                   its->own.capacity() * sizeof(store::Limit) +
                                                   its->keys.capacity() + its->long_values.bytes();
  return sizeof(Question) + sizeof(More) + matched + more->keys.capacity() +
         more->checks.capacity() * sizeof(store::Check) + more->tag.capacity() +
         (more->whole ? more->whole->limits.capacity() * sizeof(store::Limit) +
                            more->whole->parts.capacity() * sizeof(Question*)
                      : 0) +
         (more->reservation
              ? sizeof(*more->reservation) + more->reservation->lines.capacity() * sizeof(store::Line)
              : 0) +
         (more->charge ? sizeof(*more->charge) : 0) + (more->take ? sizeof(*more->take) : 0) +
         (more->asked ? sizeof(*more->asked) + more->asked->bytes() : 0);
}

}  // namespace weir::service
