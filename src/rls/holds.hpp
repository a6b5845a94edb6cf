// The holds that Kuadrant's Reserve has granted, until their time is over: then what nobody has committed
// goes back, all of it.
//
// The thread of its loop. Not for: what is held, which is the store's; holds that end with their connection
// (service/bound_holds.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/clock_function.hpp"
#include "core/packed.hpp"
#include "service/hold_ender.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::rls {

class Holds {
 public:
  // More would take some 16 MiB of a loop.
  static constexpr std::size_t kMost = 65'536;
  // The store keeps one for that much longer, so that it is there when it is ended here.
  static constexpr std::chrono::nanoseconds kLater = std::chrono::seconds{10};

  // `wake` is called when the first of them ends earlier than before: end_due() is to be called then.
  Holds(store::Store& store, core::ClockFunction clock, std::function<void()> wake)
      : ender_(store, std::move(clock), nullptr), wake_(std::move(wake)) {}

  bool full() const { return ends_.size() >= kMost; }
  void add(std::string id, std::chrono::nanoseconds ends_at);
  // Ends those whose time is over, some at a time.
  void end_due(std::chrono::nanoseconds now);
  std::optional<std::chrono::nanoseconds> next() const;
  // For another process of this machine, which then ends them.
  void pack(core::Packing& to) const;

 private:
  service::HoldEnder ender_;
  std::function<void()> wake_;
  std::multimap<std::chrono::nanoseconds, std::string> ends_;
};

}  // namespace weir::rls
