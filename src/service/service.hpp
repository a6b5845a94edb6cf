// What all connections of a server share, whatever protocol they speak: who may ask, what is counted, what is
// reported, and the few things that a command can ask of the program itself.
//
// It knows no protocol, no socket and no Redis: those add rows to `metrics`. The program fills it before its
// threads start; then any thread may use it. The table must outlive it.
// Not for: deciding (that is store::Store).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/clock_function.hpp"
#include "core/notices.hpp"
#include "core/virtual_time.hpp"
#include "service/counters.hpp"
#include "service/counting.hpp"
#include "service/decision_series.hpp"
#include "service/descriptors_in_force.hpp"
#include "service/key_rules.hpp"
#include "service/limits_in_force.hpp"
#include "service/logins.hpp"
#include "service/metrics.hpp"
#include "service/operators.hpp"
#include "service/overrides.hpp"
#include "service/process.hpp"
#include "service/slow_log.hpp"
#include "service/testing.hpp"
#include "service/users_in_force.hpp"
#include "store/clock.hpp"
#include "store/store.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::service {

// To those who wait for something as the process ends.
inline constexpr std::string_view kShutsDown = "the server is shutting down";

struct ServiceOptions {
  std::string user = "default";
  std::string password{};    // empty: none is required
  std::string http_token{};  // a bearer's; empty: there is none

  // Hosts by which browsers reach the listeners of HTTP and of pages, in lower case, besides addresses and
  // localhost.
  std::vector<std::string> host_names{};

  // For limits that come with the request.
  OnStoreError on_store_error = OnStoreError::local;
  store::Sharing sharing{};

  std::chrono::milliseconds max_wait = std::chrono::hours{1};  // that a reservation may ask for
  std::size_t max_waiters = 10'000;                            // in line, and of one connection by tags

  // How long what is charged afterwards may lock a limit beyond its burst.
  std::chrono::nanoseconds max_overdraft = std::chrono::hours{24};
  bool allow_refunds = false;  // of limits that do not say so, too

  std::string headers{};  // the form of RateLimit fields; empty: as the limits file says

  // How long a store may take until its fallback decides; 0: there is no store.
  std::chrono::milliseconds store_deadline{0};

  CountingOptions counting{};

  // What CONFIG and INFO report.
  unsigned threads = 1;
  std::size_t memory = 0;
  std::size_t max_connections = 0;
  bool snapshots = false;
  bool allow_shutdown = false;     // from other machines
  std::string commit = "unknown";  // of the sources

  core::ClockFunction clock = store::steady_now;  // by which everything is decided
  core::ClockFunction wall_clock = [] { return std::chrono::system_clock::now().time_since_epoch(); };
  // Of a process that this one takes over from: its Service::wall_ahead().
  std::optional<std::chrono::nanoseconds> wall_ahead{};
  std::shared_ptr<core::VirtualTime> virtual_time{};  // which both of them tell; null: they are real
};

class Service {
 public:
  Service(ServiceOptions from, const store::Table& table);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  const ServiceOptions& options() const { return options_; }
  std::chrono::nanoseconds now() const { return options_.clock(); }
  std::chrono::nanoseconds wall_now() const { return options_.wall_clock(); }
  std::chrono::nanoseconds age() const { return now() - started_; }
  // When what has just come arrived, on the clock that decides: in virtual time now.
  store::Arrival arrival(store::Arrival real) const {
    if (!options_.virtual_time) [[likely]]
      return real;
    return {now(), now()};
  }
  // How far the wall clock was ahead of the other at the start: windows lie by it, and stepping the wall
  // clock later changes no decision.
  std::chrono::nanoseconds wall_ahead() const { return wall_ahead_; }

  // Keys in use. In a large table an estimate: an event loop must not stand still to count a billion slots.
  std::uint64_t live_keys() const { return table_.live(now(), kMostSegmentsRead); }

  // Which keys are denied most, or charged most; a sentence where that cannot be said.
  struct TopAsked {
    steering::TopKeys::By by;
    std::string_view limit;  // that one alone; empty: all
    std::size_t most;
  };
  tl::expected<steering::TopKeys::Answer, std::string> top(const TopAsked& asked) const;

  Counters counters;
  Counting counting;
  KeyRules key_rules;  // of those that ask with rules of their own
  core::Notices notices{[this] { return now(); }};
  std::unique_ptr<UsersInForce> users;  // null: there is no users file
  Logins logins;
  Metrics metrics;
  SlowLog slow_log;
  Operators operators;
  Process process;
  Testing testing;
  // Null: nobody samples them.
  std::unique_ptr<DecisionSeries> series;
  std::unique_ptr<LimitsInForce> limits;  // null: there is no limits file
  std::unique_ptr<Overrides> overrides;   // of its limits; null: there are none
  // Runs what changes overrides, one after the other, where that holds up no event loop. Any thread.
  std::function<void(std::function<void()>)> steer = [](const std::function<void()>& work) { work(); };
  std::unique_ptr<DescriptorsInForce> descriptors;  // of Envoy's rate limit service; null: there are none
  // Reads it, where that holds up no event loop. Any thread; `told` may be called by any, at once or later.
  std::function<void(LimitsInForce::Reading, LimitsInForce::OnRead)> read_limits =
      [this](LimitsInForce::Reading what, const LimitsInForce::OnRead& told) {
        told(what == LimitsInForce::Reading::check ? limits->check() : limits->reload());
      };

 private:
  static constexpr std::uint32_t kMostSegmentsRead = 64;  // some 20 ms

  void describe();
  void describe_refusals();
  void describe_keys();

  ServiceOptions options_;
  const store::Table& table_;
  std::chrono::nanoseconds started_ = now();
  const std::chrono::nanoseconds wall_ahead_ = options_.wall_ahead.value_or(wall_now() - started_);
};

}  // namespace weir::service
