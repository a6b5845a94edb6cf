// weir::RedisStore: a SharedStore and its sockets on a thread of their own.
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "redis/script.hpp"
#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "store/clock.hpp"
#include "weir/redis.hpp"

namespace weir {

namespace asio = boost::asio;

class RedisStore::Impl {
 public:
  using Done = std::function<void(const Decision&, std::string_view)>;
  using DoneReset = std::function<void(bool)>;

  Impl(redis::Endpoint endpoint, const Options& options)
      : tls_(redis::tls_for(endpoint, {options.tls_ca, options.tls_cert, options.tls_key})),
        store_(std::move(endpoint), {options.on_store_error, options.deadline, options.remember_denials},
               local_, resets_, &store::steady_now, &Impl::decided, &Impl::reset_done),
        sockets_(context_, store_.client(), tls_ ? &*tls_ : nullptr, &store::steady_now) {
    store_.on_work([this] { sockets_.wake(); });
    sockets_.on_change([this] { store_.note_state(); });
    asio::post(context_, [this] { sockets_.start(); });
    thread_ = std::thread([this] { context_.run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Nobody may be inside a check now. Those that asked without waiting get their answer before the end.
  ~Impl() {
    asio::post(context_, [this] {
      work();
      end_when_empty();
    });
    thread_.join();
  }

  void check(const core::Rule& rule, std::string_view key, Cost cost, const SharedLimiter::Options& options,
             Done done) {
    submit({std::move(done),
            {},
            rule,
            std::string(key),
            cost,
            {options.lease, options.on_store_error, options.deadline, options.lease_for, options.merge}});
  }
  using DoneAll = std::function<void(const SharedDecision&, std::string_view)>;
  void check_all(std::vector<redis::SharedStore::Limit> limits, std::chrono::nanoseconds within,
                 DoneAll done) {
    // Its thread is where the store may be used.
    asio::post(context_, [this, limits = std::move(limits), due = store::steady_now() + within,
                          done = std::move(done)]() mutable {
      store_.check_all(std::move(limits), due,
                       [done = std::move(done)](const redis::SharedStore::Outcome& outcome, std::size_t by) {
                         done({outcome.decision, by}, outcome.error);
                       });
    });
  }
  void reset(std::string_view key, DoneReset done) {
    submit({{}, std::move(done), std::nullopt, std::string(key), {}, {}});
  }

  const redis::SharedStore& store() const { return store_; }

 private:
  struct Task {
    Done done;
    DoneReset done_reset;
    std::optional<core::Rule> rule;  // nothing: a reset
    std::string key;
    Cost cost;
    redis::SharedStore::Wishes wishes;
  };

  // What all threads have asked since the last turn goes to the store's thread in one piece.
  void submit(Task task) {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() == 1) asio::post(context_, [this] { work(); });
  }

  void work() {
    std::vector<Task> tasks;
    {
      const std::scoped_lock lock(mutex_);
      tasks.swap(tasks_);
    }
    for (Task& each : tasks) {
      auto* const task = new Task(std::move(each));  // owned by its token
      const auto token = reinterpret_cast<std::uintptr_t>(task);
      const bool leases = task->wishes.lease > 1;
      if (!task->rule) {
        store_.reset(task->key, token);
      } else if (const auto outcome = store_.check(*task->rule, task->key, task->cost, token, task->wishes)) {
        decided(token, *outcome);
      }
      if (leases) watch_leases();
    }
  }

  static void decided(std::uint64_t token, const redis::SharedStore::Outcome& outcome) {
    const std::unique_ptr<Task> task(reinterpret_cast<Task*>(static_cast<std::uintptr_t>(token)));
    task->done(outcome.decision, outcome.error);
  }
  static void reset_done(std::uint64_t token, std::optional<std::int64_t> removed, std::string_view) {
    const std::unique_ptr<Task> task(reinterpret_cast<Task*>(static_cast<std::uintptr_t>(token)));
    task->done_reset(removed.has_value());
  }

  // Whether a lease has ended is looked at now and then, while there are any or may soon be.
  void watch_leases() {
    if (std::exchange(watching_leases_, true)) return;
    lease_timer_.expires_after(std::chrono::milliseconds{100});
    lease_timer_.async_wait([this](const boost::system::error_code& stopped) {
      watching_leases_ = false;
      if (!stopped && (store_.end_leases(false) || !store_.empty())) watch_leases();
    });
  }

  void end_when_empty() {
    // What is given back has to be answered too.
    if (store_.empty()) store_.end_leases(true);
    if (store_.empty()) {
      sockets_.stop();
      lease_timer_.cancel();
      guard_.reset();
      return;
    }
    // No longer than the deadline.
    end_timer_.expires_after(std::chrono::milliseconds{1});
    end_timer_.async_wait([this](const boost::system::error_code&) { end_when_empty(); });
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(context_);
  asio::steady_timer end_timer_{context_};
  asio::steady_timer lease_timer_{context_};
  bool watching_leases_ = false;
  store::Table local_{64_MiB, WhenFull::deny};
  redis::Resets resets_;
  std::optional<asio::ssl::context> tls_;
  redis::SharedStore store_;
  redis::Sockets sockets_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
  std::thread thread_;
};

namespace {

redis::Endpoint parsed(std::string_view url) {
  auto endpoint = redis::Endpoint::parse(url);
  if (!endpoint) throw std::invalid_argument(endpoint.error());
  return std::move(*endpoint);
}

}  // namespace

RedisStore::RedisStore(std::string_view url, Options options)
    : impl_(std::make_unique<Impl>(parsed(url), options)) {}
RedisStore::~RedisStore() = default;

void RedisStore::check_all(std::span<const SharedCheck> checks,
                           std::function<void(const SharedDecision&, std::string_view)> done) {
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("weir::RedisStore::check_all: " + why);
  };
  if (checks.empty() || checks.size() > store::Table::kMostTogether) {
    refuse(std::to_string(checks.size()) + " limits are not 1 to " +
           std::to_string(store::Table::kMostTogether));
  }
  const redis::SharedStore::Policy& policy = impl_->store().policy();
  std::vector<redis::SharedStore::Limit> limits;
  std::chrono::nanoseconds deadline = std::chrono::nanoseconds::max();
  for (const SharedCheck& each : checks) {
    const SharedLimiter::Options& options = each.limiter.options_;
    if (&each.limiter.store_ != this) refuse("limit " + std::to_string(limits.size()) + " has another store");
    const auto same = [&each](const redis::SharedStore::Limit& other) { return other.key == each.key; };
    if (std::any_of(limits.begin(), limits.end(), same)) {
      refuse("limit " + std::to_string(limits.size()) + " has the key of another");
    }
    limits.push_back({core::Rule{each.limiter.quota_, options.algorithm}, std::string(each.key), each.cost,
                      options.on_store_error.value_or(policy.on_error)});
    deadline = std::min(deadline, options.deadline.value_or(policy.deadline));
  }
  impl_->check_all(std::move(limits), deadline, std::move(done));
}

SharedDecision RedisStore::check_all(std::span<const SharedCheck> checks) {
  std::promise<std::pair<SharedDecision, std::string>> promise;
  check_all(checks, [&promise](const SharedDecision& decision, std::string_view error) {
    promise.set_value({decision, std::string(error)});
  });
  auto [decision, error] = promise.get_future().get();
  if (!error.empty()) throw std::runtime_error(error);
  return decision;
}

bool RedisStore::ready() const { return impl_->store().counters().ready.load(); }
std::uint64_t RedisStore::decided() const { return impl_->store().counters().decided.load(); }
std::uint64_t RedisStore::remembered() const { return impl_->store().counters().remembered.load(); }
std::uint64_t RedisStore::leased() const { return impl_->store().counters().leased.load(); }
std::uint64_t RedisStore::merged() const { return impl_->store().counters().merged.load(); }
std::uint64_t RedisStore::not_decided() const { return impl_->store().counters().fallbacks.load(); }

SharedLimiter::SharedLimiter(Quota quota, RedisStore& store, Options options)
    : quota_(quota), store_(store), options_(options) {
  auto rule = core::Rule::make(quota, options.algorithm);
  if (!rule) throw std::invalid_argument("weir::SharedLimiter: " + rule.error());
  if (auto sentence = redis::unsuitable(*rule))
    throw std::invalid_argument("weir::SharedLimiter: " + *sentence);
}

Decision SharedLimiter::check(std::string_view key, Cost cost) {
  std::promise<std::pair<Decision, std::string>> promise;
  store_.impl_->check(core::Rule{quota_, options_.algorithm}, key, cost, options_,
                      [&promise](const Decision& decision, std::string_view error) {
                        promise.set_value({decision, std::string(error)});
                      });
  auto [decision, error] = promise.get_future().get();
  if (!error.empty()) throw std::runtime_error(error);
  return decision;
}

void SharedLimiter::check(std::string_view key, Cost cost,
                          std::function<void(const Decision&, std::string_view)> done) {
  store_.impl_->check(core::Rule{quota_, options_.algorithm}, key, cost, options_, std::move(done));
}

bool SharedLimiter::reset(std::string_view key) {
  std::promise<bool> promise;
  store_.impl_->reset(key, [&promise](bool done) { promise.set_value(done); });
  return promise.get_future().get();
}

}  // namespace weir
