#include "server/watch.hpp"

namespace weir::inline v0_1::server {

Watch::Watch(net::Timers& timers, const store::Table& table, core::Notices& notices)
    : next_(timers), table_(table), notices_(notices) {}

void Watch::look() {
  const std::uint64_t refused = table_.refused();
  if (refused > refused_) notices_.tell(core::Notice::table_full, {}, {}, refused - refused_);
  refused_ = refused;
  notices_.tell_rest();
}

}  // namespace weir::server
