// weir::RedisStore: a SharedStore and its sockets on a thread of their own; or, for "memory:", the embedded
// store on the thread that asks.
#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "redis/script.hpp"
#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "store/asked_kept.hpp"
#include "store/asker.hpp"
#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "store/fork.hpp"
#include "weir/lock.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {

namespace asio = boost::asio;

namespace {

// While it lives, this thread runs what callers gave a store: their callbacks, and what those own. A call
// that waited for the store would wait for itself.
class Telling {
 public:
  explicit Telling(const void* store) noexcept : store_(store), outer_(innermost) { innermost = this; }
  ~Telling() { innermost = outer_; }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  static bool of(const void* store) noexcept {
    for (const Telling* each = innermost; each != nullptr; each = each->outer_) {
      if (each->store_ == store) return true;
    }
    return false;
  }

 private:
  static inline thread_local const Telling* innermost = nullptr;
  const void* const store_;
  const Telling* const outer_;
};

}  // namespace

class [[gnu::visibility("hidden")]] RedisStore::Impl final : public store::Asker {
 public:
  struct Named {
    store::Limit limit;
    std::string key;
    Cost cost;
  };
  using ResetResult = tl::expected<bool, StoreFault>;
  using Done = std::variant<Callback<SharedResult>, Callback<JointResult>, Callback<ResetResult>>;

  Impl(std::string_view url, const Options& options)
      : options_(options),
        clock_([given = options.clock] { return given != nullptr ? given->now() : store::steady_now(); }) {
    if (!(options.local_share > 0 && options.local_share <= 1))
      throw std::invalid_argument("local_share: expected above 0 and at most 1");
    if (url == "memory:") {
      in_memory_.ready = true;
      return;
    }
    auto endpoint = redis::Endpoint::parse(url);
    if (!endpoint) throw std::invalid_argument(endpoint.error());
    format_ = endpoint->format;
    tls_ = redis::tls_for(*endpoint, {options.tls_ca, options.tls_cert, options.tls_key});
    const redis::SharedStore::Options shared{.deadline = options.deadline,
                                             .remember_denials = options.remember_denials,
                                             .local_share = options.local_share};
    memory_ = std::make_unique<redis::ProcessMemory>();
    store_ = std::make_unique<redis::SharedStore>(std::move(*endpoint), shared, local_, *memory_, clock_);
    sockets_ = std::make_unique<redis::Sockets>(context_, store_->client(), tls_ ? &*tls_ : nullptr, clock_);
    store_->on_work([this](std::size_t calls) { sockets_->wake(calls); });
    sockets_->on_change([this] { store_->note_state(); });
    asio::post(context_, [this] { sockets_->start(); });
    thread_ = std::thread([this] { context_.run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // No thread may be inside a check now. Those that asked without waiting get their answer before the end.
  ~Impl() override {
    if (Telling::of(this)) end_the_program("weir::RedisStore: destroyed by a callback of its own");
    if (!store_) return;
    asio::post(context_, [this] {
      work();
      end_when_empty();
    });
    thread_.join();
  }

  // Any thread. What all threads have asked since the last turn goes to the store's thread in one piece.
  void submit(Named first, std::vector<Named> rest, store::Verb verb, std::chrono::nanoseconds patience,
              Done done) {
    require_own_process();
    std::list<Task> one;
    Task& task = one.emplace_back(*this, std::move(first), std::move(rest), std::move(done));
    task.verb = verb;
    task.patience = patience;
    if (!store_) return decide_here(std::move(one));
    const detail::Held lock(mutex_);
    tasks_.splice(tasks_.end(), one);
    if (tasks_.size() == 1) asio::post(context_, [this] { work(); });
  }

  // A thread that runs a callback of ours answers nobody else until it returns. "memory:" could wait there;
  // it shows what a Redis would do.
  void require_may_wait() const {
    require_own_process();
    if (!Telling::of(this)) return;
    throw std::logic_error(
        "weir::RedisStore: a callback waits for the store that called it; expected a check() with a "
        "callback");
  }

  void ask(std::span<store::Awaited> batch) override {
    require_may_wait();
    std::vector<store::Request*> requests;
    requests.reserve(batch.size());
    for (store::Awaited& each : batch) requests.push_back(&each);
    if (!store_) {
      const std::chrono::nanoseconds now = clock_();
      local_.submit(requests, {now, now});
      for (const store::Awaited& each : batch) {
        if (each.fault == Fault::none) in_memory_.decided.fetch_add(1, std::memory_order_relaxed);
      }
      return;
    }
    struct Wait {
      std::promise<void> answered;
      std::size_t open;  // the store's thread's
    } wait{{}, batch.size()};
    for (store::Awaited& each : batch) {
      each.context = &wait;
      each.on_answer = [](store::Request& request) {
        Wait& its = *static_cast<Wait*>(static_cast<store::Awaited&>(request).context);
        if (--its.open == 0) its.answered.set_value();
      };
    }
    asio::post(context_, [this, &wait, &requests] {
      const std::chrono::nanoseconds now = clock_();
      for (const store::Request* const each : requests) {
        for (const store::Check& check : each->checks) {
          if (check.limit->sharing.lease > 1) watch_leases();
        }
      }
      // One more than there are, so that none of those that are answered meanwhile is the last.
      ++wait.open;
      store_->submit(requests, {now, now});
      for (store::Request* const each : requests)
        wait.open -= each->state == store::Request::State::answered ? 1 : 0;
      if (--wait.open == 0) wait.answered.set_value();
    });
    wait.answered.get_future().wait();
  }

  bool cancel_unawaited(store::Reservation& reservation, std::chrono::nanoseconds patience) override {
    if (is_of_a_parent()) return true;  // whose reservation it is
    if (!Telling::of(this)) return false;
    store::Store& store = store_ ? static_cast<store::Store&>(*store_) : local_;
    const auto one = leaving_.emplace(leaving_.end());
    one->owner = this;
    one->self = one;
    one->left = std::move(reservation);
    one->verb = store::Verb::cancel;
    one->reservation = &one->left;
    one->patience = patience;
    one->on_answer = [](store::Request& request) {
      auto& its = static_cast<Leaving&>(request);
      its.owner->leaving_.erase(its.self);
    };
    store::Request* const batch[] = {&*one};
    const std::chrono::nanoseconds now = clock_();
    store.submit(batch, {now, now});
    if (one->state == store::Request::State::answered) leaving_.erase(one);
    return true;
  }

  store::Limit limit_of(const Quota& quota, const SharedLimiter::Options& options) const {
    return {.rule = core::Rule{quota, options.algorithm},
            .on_store_error = options.on_store_error.value_or(options_.on_store_error),
            .sharing = {.lease = options.lease, .lease_for = options.lease_for, .merge = options.merge}};
  }
  const Options& options() const { return options_; }
  std::chrono::nanoseconds now() const { return clock_(); }
  redis::Format format() const { return format_; }
  const redis::SharedStore::Counters& counters() const { return store_ ? store_->counters() : in_memory_; }
  // We are in a child of fork(), where our thread is not.
  bool is_of_a_parent() const { return forks_ != store::forks(); }
  std::uint64_t thrown() const { return thrown_.load(std::memory_order_relaxed); }

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

  void require_own_process() const {
    if (!is_of_a_parent()) return;
    throw std::logic_error(
        "weir::RedisStore: it was made before fork(); expected a RedisStore that this process has made");
  }

  // A reservation that a callback cancelled or destroyed.
  struct Leaving : store::Request {
    Impl* owner = nullptr;
    store::Reservation left;
    std::list<Leaving>::iterator self;
  };

  // Of a destructor, whose exception ends the program and is its last word.
  static void end_the_program(const char* why) { throw std::logic_error(why); }

  void work() {
    std::list<Task> tasks;
    {
      const detail::Held lock(mutex_);
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
    const std::chrono::nanoseconds now = clock_();
    // In two pieces, each a write: Redis works through the first while the second is made. As one, Redis and
    // we would take turns, each idle while the other works. A piece is finished before the next, whose
    // submit() may answer, and so end, what is still open.
    const std::span<store::Request* const> all(batch);
    const std::size_t half = (all.size() + 1) / 2;
    for (const auto piece : {all.first(half), all.subspan(half)}) {
      store_->submit(piece, {now, now});
      for (store::Request* const each : piece) {
        if (each->state == store::Request::State::answered) finish(static_cast<Task&>(*each));
      }
    }
    if (leases) watch_leases();
  }

  void decide_here(std::list<Task> asked) {
    const Telling telling(this);
    std::list<Task> ended(std::move(asked));
    Task& task = ended.front();
    task.fill_checks();
    store::Request* const batch[] = {&task};
    const std::chrono::nanoseconds now = clock_();
    local_.submit(batch, {now, now});
    if (task.fault == Fault::none) in_memory_.decided.fetch_add(1, std::memory_order_relaxed);
    tell(task);
  }

  void finish(Task& task) {
    const Telling telling(this);
    std::list<Task> ended;
    ended.splice(ended.end(), under_way_, task.self);
    tell(task);
  }

  // The store goes on, whatever a callback does.
  void tell(Task& task) noexcept {
    try {
      call(task);
    } catch (...) {
      thrown_.fetch_add(1, std::memory_order_relaxed);
      if (options_.on_exception) options_.on_exception(std::current_exception());
    }
  }

  static void call(Task& task) {
    const auto result = [&task]<class Value>(Value value) -> tl::expected<Value, StoreFault> {
      if (task.fault != Fault::none) return tl::unexpected(StoreFault(task.fault, task.why));
      return value;
    };
    Decision decision = task.decision();
    decision.source = task.source;
    if (auto* const one = std::get_if<Callback<SharedResult>>(&task.done)) return (*one)(result(decision));
    if (auto* const joint = std::get_if<Callback<JointResult>>(&task.done))
      return (*joint)(result(JointDecision{decision, task.by}));
    std::get<Callback<ResetResult>>(task.done)(result(task.forgotten > 0));
  }

  // Whether a lease has ended is looked at now and then, while there are any or may soon be.
  void watch_leases() {
    if (std::exchange(watching_leases_, true)) return;
    lease_timer_.expires_after(std::chrono::milliseconds{100});
    lease_timer_.async_wait([this](const boost::system::error_code& stopped) {
      watching_leases_ = false;
      if (!stopped && (store_->end_leases(false) || !store_->empty())) watch_leases();
    });
  }

  void end_when_empty() {
    // What is given back has to be answered too.
    if (store_->empty()) store_->end_leases(true);
    if (store_->empty()) {
      sockets_->stop();
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
  const std::uint32_t forks_ = store::forks();
  const Options options_;
  const core::Clock clock_;
  redis::Format format_ = redis::Format::weir;
  store::EmbeddedStore local_{64_MiB};
  std::unique_ptr<redis::ProcessMemory> memory_;
  std::optional<asio::ssl::context> tls_;
  std::unique_ptr<redis::SharedStore> store_;  // neither for "memory:"
  std::unique_ptr<redis::Sockets> sockets_;
  redis::SharedStore::Counters in_memory_;
  detail::Mutex mutex_;
  std::list<Task> tasks_ WEIR_GUARDED_BY(mutex_);  // of all threads
  std::list<Task> under_way_;                      // of the store's
  std::list<Leaving> leaving_;
  std::atomic<std::uint64_t> thrown_{0};
  std::thread thread_;
};

namespace {

void require_countable(const char* where, const Quota& quota, Algorithm algorithm, redis::Format format) {
  const auto refuse = [where](const std::string& why) { throw std::invalid_argument(where + why); };
  const auto rule = core::Rule::make(quota, algorithm);
  if (!rule) refuse(rule.error());
  if (const auto sentence = redis::unsuitable(*rule, format)) refuse(*sentence);
}

// What `ask` tells the callback that it is given.
template <class Result, class Impl, class Ask>
typename Result::value_type wait_for(const Impl& impl, const Ask& ask) {
  impl.require_may_wait();
  std::promise<Result> promise;
  ask([&promise](Result result) { promise.set_value(std::move(result)); });
  Result result = promise.get_future().get();
  if (!result) throw StoreFault(std::move(result.error()));
  return *std::move(result);
}

}  // namespace

RedisStore::RedisStore(std::string_view url, Options options) : impl_(std::make_unique<Impl>(url, options)) {}
// A child of fork() leaves its parent's store alone: the thread is not there to be joined, and to close a
// socket would take it out of the poller, which the parent uses too.
RedisStore::~RedisStore() {
  if (impl_->is_of_a_parent()) {
    static auto* const kLeftAlone = new std::vector<std::unique_ptr<Impl>>;
    kLeftAlone->push_back(std::move(impl_));
  }
}
store::Asker& RedisStore::asker() noexcept { return *impl_; }

void RedisStore::check_all(std::span<const SharedCheck> checks, Callback<JointResult> done) {
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
    const Quota& quota = each.quota ? *each.quota : each.limiter.quota_;
    if (&each.limiter.store_ != this) refuse("limit " + std::to_string(named.size()) + " has another store");
    const auto same = [&each](const Impl::Named& other) { return other.key == each.key; };
    if (std::any_of(named.begin(), named.end(), same)) {
      refuse("limit " + std::to_string(named.size()) + " has the key of another");
    }
    if (each.quota)
      require_countable("weir::RedisStore::check_all: ", quota, options.algorithm, impl_->format());
    named.push_back({impl_->limit_of(quota, options), std::string(each.key), each.cost});
    patience = std::min(patience, options.deadline.value_or(impl_->options().deadline));
  }
  Impl::Named first = std::move(named.front());
  named.erase(named.begin());
  impl_->submit(std::move(first), std::move(named), store::Verb::check, patience, std::move(done));
}

JointDecision RedisStore::check_all(std::span<const SharedCheck> checks) {
  return wait_for<JointResult>(*impl_, [&](auto&& done) { check_all(checks, std::move(done)); });
}

bool RedisStore::ready() const noexcept { return impl_->counters().ready.load(); }
std::uint64_t RedisStore::decided() const noexcept { return impl_->counters().decided.load(); }
std::uint64_t RedisStore::remembered() const noexcept { return impl_->counters().remembered.load(); }
std::uint64_t RedisStore::leased() const noexcept { return impl_->counters().leased.load(); }
std::uint64_t RedisStore::merged() const noexcept { return impl_->counters().merged.load(); }
std::uint64_t RedisStore::thrown() const noexcept { return impl_->thrown(); }
std::uint64_t RedisStore::not_decided() const noexcept { return impl_->counters().fallbacks.load(); }

SharedLimiter::SharedLimiter(Quota quota, RedisStore& store, Options options)
    : quota_(quota), store_(store), options_(options) {
  require_countable("weir::SharedLimiter: ", quota, options.algorithm, store_.impl_->format());
}

void SharedLimiter::start(std::string_view key, const Quota& quota, Cost cost, Callback<SharedResult> done) {
  if (quota != quota_)
    require_countable("weir::SharedLimiter::check: ", quota, options_.algorithm, store_.impl_->format());
  store_.impl_->submit({store_.impl_->limit_of(quota, options_), std::string(key), cost}, {},
                       store::Verb::check, options_.deadline.value_or(std::chrono::nanoseconds{0}),
                       std::move(done));
}

Decision SharedLimiter::check(std::string_view key, Cost cost) { return check(key, quota_, cost); }

Decision SharedLimiter::check(std::string_view key, const Quota& quota, Cost cost) {
  return wait_for<SharedResult>(*store_.impl_,
                                [&](auto&& done) { start(key, quota, cost, std::move(done)); });
}

Reservation SharedLimiter::reserve(std::string_view key, ReserveOptions options, Cost cost) {
  return reserve(key, quota_, options, cost);
}

Reservation SharedLimiter::reserve(std::string_view key, const Quota& quota, ReserveOptions options,
                                   Cost cost) {
  RedisStore::Impl& impl = *store_.impl_;
  if (!core::can_reserve(options_.algorithm)) {
    throw std::invalid_argument("weir::SharedLimiter::reserve: " + core::name_of(options_.algorithm) +
                                " cannot be reserved: only gcra can");
  }
  if (quota != quota_)
    require_countable("weir::SharedLimiter::reserve: ", quota, options_.algorithm, impl.format());
  options = store::bounded(options, impl.now());
  const std::chrono::nanoseconds patience = options_.deadline.value_or(std::chrono::nanoseconds{0});
  auto kept = std::make_unique<store::AskedKept<StoreFault>>(
      std::shared_ptr<store::Asker>(&impl, [](store::Asker*) {}), impl.options().clock, patience);
  const store::Limit limit = impl.limit_of(quota, options_);
  store::Check check{.limit = &limit, .key = key, .cost = cost};
  store::Reservation asked{.max_wait = options.max_wait, .hold = options.hold};
  store::Awaited one;
  one.checks = {&check, 1};
  one.verb = store::Verb::reserve;
  one.reservation = &asked;
  one.patience = patience;
  impl.ask({&one, 1});
  if (one.fault != Fault::none) throw StoreFault(one.fault, one.why);
  // Read after the store has: a moment may be told later than it is, never earlier.
  const std::chrono::nanoseconds now = impl.now();
  Decision decision = check.decision;
  decision.source = one.source;
  if (!one.charged || (asked.id.empty() && asked.wait.count() == 0))
    return Reservation(now, [&] { return decision; });
  kept->set_id(std::move(asked.id));
  return {now, asked.wait, decision, 0, std::move(kept), true};
}

void SharedLimiter::check(std::span<const std::string_view> keys, std::span<Decision> decisions, Cost cost) {
  std::vector<KeyCost> with_cost;
  with_cost.reserve(keys.size());
  for (const std::string_view key : keys) with_cost.push_back({key, cost});
  check(with_cost, decisions);
}

void SharedLimiter::check(std::span<const KeyCost> keys, std::span<Decision> decisions) {
  if (keys.size() != decisions.size()) {
    throw std::invalid_argument("weir::SharedLimiter::check: " + std::to_string(keys.size()) +
                                " requests and room for " + std::to_string(decisions.size()) +
                                " decisions; expected as many");
  }
  if (keys.empty()) return;
  store_.impl_->require_may_wait();
  std::vector<SharedResult> results(keys.size());
  std::promise<void> last;
  std::size_t open = keys.size();  // all callbacks come on one thread
  for (std::size_t i = 0; i < keys.size(); ++i) {
    start(keys[i].key, quota_, keys[i].cost, [&results, &last, &open, i](SharedResult result) {
      results[i] = std::move(result);
      if (--open == 0) last.set_value();
    });
  }
  last.get_future().wait();
  for (std::size_t i = 0; i < keys.size(); ++i) decisions[i] = results[i].value_or(Decision{});
  for (SharedResult& result : results) {
    if (!result) throw StoreFault(std::move(result.error()));
  }
}

bool SharedLimiter::reset(std::string_view key) {
  return wait_for<RedisStore::Impl::ResetResult>(*store_.impl_, [&](auto&& done) {
    store_.impl_->submit({store_.impl_->limit_of(quota_, options_), std::string(key), Cost{}}, {},
                         store::Verb::reset, std::chrono::nanoseconds{0},
                         Callback<RedisStore::Impl::ResetResult>(std::move(done)));
  });
}

}  // namespace weir
