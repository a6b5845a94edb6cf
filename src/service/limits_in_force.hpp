// The limits file that a server goes by: read, compiled, and read again. The set in force is swapped as one
// pointer, so that each request is decided by one set whole; an invalid file changes nothing.
//
// Any thread, as FilesInForce says. Not for: deciding (limits/set.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "limits/read.hpp"
#include "limits/set.hpp"
#include "limits/steered.hpp"
#include "service/files_in_force.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

// What requests are decided by: a set of the limits file, and what operators have steered of it. Swapped as
// one pointer.
//
// Any thread.
class RulingInForce {
 public:
  using Made = limits::Steered;

  void publish(std::shared_ptr<const limits::Steered> made);
  // Null: nothing is in force yet.
  std::shared_ptr<const limits::Steered> current() const;
  // Changes when it does.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // Called after each, by its thread; set before the first other thread publishes.
  std::function<void()> changed = [] {};

 private:
  mutable detail::Mutex mutex_;
  std::shared_ptr<const limits::Steered> made_ WEIR_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> version_{0};
};

class LimitsInForce final : public FilesInForce {
 public:
  using Made = limits::Set;
  struct Options {
    std::string path;
    limits::SetOptions setting{};
    bool shared = false;  // there is a store that may fail
    core::ClockFunction wall_clock;
    limits::OpenFile open = limits::read_from_disk;
    Log log = [](bool, const std::string&) {};
  };

  // Nothing is in force before the first reload.
  explicit LimitsInForce(Options options)
      : FilesInForce("limits", options.path, options.wall_clock, options.log), options_(std::move(options)) {}

  std::shared_ptr<const limits::Set> current() const {
    return std::static_pointer_cast<const limits::Set>(in_force());
  }

  void add_rows(Metrics& metrics) const;

  RulingInForce ruling;
  // What publishes the ruling when another set has come in force; null: this does, of the set alone. Before
  // other threads read the file.
  void on_renewal(std::function<void()> renew) { renew_ = std::move(renew); }

 private:
  Compiled compile(const std::shared_ptr<const void>& before) const override;
  void warn(const limits::File& file, Compiled& compiled) const;

  void came_in_force() override;

  const Options options_;
  std::function<void()> renew_;
};

}  // namespace weir::service
