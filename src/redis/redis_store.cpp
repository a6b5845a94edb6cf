// weir::RedisStore: a SharedStore and its sockets on a thread of their own.
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "redis/script.hpp"
#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "weir/redis.hpp"

namespace weir {

namespace asio = boost::asio;

class RedisStore::Impl {
 public:
  struct Named {
    store::Limit limit;
    std::string key;
    Cost cost;
  };
  using OnDecision = std::function<void(const Decision&, std::string_view error)>;
  using OnJoint = std::function<void(const SharedDecision&, std::string_view error)>;
  using OnReset = std::function<void(bool)>;
  using Done = std::variant<OnDecision, OnJoint, OnReset>;

  Impl(redis::Endpoint endpoint, const Options& options)
      : options_(options),
        tls_(redis::tls_for(endpoint, {options.tls_ca, options.tls_cert, options.tls_key})),
        store_(std::move(endpoint),
               {.deadline = options.deadline, .remember_denials = options.remember_denials}, local_, resets_,
               &store::steady_now),
        sockets_(context_, store_.client(), tls_ ? &*tls_ : nullptr, &store::steady_now) {
    store_.on_work([this](std::size_t calls) { sockets_.wake(calls); });
    sockets_.on_change([this] { store_.note_state(); });
    asio::post(context_, [this] { sockets_.start(); });
    thread_ = std::thread([this] { context_.run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // No thread may be inside a check now. Those that asked without waiting get their answer before the end.
  ~Impl() {
    asio::post(context_, [this] {
      work();
      end_when_empty();
    });
    thread_.join();
  }

  // Any thread. What all threads have asked since the last turn goes to the store's thread in one piece.
  void submit(Named first, std::vector<Named> rest, store::Verb verb, std::chrono::nanoseconds patience,
              Done done) {
    std::list<Task> one;
    Task& task = one.emplace_back(*this, std::move(first), std::move(rest), std::move(done));
    task.verb = verb;
    task.patience = patience;
    const std::scoped_lock lock(mutex_);
    tasks_.splice(tasks_.end(), one);
    if (tasks_.size() == 1) asio::post(context_, [this] { work(); });
  }

  store::Limit limit_of(const Quota& quota, const SharedLimiter::Options& options) const {
    return {.rule = core::Rule{quota, options.algorithm},
            .on_store_error = options.on_store_error.value_or(options_.on_store_error),
            .sharing = {.lease = options.lease, .lease_for = options.lease_for, .merge = options.merge}};
  }
  const Options& options() const { return options_; }
  const redis::SharedStore& store() const { return store_; }

 private:
  // A request on its way to the store's thread and back, with what it is about. Most have one key.
  struct Task : store::Request {
    Task(Impl& its_owner, Named one, std::vector<Named> others, Done its_done)
        : owner(its_owner), first(std::move(one)), rest(std::move(others)), done(std::move(its_done)) {
      on_answer = [](store::Request& request) {
        auto& its = static_cast<Task&>(request);
        its.owner.finish(its);
      };
    }

    void fill_checks() {
      check = {.limit = &first.limit, .key = first.key, .cost = first.cost};
      checks = {&check, 1};
      if (rest.empty()) return;
      list.push_back(check);
      for (const Named& each : rest)
        list.push_back({.limit = &each.limit, .key = each.key, .cost = each.cost});
      checks = list;
    }

    Impl& owner;
    Named first;
    std::vector<Named> rest;
    Done done;
    store::Check check;
    std::vector<store::Check> list;  // when there are several
    std::list<Task>::iterator self;
  };

  void work() {
    std::list<Task> tasks;
    {
      const std::scoped_lock lock(mutex_);
      tasks.swap(tasks_);
    }
    std::vector<store::Request*> batch;
    batch.reserve(tasks.size());
    bool leases = false;
    for (auto it = tasks.begin(); it != tasks.end(); ++it) {
      it->self = it;
      it->fill_checks();
      leases = leases || it->first.limit.sharing.lease > 1;
      batch.push_back(&*it);
    }
    under_way_.splice(under_way_.end(), tasks);
    const std::chrono::nanoseconds now = store::steady_now();
    store_.submit(batch, {now, now});
    for (store::Request* const each : batch) {
      if (each->state == store::Request::State::answered) finish(static_cast<Task&>(*each));
    }
    if (leases) watch_leases();
  }

  void finish(Task& task) {
    std::list<Task> ended;
    ended.splice(ended.end(), under_way_, task.self);
    for (store::Check& each : task.checks) each.decision.source = task.source;
    const std::string_view error =
        task.fault == Fault::none ? std::string_view() : std::string_view(task.why);
    if (const auto* one = std::get_if<OnDecision>(&task.done)) return (*one)(task.decision(), error);
    if (const auto* joint = std::get_if<OnJoint>(&task.done))
      return (*joint)({task.decision(), task.by}, error);
    std::get<OnReset>(task.done)(task.fault == Fault::none);
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
  const Options options_;
  store::EmbeddedStore local_{64_MiB};
  redis::Resets resets_;
  std::optional<asio::ssl::context> tls_;
  redis::SharedStore store_;
  redis::Sockets sockets_;
  std::mutex mutex_;
  std::list<Task> tasks_;      // of all threads
  std::list<Task> under_way_;  // of the store's
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
  if (checks.empty() || checks.size() > store::kMostChecks) {
    refuse(std::to_string(checks.size()) + " limits are not 1 to " + std::to_string(store::kMostChecks));
  }
  std::vector<Impl::Named> named;
  std::chrono::nanoseconds patience = std::chrono::nanoseconds::max();
  for (const SharedCheck& each : checks) {
    const SharedLimiter::Options& options = each.limiter.options_;
    if (&each.limiter.store_ != this) refuse("limit " + std::to_string(named.size()) + " has another store");
    const auto same = [&each](const Impl::Named& other) { return other.key == each.key; };
    if (std::any_of(named.begin(), named.end(), same)) {
      refuse("limit " + std::to_string(named.size()) + " has the key of another");
    }
    named.push_back({impl_->limit_of(each.limiter.quota_, options), std::string(each.key), each.cost});
    patience = std::min(patience, options.deadline.value_or(impl_->options().deadline));
  }
  Impl::Named first = std::move(named.front());
  named.erase(named.begin());
  impl_->submit(std::move(first), std::move(named), store::Verb::check, patience, std::move(done));
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

bool RedisStore::ready() const noexcept { return impl_->store().counters().ready.load(); }
std::uint64_t RedisStore::decided() const noexcept { return impl_->store().counters().decided.load(); }
std::uint64_t RedisStore::remembered() const noexcept { return impl_->store().counters().remembered.load(); }
std::uint64_t RedisStore::leased() const noexcept { return impl_->store().counters().leased.load(); }
std::uint64_t RedisStore::merged() const noexcept { return impl_->store().counters().merged.load(); }
std::uint64_t RedisStore::not_decided() const noexcept { return impl_->store().counters().fallbacks.load(); }

SharedLimiter::SharedLimiter(Quota quota, RedisStore& store, Options options)
    : quota_(quota), store_(store), options_(options) {
  auto rule = core::Rule::make(quota, options.algorithm);
  if (!rule) throw std::invalid_argument("weir::SharedLimiter: " + rule.error());
  if (auto sentence = redis::unsuitable(*rule))
    throw std::invalid_argument("weir::SharedLimiter: " + *sentence);
}

Decision SharedLimiter::check(std::string_view key, Cost cost) {
  std::promise<std::pair<Decision, std::string>> promise;
  check(key, cost, [&promise](const Decision& decision, std::string_view error) {
    promise.set_value({decision, std::string(error)});
  });
  auto [decision, error] = promise.get_future().get();
  if (!error.empty()) throw std::runtime_error(error);
  return decision;
}

void SharedLimiter::check(std::string_view key, Cost cost,
                          std::function<void(const Decision&, std::string_view)> done) {
  store_.impl_->submit({store_.impl_->limit_of(quota_, options_), std::string(key), cost}, {},
                       store::Verb::check, options_.deadline.value_or(std::chrono::nanoseconds{0}),
                       std::move(done));
}

bool SharedLimiter::reset(std::string_view key) {
  std::promise<bool> promise;
  store_.impl_->submit({store_.impl_->limit_of(quota_, options_), std::string(key), Cost{}}, {},
                       store::Verb::reset, std::chrono::nanoseconds{0},
                       [&promise](bool done) { promise.set_value(done); });
  return promise.get_future().get();
}

}  // namespace weir
