#include "server/watch.hpp"

#include <chrono>

namespace weir::server {

Watch::Watch(boost::asio::io_context& context, const store::Table& table, core::Notices& notices)
    : next_(context), table_(table), notices_(notices) {}

void Watch::start() {
  next_.expires_after(std::chrono::seconds{1});
  next_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    look();
    start();
  });
}

void Watch::stop() { next_.cancel(); }

void Watch::look() {
  const std::uint64_t refused = table_.refused();
  if (refused > refused_) notices_.tell(core::Notice::table_full, {}, {}, refused - refused_);
  refused_ = refused;
  notices_.tell_rest();
}

}  // namespace weir::server
