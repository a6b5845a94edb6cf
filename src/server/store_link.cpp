#include "server/store_link.hpp"

#include <spdlog/spdlog.h>

namespace weir::server {

StoreLink::StoreLink(boost::asio::io_context& context, redis::SharedStore& store,
                     const redis::Endpoint& endpoint, const Settings& settings, core::Clock clock, bool tells)
    : store_(store),
      settings_(settings),
      clock_(clock),
      tells_(tells),
      tls_(
          redis::tls_for(endpoint, {settings.store_tls_ca, settings.store_tls_cert, settings.store_tls_key})),
      sockets_(context, store.client(), tls_ ? &*tls_ : nullptr, clock) {
  store_.on_work([this](std::size_t calls) { sockets_.wake(calls); });
  sockets_.on_change([this] {
    store_.note_state();
    keep_error();
    if (!tells_) return;
    note_eviction();
    note_state();
  });
}

void StoreLink::keep_error() {
  const redis::Client& client = store_.client();
  const std::lock_guard lock(mutex_);
  error_ = client.ready() ? "" : client.last_error();
}

std::string StoreLink::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

// Logs when the store begins or ceases to answer, and why. At most once a second: a store that comes and goes
// must not fill the log.
void StoreLink::note_state() {
  const redis::Client& client = store_.client();
  const bool ready = client.ready();
  const std::string state = ready ? "ready" : client.has_failed() ? client.last_error() : "";
  const std::chrono::nanoseconds now = clock_();
  if (state == logged_state_ || now < logged_at_ + std::chrono::seconds{1}) return;
  logged_state_ = state;
  logged_at_ = now;
  if (ready) {
    spdlog::info("store {}: ready", settings_.store_text);
  } else {
    spdlog::warn("store {}: {}; --on-store-error decides", settings_.store_text, state);
  }
}

void StoreLink::note_eviction() {
  const std::string& eviction = store_.client().eviction_policy();
  if (eviction_checked_ || eviction.empty()) return;
  eviction_checked_ = true;
  if (eviction == "noeviction") return;
  spdlog::warn(
      "store {}: maxmemory-policy is {}: under pressure it evicts limits that are in use, and those keys "
      "start from nothing; noeviction keeps them",
      settings_.store_text, eviction);
}

}  // namespace weir::server
