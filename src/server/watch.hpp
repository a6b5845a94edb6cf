// Looks once a second at what nothing tells of by itself: whether the table is full, and notices that no
// other has followed.
//
// The thread of the timers. The table and the notices must outlive it.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/notices.hpp"
#include "server/every.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::server {

class Watch {
 public:
  Watch(net::Timers& timers, const store::Table& table, core::Notices& notices);

  void start() {
    next_.start(std::chrono::seconds{1}, [this] { look(); });
  }
  void stop() { next_.stop(); }
  void look();

 private:
  Every next_;
  const store::Table& table_;
  core::Notices& notices_;
  std::uint64_t refused_ = 0;  // by the table, as far as we have told
};

}  // namespace weir::server
