#include "net/loop.hpp"

#include <malloc.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "net/session.hpp"

namespace weir::inline v0_1::net {

Loop::Loop(std::size_t which, Clock now, std::chrono::nanoseconds stalled, LoopCounters& counted,
           core::Notices& told, const MakeTimers& make_timers)
    : number(which),
      clock(std::move(now)),
      stall_timeout(stalled),
      counters(counted),
      notices(told),
      timers(make_timers(context)),
      sweep_timer_(timers->make([this] {
        sweep();
        hurried_ = counters.delayed.load(std::memory_order_relaxed) > 0;
        start_sweeping();
      })) {
  counters.loops.push_back(this);
}

Loop::~Loop() = default;

void Loop::start_sweeping() {
  constexpr std::chrono::nanoseconds kOften = std::chrono::milliseconds{100};
  if (draining_) return;
  beat_.store(clock(), std::memory_order_relaxed);
  sweep_timer_->set(
      hurried_ ? kOften
               : std::clamp<std::chrono::nanoseconds>(stall_timeout / 8, kOften, std::chrono::seconds{1}));
}

void Loop::hurry() {
  if (!std::exchange(hurried_, true)) start_sweeping();
}

void Loop::sweep() {
  const std::chrono::nanoseconds now = clock();
  for (const auto& session : open_sessions()) session->look_at_time(now);
  // What was freed in small pieces stays the allocator's, in case that it is needed again; after a peak it is
  // not.
  if (number == 0 && counters.memory.fell()) malloc_trim(0);
}

void Loop::drain() {
  draining_ = true;
  sweep_timer_->stop();
  for (const auto& session : open_sessions()) session->drain();
}

void Loop::go_on() {
  holds_ = false;
  for (const auto& session : open_sessions()) {
    session->go_on();
    if (draining_) session->drain();
  }
}

bool Loop::say_goodbye() {
  bool any = false;
  for (const auto& session : open_sessions()) {
    session->say_goodbye();
    any = any || session->says_goodbye();
  }
  return any;
}

bool Loop::is_settled() const {
  return std::all_of(sessions.begin(), sessions.end(),
                     [](const auto& session) { return session->is_settled(); });
}

std::vector<HandedOver> Loop::hand_over() {
  std::vector<HandedOver> handed;
  for (const auto& session : open_sessions()) {
    if (auto one = session->hand_over()) {
      handed.push_back(*std::move(one));
    } else {
      session->drain();
    }
  }
  return handed;
}

void Loop::cut_others() {
  for (const auto& session : open_sessions()) session->cut();
}

void Loop::close_sessions() {
  for (const auto& session : open_sessions()) session->close();
  context.restart();
  context.poll();
}

void Loop::close_quietest() {
  const auto quietest = std::min_element(sessions.begin(), sessions.end(), [](const auto& a, const auto& b) {
    return a->last_heard() < b->last_heard();
  });
  if (quietest != sessions.end()) std::shared_ptr<Session>(*quietest)->close();
}

void Loop::stop() { poller.stop(); }

void Loop::resume(std::weak_ptr<Session> session) {
  if (in_turn_) return resumed_.push_back(std::move(session));
  boost::asio::post(context, [weak = std::move(session)] {
    if (const auto alive = weak.lock()) alive->on_answers();
  });
}

void Loop::turn(const std::function<void()>& work) {
  if (in_turn_) return work();
  in_turn_ = true;
  work();
  in_turn_ = false;
  for (const auto& weak : std::exchange(resumed_, {}))
    if (const auto alive = weak.lock()) alive->on_answers();
  for (const auto& each : std::exchange(later_, {})) each();
}

void Loop::later(std::function<void()> work) {
  if (in_turn_) return later_.push_back(std::move(work));
  boost::asio::post(context, std::move(work));
}

void Loop::charge(Session& session, std::chrono::nanoseconds since, const MemoryCharge& from,
                  const MemoryCharge& to) {
  if (from.beyond != to.beyond) holders.change(session, since, from.beyond, to.beyond);
  ClientMemory& memory = counters.memory;
  memory.change(from, to);
  if (to.beyond > from.beyond && memory.over()) ask_for_relief();
}

void Loop::ask_for_relief() {
  if (!relief_asked_.exchange(true)) boost::asio::post(context, [this] { relieve(); });
}

// In a turn of its own: no session may close another while the poller tells of several.
void Loop::relieve() {
  relief_asked_.store(false);
  while (counters.memory.over()) {
    Loop& worst = **std::max_element(
        counters.loops.begin(), counters.loops.end(),
        [](const Loop* a, const Loop* b) { return a->holders.first_rank() < b->holders.first_rank(); });
    if (worst.holders.first_rank() == 0) return;
    if (&worst != this) return worst.ask_for_relief();
    holders.first().close_for_memory();
  }
}

// One session's end may be another's, so not the set itself.
std::vector<std::shared_ptr<Session>> Loop::open_sessions() const {
  return {sessions.begin(), sessions.end()};
}

}  // namespace weir::net
