#include "server/reload.hpp"

#include <csignal>
#include <utility>

namespace weir::inline v0_1::server {

Reload::Reload(boost::asio::io_context& context, std::function<void()> reload)
    : signals_(context, SIGHUP), reload_(std::move(reload)) {}

void Reload::start() {
  signals_.async_wait([this](const boost::system::error_code& error, int) {
    if (error || !reload_) return;
    reload_();
    start();
  });
}

// Only the wait ends: without its entry in the set the signal would end the program again. One that came just
// before has its handler under way already, which must not wait for the next: the loop would never end.
void Reload::stop() {
  reload_ = nullptr;
  boost::system::error_code ignored;
  signals_.cancel(ignored);
}

}  // namespace weir::server
