// For tests: addresses on this machine that accept, refuse, or drop what is sent to them, as a firewall does.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <vector>

namespace weir::inline v0_1::redis {

using boost::asio::ip::tcp;

class Host {
 public:
  enum class Manner { accepts, drops };

  // With port 0: any free one.
  Host(boost::asio::io_context& context, Manner manner, const std::string& address = "127.0.0.1",
       std::uint16_t port = 0)
      : listener_(context) {
    listener_.open(tcp::v4());
    listener_.set_option(tcp::acceptor::reuse_address(true));
    listener_.bind({boost::asio::ip::make_address(address), port});
    // A queue of connections that nobody accepts: when it is full, Linux drops what knocks.
    listener_.listen(manner == Manner::drops ? 0 : 16);
    if (manner == Manner::accepts) return;
    for (int i = 0; i < 4; ++i) {
      tcp::socket& each = filling_.emplace_back(context);
      each.async_connect(listener_.local_endpoint(), [](boost::system::error_code) {});
    }
    context.run_for(std::chrono::milliseconds{20});
    context.restart();
  }

  tcp::endpoint endpoint() const { return listener_.local_endpoint(); }

 private:
  tcp::acceptor listener_;
  std::vector<tcp::socket> filling_;
};

// One that refuses: nobody listens there any longer.
inline tcp::endpoint refusing(boost::asio::io_context& context) {
  return Host(context, Host::Manner::accepts).endpoint();
}

}  // namespace weir::redis
