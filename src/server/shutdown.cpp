#include "server/shutdown.hpp"

#include <csignal>
#include <utility>

namespace weir::inline v0_1::server {

using boost::system::error_code;

Shutdown::Shutdown(boost::asio::io_context& context, std::chrono::milliseconds grace, Steps steps)
    : grace_(grace),
      steps_(std::move(steps)),
      signals_(context),
      grace_ends_(net::asio_timer(context, [this] { drain(); })),
      longest_(net::asio_timer(context, [this] { steps_.make_end(); })),
      next_look_(net::asio_timer(context, [this] { watch(); })) {
  // All that end a program unless it says what else they mean, and that people, terminals and limits send.
  for (const int each : {SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU}) signals_.add(each);
}

void Shutdown::start() {
  signals_.async_wait([this](const error_code& error, int) {
    if (error) return;
    if (stage_ == Stage::draining) return steps_.make_end();
    start();
    stage_ == Stage::serving ? begin() : drain();
  });
}

void Shutdown::begin() {
  if (stage_ != Stage::serving) return;
  stage_ = Stage::leaving;
  steps_.leave();
  grace_.count() > 0 ? grace_ends_->set(grace_) : drain();
}

void Shutdown::drain() {
  stage_ = Stage::draining;
  grace_ends_->stop();
  steps_.drain();
  longest_->set(kDrainAtMost);
  watch();
}

// The timer above would keep its loop alive for its whole time; when all connections have ended, it ends
// early.
void Shutdown::watch() {
  if (steps_.drained()) {
    longest_->stop();
    error_code ignored;
    signals_.cancel(ignored);
    return steps_.let_end();
  }
  next_look_->set(std::chrono::milliseconds{10});
}

}  // namespace weir::server
