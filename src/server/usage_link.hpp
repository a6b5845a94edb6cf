// What this server's keys have used, on its way to the store where all servers add it up.
//
// Each second it goes there, a few calls at a time, so that decisions find no line before them; while the
// store is away it waits here, within --track-memory. What a connection that breaks had under way is lost: it
// may have been added.
//
// book() and find() by any thread; the rest by the loop whose store it is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/siphash.hpp"
#include "net/loop.hpp"
#include "redis/shared_store.hpp"
#include "server/every.hpp"
#include "service/counting.hpp"
#include "service/shared_usage.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class UsageLink final : public service::SharedUsage {
 public:
  static constexpr std::size_t kAtOnce = 16;  // calls under way

  // What is booked comes here until this ends.
  UsageLink(net::Loop& loop, redis::SharedStore& store, std::string prefix, service::Counting& counting);
  ~UsageLink() override { counting_.share_usage(nullptr); }
  UsageLink(const UsageLink&) = delete;
  UsageLink& operator=(const UsageLink&) = delete;

  std::size_t book(std::vector<steering::Booking> bookings) override;
  void find(steering::Booking key, OnFound found) override;

  void start();
  void stop() { each_second_.stop(); }
  // Sends what there is; nothing is left that can be sent, once empty() says so.
  void flush();
  bool empty() const;

 private:
  class Adding;
  class Finding;
  class Asking;

  // Of a key, by when its hour and its periods began: those of one time are one.
  using Name = std::pair<std::string, std::vector<std::int64_t>>;
  void keep(steering::Booking booking) WEIR_REQUIRES(mutex_);
  void send();
  void send_soon();
  void send(steering::Booking booking);
  void ask_for_secret(bool has_tried);
  static Name name_of(const std::string& key, const steering::Booking& booking);
  static std::size_t bytes_of(const Name& name, const steering::Booking& booking);

  net::Loop& loop_;
  redis::SharedStore& store_;
  const std::string prefix_;
  service::Counting& counting_;
  Every each_second_;
  std::size_t under_way_ = 0;
  bool asks_ = false;  // for the secret
  bool sends_soon_ = false;
  mutable detail::Mutex mutex_;
  std::map<Name, steering::Booking> waiting_ WEIR_GUARDED_BY(mutex_);
  std::size_t bytes_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::server
