#include "redis/sockets.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

namespace weir::inline v0_1::redis {
namespace {

// How often a tick waits for more to be read: no more than 1 MiB, a window of several thousand answers.
constexpr int kReadsFirst = 64;

}  // namespace

void Sockets::Connection::opened() {
  sockets_.client_.connected(node_, sockets_.clock_());
  sockets_.pump();
}

void Sockets::Connection::received(std::string_view bytes) {
  if (!std::exchange(heard_, true)) sockets_.first_address_[node_] = number_;
  sockets_.turns_.make([this, bytes] {
    sockets_.client_.received(node_, bytes, sockets_.clock_());
    sockets_.pump();
  });
}

void Sockets::Connection::ended(const std::string& why) {
  if (std::exchange(closed_, true)) return;
  shut();
  sockets_.connections_.erase(node_);
  sockets_.client_.failed(node_, why, sockets_.clock_());
  sockets_.pump();
}

Sockets::Turns Sockets::no_turns(boost::asio::io_context& context) {
  return {.make = [](const std::function<void()>& work) { work(); },
          .later = [&context](std::function<void()> work) { boost::asio::post(context, std::move(work)); }};
}

Sockets::Sockets(net::Timers& timers, Client& client, Open open, core::ClockFunction clock, Turns turns)
    : client_(client),
      open_(std::move(open)),
      clock_(std::move(clock)),
      turns_(std::move(turns)),
      timer_(timers.make([this] {
        armed_for_ = std::chrono::nanoseconds{0};
        tick();
      })) {}

Sockets::~Sockets() { stop(); }

void Sockets::start() {
  client_.start(clock_());
  pump();
}

void Sockets::stop() {
  stopped_ = true;
  *alive_ = false;
  timer_->stop();
  for (auto& [node, connection] : std::exchange(connections_, {})) connection->close();
}

void Sockets::wake(std::size_t calls) {
  // When half of what is asked waits to be sent, it goes: otherwise Redis and we would take turns, each idle
  // while the other works through all of it (bench/redis.py at 64 in flight: 0.93 of hiredis, with this 1.1).
  waiting_ += calls;
  if (waiting_ * 2 >= client_.open_calls()) {
    waiting_ = 0;
    for (const auto& [node, connection] : connections_) connection->flush();
  }
  if (std::exchange(waking_, true)) return;
  turns_.later([this, alive = alive_] {
    if (!*alive) return;
    waking_ = false;
    pump();
  });
}

void Sockets::pump() {
  if (stopped_) return;
  waiting_ = 0;
  changed_();
  for (;;) {
    const std::vector<Client::Action> actions = client_.take_actions();
    if (actions.empty()) break;
    for (const Client::Action& action : actions) {
      const auto found = connections_.find(action.node);
      switch (action.kind) {
        case Client::Action::Kind::connect:
          connections_[action.node] = open_(*this, action.node, action.address);
          break;
        case Client::Action::Kind::close:
          if (found != connections_.end()) {
            found->second->close();
            connections_.erase(found);
          }
          break;
        case Client::Action::Kind::write:
          if (found != connections_.end()) found->second->flush();
          break;
      }
    }
  }
  arm();
}

// One timer for all deadlines; it is set again only when it would fire too late.
void Sockets::arm() {
  using std::chrono::nanoseconds;
  const nanoseconds next = client_.next_tick();
  const nanoseconds now = clock_();
  if (next > now) {
    reads_first_ = 0;
    quiet_ = false;
  }
  if (armed_for_ > now && armed_for_ <= next) return;
  armed_for_ = std::max(next, now + nanoseconds{1});
  const nanoseconds wait = std::min<nanoseconds>(armed_for_ - now, std::chrono::seconds{1});
  armed_for_ = now + wait;
  timer_->set(wait);
}

bool Sockets::has_unread() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& each) { return each.second->has_unread(); });
}

// A loop that is busy with clients comes late to its sockets. What has come by then is read before deadlines
// are looked at, however many turns of the loop that takes: of answers that came together, the last would
// else be given up while they lie there. Asio reads the next as soon as it is asked to and tells us a turn
// later, so nothing is there only when it is so twice. A node of which bytes lie there is not silent.
void Sockets::tick() {
  // It was set again when it had fired already.
  if (client_.next_tick() > clock_()) return arm();
  const bool was_quiet = std::exchange(quiet_, !has_unread());
  if (reads_first_ < kReadsFirst && !(was_quiet && quiet_)) {
    ++reads_first_;
    // arm() may set it again, which a further turn then takes.
    armed_for_ = std::chrono::nanoseconds{0};
    timer_->set(std::chrono::nanoseconds{0});
    return;
  }
  reads_first_ = 0;
  quiet_ = false;
  for (const auto& [node, connection] : connections_) {
    if (connection->has_unread()) client_.heard(node, clock_());
  }
  client_.tick(clock_());
  pump();
}

}  // namespace weir::redis
