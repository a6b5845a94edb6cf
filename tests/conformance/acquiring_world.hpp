// A store in which requests wait, around the store of another world.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "conformance/world.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::store::conformance {

class AcquiringWorld : public World {
 public:
  explicit AcquiringWorld(std::unique_ptr<World> around) : around_(std::move(around)) {
    if (Reservations* const tells = around_->reservations(); tells != nullptr) house_.queues.hear(*tells);
  }

  Store& store() override { return acquiring_; }
  nanoseconds now() const override { return around_->now(); }
  void advance(nanoseconds time) override {
    const nanoseconds until = now() + time;
    settle();
    for (auto next = acquiring_.next_deadline(); next && *next <= until; next = acquiring_.next_deadline()) {
      around_->advance(std::max(nanoseconds{0}, *next - now()));
      turns_ = true;
      settle();
    }
    around_->advance(until - now());
  }
  void stand_still(nanoseconds time) override { around_->advance(time); }
  void settle() override {
    around_->settle();
    while (std::exchange(turns_, false)) {
      acquiring_.advance(now());
      around_->settle();
    }
  }
  bool step_back(nanoseconds by) override { return around_->step_back(by); }
  nanoseconds wall_ahead() const override { return around_->wall_ahead(); }
  Sharing sharing() const override { return around_->sharing(); }
  bool spreads() const override { return around_->spreads(); }
  bool keeps_order_of_several() const override { return around_->keeps_order_of_several(); }
  bool lets_wait() const override { return true; }
  bool refuses(const core::Rule& rule) const override { return around_->refuses(rule); }
  bool has_slots() const override { return around_->has_slots(); }
  bool put_foreign_value(const Limit& limit, const std::string& key) override {
    return around_->put_foreign_value(limit, key);
  }
  bool fall_silent() override { return around_->fall_silent(); }
  void speak_again() override { around_->speak_again(); }

 private:
  std::unique_ptr<World> around_;
  bool turns_ = false;
  waiting::House house_{1'000};
  waiting::AcquiringStore acquiring_{around_->store(),          house_,
                                     [this] { return now(); },  [] {},
                                     [this] { turns_ = true; }, around_->reservations() != nullptr};
};

}  // namespace weir::store::conformance
