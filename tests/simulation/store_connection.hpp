// A connection of a loop to a node of the store over the networks of the world.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "redis/sockets.hpp"

namespace weir::inline v0_1::simulation {

class StoreConnection final : public redis::Sockets::Connection {
 public:
  struct Way {  // into the world
    std::function<void(std::string bytes)> send;
    std::function<void()> close;
  };

  StoreConnection(redis::Sockets& sockets, redis::Client::NodeId node, boost::asio::io_context& context,
                  Way way)
      : Connection(sockets, node), context_(context), way_(std::move(way)), address_(first_address()) {}

  // What happens to it in the world. The loop hears of it in its next turn.
  void connects() {
    post([](StoreConnection& its) {
      its.tried(its.address_);
      its.opened();
    });
  }
  void fails(const std::string& why) {
    post([why](StoreConnection& its) { its.ended(why); });
  }
  void arrives(std::string_view bytes) {
    inbox_ += bytes;
    if (!std::exchange(reading_, true)) read_later();
  }

  void flush() override {
    if (std::string bytes = take_output(); !bytes.empty()) way_.send(std::move(bytes));
  }
  bool has_unread() override { return !inbox_.empty(); }

 private:
  static constexpr std::size_t kReadBytes = std::size_t{16} << 10;

  void shut() override { way_.close(); }

  template <class What>
  void post(What what) {
    boost::asio::post(context_, [self = std::static_pointer_cast<StoreConnection>(shared_from_this()), what] {
      if (!self->closed()) what(*self);
    });
  }
  void read_later() {
    post([](StoreConnection& its) {
      const std::size_t n = std::min(its.inbox_.size(), kReadBytes);
      const std::string bytes = its.inbox_.substr(0, n);
      its.inbox_.erase(0, n);
      its.reading_ = !its.inbox_.empty();
      if (its.reading_) its.read_later();
      its.received(bytes);
    });
  }

  boost::asio::io_context& context_;
  const Way way_;
  const std::size_t address_;
  std::string inbox_;  // has come, and is not read
  bool reading_ = false;
};

}  // namespace weir::simulation
