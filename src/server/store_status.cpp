#include "server/store_status.hpp"

#include <algorithm>
#include <utility>

#include "core/duration.hpp"

namespace weir::inline v0_1::server {
namespace {

using namespace std::chrono_literals;
using State = redis::Health::State;

// A store that comes and goes must not fill the log.
constexpr StoreStatus::nanoseconds kNewsAfter = 5s;
constexpr StoreStatus::nanoseconds kAgainAfter = 1min;
constexpr StoreStatus::nanoseconds kReadyFor = 1s;

}  // namespace

StoreStatus::StoreStatus(std::string store, std::size_t loops)
    : store_(std::move(store)), loops_(loops), far_(kAgainAfter) {}

const StoreStatus::View& StoreStatus::find_worst() const {
  return std::max_element(loops_.begin(), loops_.end(),
                          [](const Loop& a, const Loop& b) { return a.view.state < b.view.state; })
      ->view;
}

StoreStatus::View StoreStatus::worst() const {
  const detail::Held lock(mutex_);
  return find_worst();
}

std::optional<StoreStatus::Message> StoreStatus::note(std::size_t loop, const redis::Health& health,
                                                      nanoseconds now) {
  const detail::Held lock(mutex_);
  loops_[loop] = {health.view(), health.not_decided()};
  const View& worst = find_worst();
  switch (worst.state) {
    case State::ready:
      return note_ready(now);
    case State::connecting:
      return std::nullopt;
    case State::failing:
    case State::down:
      break;
  }
  return note_trouble(worst, now);
}

std::optional<StoreStatus::Message> StoreStatus::note_ready(nanoseconds now) {
  if (!ready_since_) ready_since_ = now;
  if (told_.state == State::ready || (warned_at_ && now < *ready_since_ + kReadyFor)) return std::nullopt;
  told_ = {.state = State::ready};
  if (std::exchange(failed_, false)) on_turn("");
  return Message{false, "store " + store_ + ": ready"};
}

std::optional<StoreStatus::Message> StoreStatus::note_trouble(const View& trouble, nanoseconds now) {
  ready_since_.reset();
  const bool again = told_ == trouble;
  if (warned_at_ && now < *warned_at_ + (again ? kAgainAfter : kNewsAfter)) return std::nullopt;
  std::uint64_t not_decided = 0;
  for (const Loop& each : loops_) not_decided += each.not_decided;
  const std::uint64_t since = not_decided - std::exchange(not_decided_then_, not_decided);
  told_ = trouble;
  warned_at_ = now;
  const std::string what = std::string(name_of(trouble.state)) + ": " + trouble.why;
  if (!std::exchange(failed_, true)) on_turn(what);
  return Message{true,
                 "store " + store_ + ": " + (again ? "still " : "") + what + "; --on-store-error decides" +
                     (again ? ", " + std::to_string(since) + " requests since this was last said" : "")};
}

std::optional<StoreStatus::Message> StoreStatus::note_eviction(std::string_view policy) {
  const detail::Held lock(mutex_);
  if (policy == std::exchange(eviction_, policy)) return std::nullopt;
  if (policy == "noeviction")
    return Message{false, "store " + store_ + ": maxmemory-policy is noeviction now: no limit is evicted"};
  return Message{true, "store " + store_ + ": maxmemory-policy is " + std::string(policy) +
                           ": under pressure it evicts limits that are in use, and those keys start from "
                           "nothing; noeviction keeps them"};
}

std::optional<StoreStatus::Message> StoreStatus::note_round_trip(nanoseconds round_trip, nanoseconds deadline,
                                                                 nanoseconds now) {
  if (round_trip < deadline) return std::nullopt;
  if (far_.happened(now) == 0) return std::nullopt;
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(round_trip);
  return Message{true, "store " + store_ + ": a round trip takes " + core::to_text(rounded) +
                           ", and --store-deadline is " + core::to_text(deadline) +
                           ": no answer comes in time, and --on-store-error decides every check; raise "
                           "--store-deadline"};
}

std::optional<StoreStatus::Message> StoreStatus::note_redis_cell() {
  const detail::Held lock(mutex_);
  if (std::exchange(redis_cell_told_, true)) return std::nullopt;
  return Message{true, "store " + store_ +
                           ": the module redis-cell is loaded, and the keys of weir have no prefix: "
                           "redis-cell aborts Redis when it is asked for one; expected a prefix"};
}

std::optional<StoreStatus::Message> StoreStatus::note_former_state() {
  const detail::Held lock(mutex_);
  if (std::exchange(former_state_told_, true)) return std::nullopt;
  return Message{true, "store " + store_ +
                           ": keys are there that a former build of weir has reserved from: what they owe "
                           "counts, and those reservations are forgotten; their ids are unknown"};
}

}  // namespace weir::server
