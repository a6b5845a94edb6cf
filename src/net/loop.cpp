#include "net/loop.hpp"

#include <utility>

#include "net/session.hpp"

namespace weir::net {

Loop::Loop(std::size_t which, Clock now, std::chrono::nanoseconds stalled, Counters& counted,
           core::Notices& told)
    : number(which),
      clock(std::move(now)),
      stall_timeout(stalled),
      counters(counted),
      notices(told),
      coarse_now(clock()) {}

Loop::~Loop() = default;

void Loop::start_sweeping() {
  sweep_timer_.expires_after(std::chrono::seconds{1});
  sweep_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    sweep();
    start_sweeping();
  });
}

void Loop::sweep() {
  coarse_now = clock();
  for (const auto& session : open_sessions()) session->close_if_stalled();
}

void Loop::drain() {
  sweep_timer_.cancel();
  for (const auto& session : open_sessions()) session->drain();
}

void Loop::close_sessions() {
  for (const auto& session : open_sessions()) session->close();
  context.restart();
  context.poll();
}

void Loop::stop() { poller.stop(); }

// One session's end may be another's, so not the set itself.
std::vector<std::shared_ptr<Session>> Loop::open_sessions() const {
  return {sessions.begin(), sessions.end()};
}

}  // namespace weir::net
