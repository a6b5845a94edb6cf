// The store of this process, as a world.
#pragma once

#include "conformance/world.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::conformance {

class EmbeddedWorld : public World {
 public:
  Store& store() override { return store_; }
  nanoseconds now() const override { return now_; }
  void advance(nanoseconds time) override { now_ += time; }
  void settle() override {}
  Reservations* reservations() override { return &store_.reservations(); }
  // Amid a window of each period.
  nanoseconds wall_ahead() const override { return std::chrono::milliseconds{1'700'000'000'123}; }
  bool refuses(const core::Rule& rule) const override { return !core::kept_in_two_words(rule.algorithm); }

 private:
  EmbeddedStore store_{std::size_t{1} << 20};
  nanoseconds now_ = std::chrono::seconds{1'000'000};
};

}  // namespace weir::store::conformance
