#include "redis/dial.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir::inline v0_1::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr std::size_t kMost = 16;
// RFC 8305 recommends 250 ms between attempts, and no less than 10 ms. A client gives a connection and its
// greeting 500 ms; so all attempts are made in the first half of that.
constexpr std::chrono::milliseconds kAllWithin = 250ms;

}  // namespace

Dial::Endpoints Dial::order(const Endpoints& found, std::size_t first) {
  Endpoints families[2];
  for (const tcp::endpoint& each : found) {
    families[each.protocol() == found.front().protocol() ? 0 : 1].push_back(each);
  }
  Endpoints order;
  for (std::size_t i = 0; i < std::max(families[0].size(), families[1].size()); ++i) {
    for (const Endpoints& family : families) {
      if (i < family.size()) order.push_back(family[i]);
    }
  }
  if (order.empty()) return order;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first % order.size()), order.end());
  order.resize(std::min(order.size(), kMost));
  return order;
}

Dial::Dial(asio::io_context& context, Endpoints endpoints, Done done)
    : context_(context),
      endpoints_(std::move(endpoints)),
      done_(std::move(done)),
      next_(net::asio_timer(context, [this] { try_next(); })) {
  sockets_.reserve(endpoints_.size());
}

std::shared_ptr<Dial> Dial::start(asio::io_context& context, Endpoints endpoints, Done done) {
  auto dial = std::make_shared<Dial>(context, std::move(endpoints), std::move(done));
  dial->try_next();
  return dial;
}

void Dial::try_next() {
  const std::size_t number = sockets_.size();
  if (number == endpoints_.size()) return;
  sockets_.emplace_back(context_);
  ++open_;
  sockets_[number].async_connect(endpoints_[number], [self = shared_from_this(), number](error_code error) {
    self->tried(number, error);
  });
  if (sockets_.size() == endpoints_.size()) return;
  // Also puts off the attempt that was due, when another one's failure has led to this.
  next_->set(kAllWithin / (endpoints_.size() - 1));
}

void Dial::tried(std::size_t number, const error_code& error) {
  --open_;
  if (!done_) return;
  if (!error) return finish(error, std::move(sockets_[number]), number);
  error_code ignored;
  sockets_[number].close(ignored);
  if (sockets_.size() < endpoints_.size()) return try_next();
  if (open_ == 0) finish(error, tcp::socket(context_), number);
}

void Dial::finish(const error_code& error, tcp::socket socket, std::size_t number) {
  const Done done = std::exchange(done_, {});
  cancel();
  done(error, std::move(socket), number);
}

void Dial::cancel() {
  done_ = {};
  next_->stop();
  error_code ignored;
  for (tcp::socket& each : sockets_) each.close(ignored);
}

}  // namespace weir::redis
