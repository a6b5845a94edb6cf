#include "server/usage_link.hpp"

#include <boost/asio/post.hpp>
#include <memory>
#include <optional>

#include "core/random.hpp"
#include "redis/call.hpp"
#include "resp/writer.hpp"
#include "server/usage_script.hpp"

namespace weir::inline v0_1::server {
namespace {

constexpr std::chrono::seconds kUsagePatience{1};

// Redis has surely not run it.
bool was_not_run(redis::Cause cause) {
  switch (cause) {
    case redis::Cause::overload:
    case redis::Cause::noscript:
    case redis::Cause::moved:
    case redis::Cause::readonly:
    case redis::Cause::loading:
    case redis::Cause::busy:
    case redis::Cause::oom:
    case redis::Cause::auth:
    case redis::Cause::clusterdown:
      return true;
    default:
      return false;
  }
}

}  // namespace

class UsageLink::Adding final : public redis::Call {
 public:
  Adding(UsageLink& in, steering::Booking booking) : in_(in), booking_(std::move(booking)) {}
  void answered(std::unique_ptr<Call>, const Result& result) override {
    --in_.under_way_;
    if (was_not_run(result.cause)) {
      const detail::Held lock(in_.mutex_);
      return in_.keep(std::move(booking_));
    }
    if (result.cause == redis::Cause::none) in_.send_soon();
  }

 private:
  UsageLink& in_;
  steering::Booking booking_;
};

class UsageLink::Finding final : public redis::Call {
 public:
  Finding(UsageLink& in, steering::Booking key, OnFound found)
      : in_(in), key_(std::move(key)), found_(std::move(found)) {}
  void answered(std::unique_ptr<Call>, const Result& result) override {
    if (result.cause != redis::Cause::none)
      return found_(tl::unexpected("the store: " + std::string(result.error)));
    found_(read_usage(*result.value, key_.windows, in_.counting_.utc()));
  }

 private:
  UsageLink& in_;
  steering::Booking key_;
  OnFound found_;
};

// Of the secret: that of the server which was first.
class UsageLink::Asking final : public redis::Call {
 public:
  Asking(UsageLink& in, bool has_tried) : in_(in), has_tried_(has_tried) {}
  void answered(std::unique_ptr<Call>, const Result& result) override {
    in_.asks_ = false;
    if (result.cause != redis::Cause::none) return;
    if (!has_tried_) return boost::asio::post(in_.loop_.context, [&in = in_] { in.ask_for_secret(true); });
    if (result.value->type == resp::Value::Type::string) in_.counting_.use_secret(result.value->text);
  }

 private:
  UsageLink& in_;
  bool has_tried_;
};

UsageLink::UsageLink(net::Loop& loop, redis::SharedStore& store, std::string prefix,
                     service::Counting& counting)
    : loop_(loop),
      store_(store),
      prefix_(std::move(prefix)),
      counting_(counting),
      each_second_(*loop.timers) {
  counting_.share_usage(this);
}

void UsageLink::start() {
  each_second_.start(std::chrono::seconds{1}, [this] { flush(); });
}

void UsageLink::flush() {
  counting_.add_usage();
  send();
  if (counting_.needs_secret() && store_.client().ready()) ask_for_secret(false);
}

bool UsageLink::empty() const {
  const detail::Held lock(mutex_);
  return under_way_ == 0 && (waiting_.empty() || !store_.client().ready());
}

UsageLink::Name UsageLink::name_of(const std::string& key, const steering::Booking& booking) {
  std::vector<std::int64_t> times = {booking.utc / std::chrono::hours{1}};
  for (const steering::UsageWindow& each : booking.windows)
    times.push_back(each.at(booking.utc).began.count());
  return {key, std::move(times)};
}

std::size_t UsageLink::bytes_of(const Name& name, const steering::Booking& booking) {
  constexpr std::size_t kNode = 48;
  return kNode + sizeof(Name) + name.first.capacity() + name.second.capacity() * sizeof(std::int64_t) +
         booking.bytes();
}

// Those that were sent in vain have room too: they are few.
void UsageLink::keep(steering::Booking booking) {
  Name name = name_of(usage_key(prefix_, booking), booking);
  const auto known = waiting_.find(name);
  if (known != waiting_.end()) return known->second.change.then(booking.change);
  bytes_ += bytes_of(name, booking);
  waiting_.emplace(std::move(name), std::move(booking));
}

std::size_t UsageLink::book(std::vector<steering::Booking> bookings) {
  std::size_t turned_away = 0;
  const detail::Held lock(mutex_);
  for (steering::Booking& each : bookings) {
    if (bytes_ + 1024 > counting_.options().track_memory &&
        !waiting_.contains(name_of(usage_key(prefix_, each), each))) {
      ++turned_away;
    } else {
      keep(std::move(each));
    }
  }
  return turned_away;
}

// Those that fail at once wait again, for the next second.
void UsageLink::send() {
  for (std::size_t left = kAtOnce; left > 0 && under_way_ < kAtOnce && store_.client().ready(); --left) {
    std::optional<steering::Booking> next;
    {
      const detail::Held lock(mutex_);
      if (waiting_.empty()) return;
      const auto first = waiting_.begin();
      bytes_ -= bytes_of(first->first, first->second);
      next = std::move(first->second);
      waiting_.erase(first);
    }
    send(*std::move(next));
  }
}

// Not from inside an answer, which comes while the client reads.
void UsageLink::send_soon() {
  if (std::exchange(sends_soon_, true)) return;
  boost::asio::post(loop_.context, [this] {
    sends_soon_ = false;
    send();
  });
}

void UsageLink::send(steering::Booking booking) {
  const std::string key = usage_key(prefix_, booking);
  std::string command;
  append_add_usage(command, key, booking);
  ++under_way_;
  store_.call(std::make_unique<Adding>(*this, std::move(booking)), key, std::move(command), kUsagePatience);
}

void UsageLink::find(steering::Booking key, OnFound found) {
  boost::asio::post(loop_.context, [this, key = std::move(key), found = std::move(found)]() mutable {
    const std::string name = usage_key(prefix_, key);
    std::vector<steering::Booking> its;
    if (store_.client().ready()) {
      const detail::Held lock(mutex_);
      for (auto each = waiting_.lower_bound({name, {}});
           each != waiting_.end() && each->first.first == name;) {
        bytes_ -= bytes_of(each->first, each->second);
        its.push_back(std::move(each->second));
        each = waiting_.erase(each);
      }
    }
    for (steering::Booking& each : its) send(std::move(each));
    std::string command;
    append_find_usage(command, name);
    store_.call(std::make_unique<Finding>(*this, std::move(key), std::move(found)), name, std::move(command),
                kUsagePatience);
  });
}

void UsageLink::ask_for_secret(bool has_tried) {
  if (std::exchange(asks_, true)) return;
  const std::string key = prefix_ + "{weir}:top-secret";
  std::string command;
  resp::Writer to(command);
  if (has_tried) {
    to.array(2);
    to.bulk("GET");
    to.bulk(key);
  } else {
    const core::HashKey fresh = core::random_key();
    to.array(4);
    to.bulk("SET");
    to.bulk(key);
    to.bulk(service::Counting::text_of(fresh));
    to.bulk("NX");
  }
  store_.call(std::make_unique<Asking>(*this, has_tried), key, std::move(command), kUsagePatience);
}

}  // namespace weir::server
