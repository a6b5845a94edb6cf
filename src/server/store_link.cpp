#include "server/store_link.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "redis/streams.hpp"
#include "server/certificates.hpp"

namespace weir::inline v0_1::server {
namespace {

// For so long a round trip must have been longer than the deadline until it is said: some pings.
constexpr auto kFarFor = std::chrono::seconds{3};

void log(const std::optional<StoreStatus::Message>& line) {
  if (!line) return;
  line->warns ? spdlog::warn(line->text) : spdlog::info(line->text);
}

}  // namespace

StoreLink::StoreLink(net::Loop& loop, redis::SharedStore& store, const Settings& settings,
                     core::ClockFunction clock, StoreStatus& status, redis::Sockets::Open open)
    : number_(loop.number),
      store_(store),
      status_(status),
      clock_(clock),
      deadline_(settings.store_options.deadline),
      tls_(store_tls(settings)),
      sockets_(*loop.timers, store.client(),
               open ? std::move(open)
                    : redis::streams(loop.context, tls_ ? &*tls_ : nullptr, settings.store_tls_name),
               clock,
               {.make = [&loop](const std::function<void()>& work) { loop.turn(work); },
                .later = [&loop](std::function<void()> work) { loop.later(std::move(work)); }}) {
  store_.on_work([this](std::size_t calls) { sockets_.wake(calls); });
  sockets_.on_change([this] {
    note();
    changed_();
  });
}

void StoreLink::use(boost::asio::ssl::context tls) {
  if (tls_) *tls_ = std::move(tls);
}

// After every turn of the loop: what other threads share is touched at a change and once a second only.
void StoreLink::note() {
  store_.note_state();
  note_eviction();
  note_round_trip();
  if (store_.client().endangers_redis_cell() && !std::exchange(noted_redis_cell_, true))
    log(status_.note_redis_cell());
  if (store_.found_former_state() && !std::exchange(noted_former_state_, true))
    log(status_.note_former_state());
  const redis::Health& health = store_.health();
  const std::chrono::nanoseconds now = clock_();
  if (health.changes() == noted_changes_ && now < noted_at_ + std::chrono::seconds{1}) return;
  noted_changes_ = health.changes();
  noted_at_ = now;
  log(status_.note(number_, health, now));
}

void StoreLink::note_eviction() {
  const std::string& policy = store_.client().eviction_policy();
  if (policy == noted_eviction_) return;
  noted_eviction_ = policy;
  log(status_.note_eviction(policy));
}

// One that was measured while either side did not run says nothing; the pings of the next seconds do.
void StoreLink::note_round_trip() {
  const std::chrono::nanoseconds round_trip = store_.client().round_trip();
  if (round_trip < deadline_) {
    far_since_.reset();
    return;
  }
  const std::chrono::nanoseconds now = clock_();
  if (!far_since_) far_since_ = now;
  if (now - *far_since_ >= kFarFor) log(status_.note_round_trip(round_trip, deadline_, now));
}

}  // namespace weir::server
