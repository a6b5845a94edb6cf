// The store of a trial, as a world: the table of this process, and logs.
#pragma once

#include "conformance/world.hpp"
#include "store/embedded_store.hpp"
#include "trial/store_with_logs.hpp"

namespace weir::inline v0_1::store::conformance {

class LoggingWorld : public World {
 public:
  Store& store() override { return store_; }
  nanoseconds now() const override { return now_; }
  void advance(nanoseconds time) override { now_ += time; }
  void settle() override {}
  Reservations* reservations() override { return &table_.reservations(); }
  // Amid a window of each period.
  nanoseconds wall_ahead() const override { return std::chrono::milliseconds{1'700'000'000'123}; }

 private:
  EmbeddedStore table_{std::size_t{1} << 20};
  limits::StoreWithLogs store_{table_};
  nanoseconds now_ = std::chrono::seconds{1'000'000};
};

}  // namespace weir::store::conformance
