#include "net/dispatcher.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "net/session.hpp"
#include "net/socket.hpp"

namespace weir::inline v0_1::net {

Dispatcher::Dispatcher(std::vector<Loop*> loops, std::size_t most_connections, LoopCounters& counters)
    : loops_(std::move(loops)), most_connections_(most_connections), counters_(counters) {}

void Dispatcher::take(Accepted accepted, const Protocol& protocol) {
  Loop& loop = *loops_[next_loop_++ % loops_.size()];
  const std::uint64_t id = ++last_id_;
  std::unique_ptr<Socket> socket = protocol.tls != nullptr
                                       ? tls_socket(loop.poller, accepted.descriptor, *protocol.tls)
                                       : plain_socket(loop.poller, accepted.descriptor);
  counters_.received.fetch_add(1, std::memory_order_relaxed);
  if (counters_.now.load(std::memory_order_relaxed) >= most_connections_) {
    counters_.rejected.fetch_add(1, std::memory_order_relaxed);
    loop.notices.tell(core::Notice::too_many_connections, accepted.address);
    if (protocol.tls == nullptr) socket->send(protocol.too_many);
    return;
  }
  // Counted here and not when the session is made: that happens on another thread, and later.
  counters_.now.fetch_add(1, std::memory_order_relaxed);
  Peer peer{id, std::move(accepted.address), accepted.port, accepted.local};
  boost::asio::post(loop.context,
                    [&loop, &protocol, socket = std::move(socket), peer = std::move(peer)]() mutable {
                      Session::start(loop, std::move(socket), std::move(peer), protocol);
                    });
}

void Dispatcher::take_over(int descriptor, Peer peer, std::string state, std::string rest,
                           const Protocol& protocol) {
  Loop& loop = *loops_[next_loop_++ % loops_.size()];
  last_id_ = std::max(last_id_, peer.id);
  counters_.received.fetch_add(1, std::memory_order_relaxed);
  counters_.now.fetch_add(1, std::memory_order_relaxed);
  boost::asio::post(loop.context,
                    [&loop, &protocol, socket = plain_socket(loop.poller, descriptor), peer = std::move(peer),
                     state = std::move(state), rest = std::move(rest)]() mutable {
                      const auto session = Session::start(loop, std::move(socket), std::move(peer), protocol);
                      if (!session->take_over(state, std::move(rest))) session->close();
                    });
}

}  // namespace weir::net
