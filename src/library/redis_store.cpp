// weir::RedisStore: a SharedStore and its sockets on a thread of their own; or, for "memory:", the embedded
// store on the thread that asks.
#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock_function.hpp"
#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "library/blocking_store.hpp"
#include "library/store_handle.hpp"
#include "library/units.hpp"
#include "net/timer.hpp"
#include "redis/script.hpp"
#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "redis/streams.hpp"
#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "store/fork.hpp"
#include "weir/lock.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {

namespace asio = boost::asio;
using std::chrono::nanoseconds;

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

class [[gnu::visibility("hidden")]] RedisStore::Impl final : public store::BlockingStore {
 public:
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
    tls_ = redis::tls_for(*endpoint, {options.tls_ca, options.tls_cert, options.tls_key}, options.tls_name);
    const redis::SharedStore::Options shared{.deadline = options.deadline,
                                             .remember_denials = options.remember_denials,
                                             .local_share = options.local_share};
    memory_ = std::make_unique<redis::ProcessMemory>();
    store_ = std::make_unique<redis::SharedStore>(std::move(*endpoint), shared, local_, *memory_, clock_);
    auto open = redis::streams(context_, tls_ ? &*tls_ : nullptr, options.tls_name);
    sockets_ = std::make_unique<redis::Sockets>(*net::asio_timers(context_), store_->client(),
                                                std::move(open), clock_, redis::Sockets::no_turns(context_));
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
  void begin(std::unique_ptr<store::Unawaited> one) override {
    store::Request& asked = one->request();
    if (is_of_a_parent() && asked.verb == store::Verb::cancel)
      return one->tell();  // the parent's, and untouched
    require_own_process();
    one->asker = this;
    asked.context = one.get();
    asked.on_answer = [](store::Request& request) { finish(request); };
    if (!store_) {
      store::Request* const alone[] = {&one.release()->request()};  // its own until it is answered
      decide_here(alone);
      return finish(*alone[0]);
    }
    const detail::Held lock(mutex_);
    begun_.push_back(std::move(one));
    if (begun_.size() == 1) asio::post(context_, [this] { work(); });
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

  void ask(std::span<store::Request* const> batch) override {
    require_may_wait();
    if (!store_) return decide_here(batch);
    struct Wait {
      std::promise<void> answered;
      std::size_t open;  // the store's thread's
    } wait{{}, batch.size()};
    for (store::Request* const each : batch) {
      each->context = &wait;
      each->on_answer = [](store::Request& request) {
        Wait& its = *static_cast<Wait*>(request.context);
        if (--its.open == 0) its.answered.set_value();
      };
    }
    asio::post(context_, [this, &wait, batch] {
      const std::chrono::nanoseconds now = clock_();
      for (const store::Request* const each : batch) {
        for (const store::Check& check : each->checks) {
          if (check.limit->sharing.lease > 1) watch_leases();
        }
      }
      // One more than there are, so that none of those that are answered meanwhile is the last.
      ++wait.open;
      store_->submit(batch, {now, now});
      for (const store::Request* const each : batch)
        wait.open -= each->state == store::Request::State::answered ? 1 : 0;
      if (--wait.open == 0) wait.answered.set_value();
    });
    wait.answered.get_future().wait();
  }

  // In a child, too, there is nothing to wait for.
  bool answers_by_this_thread() const noexcept override { return is_of_a_parent() || Telling::of(this); }

  store::Limit limit_of(const Quota& quota, const SharedLimiter::Options& options) const {
    return {.rule = core::Rule{quota, options.algorithm},
            .on_store_error = options.on_store_error.value_or(options_.on_store_error),
            .sharing = {.lease = options.lease, .lease_for = options.lease_for, .merge = options.merge}};
  }
  const Options& options() const { return options_; }
  std::chrono::nanoseconds now() const { return clock_(); }
  const redis::SharedStore::Counters& counters() const { return store_ ? store_->counters() : in_memory_; }
  // We are in a child of fork(), where our thread is not.
  bool is_of_a_parent() const { return forks_ != store::forks(); }
  std::uint64_t thrown() const { return thrown_.load(std::memory_order_relaxed); }

 private:
  void require_own_process() const {
    if (!is_of_a_parent()) return;
    throw std::logic_error(
        "weir::RedisStore: it was made before fork(); expected a RedisStore that this process has made");
  }

  // Of a destructor, whose exception ends the program and is its last word.
  static void end_the_program(const char* why) { throw std::logic_error(why); }

  void work() {
    std::vector<std::unique_ptr<store::Unawaited>> begun;
    {
      const detail::Held lock(mutex_);
      begun.swap(begun_);
    }
    std::vector<store::Request*> batch;
    batch.reserve(begun.size());
    bool leases = false;
    for (auto& one : begun) {
      batch.push_back(&one.release()->request());  // its own until it is answered
      for (const store::Check& check : batch.back()->checks)
        leases = leases || check.limit->sharing.lease > 1;
    }
    const std::chrono::nanoseconds now = clock_();
    // In two pieces, each a write: Redis works through the first while the second is made. As one, Redis and
    // we would take turns, each idle while the other works. A piece is finished before the next, whose
    // submit() may answer, and so end, what is still open.
    const std::span<store::Request* const> all(batch);
    const std::size_t half = (all.size() + 1) / 2;
    for (const auto piece : {all.first(half), all.subspan(half)}) {
      store_->submit(piece, {now, now});
      for (store::Request* const each : piece) {
        if (each->state == store::Request::State::answered) finish(*each);
      }
    }
    if (leases) watch_leases();
  }

  void decide_here(std::span<store::Request* const> batch) {
    const std::chrono::nanoseconds now = clock_();
    local_.submit(batch, {now, now});
    for (const store::Request* const each : batch)
      if (each->fault == Fault::none) in_memory_.decided.fetch_add(1, std::memory_order_relaxed);
  }

  static void finish(const store::Request& answered) {
    auto& one = *static_cast<store::Unawaited*>(answered.context);
    static_cast<Impl*>(one.asker)->finish(one);
  }
  // The store goes on, whatever a callback does.
  void finish(store::Unawaited& answered) {
    const Telling telling(this);
    const std::unique_ptr<store::Unawaited> one(&answered);
    try {
      one->tell();
    } catch (...) {
      thrown_.fetch_add(1, std::memory_order_relaxed);
      if (options_.on_exception) options_.on_exception(std::current_exception());
    }
  }

  // Whether a lease has ended is looked at now and then, while there are any or may soon be.
  void watch_leases() {
    if (std::exchange(watching_leases_, true)) return;
    lease_timer_->set(std::chrono::milliseconds{100});
  }

  void end_when_empty() {
    // What is given back has to be answered too.
    if (store_->empty()) store_->end_leases(true);
    if (store_->empty()) {
      sockets_->stop();
      lease_timer_->stop();
      guard_.reset();
      return;
    }
    // No longer than the deadline.
    end_timer_->set(std::chrono::milliseconds{1});
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(context_);
  const std::unique_ptr<net::Timer> end_timer_ = net::asio_timer(context_, [this] { end_when_empty(); });
  const std::unique_ptr<net::Timer> lease_timer_ = net::asio_timer(context_, [this] {
    watching_leases_ = false;
    if (store_->end_leases(false) || !store_->empty()) watch_leases();
  });
  bool watching_leases_ = false;
  const std::uint32_t forks_ = store::forks();
  const Options options_;
  const core::ClockFunction clock_;
  store::EmbeddedStore local_{64_MiB};
  std::unique_ptr<redis::ProcessMemory> memory_;
  std::optional<asio::ssl::context> tls_;
  std::unique_ptr<redis::SharedStore> store_;  // neither for "memory:"
  std::unique_ptr<redis::Sockets> sockets_;
  redis::SharedStore::Counters in_memory_;
  detail::Mutex mutex_;
  std::vector<std::unique_ptr<store::Unawaited>> begun_ WEIR_GUARDED_BY(mutex_);  // by all threads
  std::atomic<std::uint64_t> thrown_{0};
  std::thread thread_;
};

namespace {

void require_countable(const char* where, const Quota& quota, Algorithm algorithm) {
  const auto refuse = [where](const std::string& why) { throw std::invalid_argument(where + why); };
  const auto rule = core::Rule::make(quota, algorithm);
  if (!rule) refuse(rule.error());
  if (const auto sentence = redis::unsuitable(*rule)) refuse(*sentence);
}

// What a limiter of slots counts by; core::Rule::slots() says which numbers there are.
Quota quota_of(Slots slots) {
  const auto rule = core::Rule::slots(std::to_string(slots.count));
  if (!rule) throw std::invalid_argument("weir::SharedLimiter: " + rule.error());
  return rule->quota;
}

void require_rate(const char* what, Algorithm algorithm) {
  if (!core::counts_slots(algorithm)) return;
  throw std::invalid_argument("weir::SharedLimiter::" + std::string(what) +
                              ": a limiter of slots has no rate; reserve() takes a slot");
}

// What `begin` tells the callback that it is given.
template <class Value, class Impl, class Begin>
Value wait_for(const Impl& impl, Begin begin) {
  impl.require_may_wait();
  std::promise<detail::RawResult<Value>> promise;
  begin(Callback<detail::RawResult<Value>>(
      [&promise](detail::RawResult<Value> answer) { promise.set_value(std::move(answer)); }));
  detail::RawResult<Value> answer = promise.get_future().get();
  if (answer.fault != Fault::none) throw StoreFault(answer.fault, answer.why);
  return std::move(answer.value);
}

// A request about one key, with all that it is about, and whom it tells what comes of it.
template <class Value>
struct OneKey : store::Unawaited, store::Request {
  OneKey(const store::Limit& its_limit, std::string its_key, Cost cost, store::Verb what,
         std::chrono::nanoseconds its_patience)
      : limit(its_limit), key(std::move(its_key)), check{.limit = &limit, .key = key, .cost = cost} {
    checks = {&check, 1};
    verb = what;
    patience = its_patience;
  }
  Request& request() override { return *this; }
  void tell() override {
    detail::RawResult<Value> told{.value = {}, .fault = fault, .why = why};
    if (fault == Fault::none) told.value = value();
    answer(std::move(told));
  }
  virtual Value value() = 0;
  Decision decided() const {
    Decision decision = check.decision;
    decision.source = source;
    return decision;
  }

  const store::Limit limit;
  const std::string key;
  store::Check check;
  Callback<detail::RawResult<Value>> answer;
};

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
store::BlockingStore& RedisStore::asker() noexcept { return *impl_; }

detail::Ready<JointDecision> RedisStore::ready_check_all(std::span<const SharedCheck> checks) {
  struct Several final : store::Unawaited, store::Request {
    Request& request() override { return *this; }
    void tell() override {
      Decision decided = fault == Fault::none ? decision() : Decision{};
      decided.source = source;
      answer({.value = {decided, by}, .fault = fault, .why = why});
    }
    std::deque<store::Limit> limits;
    std::deque<std::string> keys;
    std::vector<store::Check> list;
    Callback<detail::RawResult<JointDecision>> answer;
  };
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("weir::RedisStore::check_all: " + why);
  };
  if (checks.empty() || checks.size() > store::kMostChecks) {
    refuse(std::to_string(checks.size()) + " limits are not 1 to " + std::to_string(store::kMostChecks));
  }
  auto asked = std::make_unique<Several>();
  asked->patience = std::chrono::nanoseconds::max();
  for (const SharedCheck& each : checks) {
    const SharedLimiter::Options& options = each.limiter.options_;
    const Quota& quota = each.quota ? *each.quota : each.limiter.quota_;
    const std::string which = "limit " + std::to_string(asked->list.size());
    if (&each.limiter.store_ != this) refuse(which + " has another store");
    if (core::counts_slots(options.algorithm)) refuse(which + " has slots, which reserve() takes");
    if (std::count(asked->keys.begin(), asked->keys.end(), each.key) != 0)
      refuse(which + " has the key of another");
    if (each.quota) require_countable("weir::RedisStore::check_all: ", quota, options.algorithm);
    asked->limits.push_back(impl_->limit_of(quota, options));
    asked->keys.emplace_back(each.key);
    asked->list.push_back({.limit = &asked->limits.back(), .key = asked->keys.back(), .cost = each.cost});
    asked->patience = std::min(asked->patience, options.deadline.value_or(impl_->options().deadline));
  }
  asked->checks = asked->list;
  return [impl = impl_.get(),
          asked = std::move(asked)](Callback<detail::RawResult<JointDecision>> answer) mutable {
    asked->answer = std::move(answer);
    impl->begin(std::move(asked));
  };
}

JointDecision RedisStore::check_all(std::span<const SharedCheck> checks) {
  return wait_for<JointDecision>(*impl_, ready_check_all(checks));
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
  require_countable("weir::SharedLimiter: ", quota, options.algorithm);
}

SharedLimiter::SharedLimiter(Slots slots, RedisStore& store, Options options)
    : quota_(quota_of(slots)), store_(store), options_(options) {
  options_.algorithm = core::first_that(core::counts_slots);
  if (const auto sentence = redis::unsuitable(core::Rule{quota_, options_.algorithm}))
    throw std::invalid_argument("weir::SharedLimiter: " + *sentence);
}

void SharedLimiter::begin_check(std::string key, const Quota& quota, Cost cost,
                                Callback<detail::RawResult<Decision>> answer) {
  struct Checking final : OneKey<Decision> {
    using OneKey::OneKey;
    Decision value() override { return decided(); }
  };
  RedisStore::Impl& impl = *store_.impl_;
  require_rate("check", options_.algorithm);
  if (quota != quota_) require_countable("weir::SharedLimiter::check: ", quota, options_.algorithm);
  auto asked = std::make_unique<Checking>(impl.limit_of(quota, options_), std::move(key), cost,
                                          store::Verb::check, options_.deadline.value_or(nanoseconds{0}));
  asked->answer = std::move(answer);
  impl.begin(std::move(asked));
}

Decision SharedLimiter::check(std::string_view key, Cost cost) { return check(key, quota_, cost); }

Decision SharedLimiter::check(std::string_view key, const Quota& quota, Cost cost) {
  return wait_for<Decision>(
      *store_.impl_, [&](auto&& answer) { begin_check(std::string(key), quota, cost, std::move(answer)); });
}

Reservation SharedLimiter::reserve(std::string_view key, ReserveOptions options, Cost cost) {
  return reserve(key, quota_, options, cost);
}

Reservation SharedLimiter::reserve(std::string_view key, const Quota& quota, ReserveOptions options,
                                   Cost cost) {
  return wait_for<Reservation>(*store_.impl_, [&](auto&& answer) {
    begin_reserve(std::string(key), quota, options, cost, std::move(answer));
  });
}

void SharedLimiter::begin_reserve(std::string key, const Quota& quota, ReserveOptions options, Cost cost,
                                  Callback<detail::RawResult<Reservation>> answer) {
  struct ReserveCall final : OneKey<Reservation> {
    using OneKey::OneKey;
    Reservation value() override {
      // Read after the store has: a moment may be told later than it is, never earlier.
      const nanoseconds now = impl->now();
      if (!charged || (asked.id.empty() && asked.wait.count() == 0))
        return Reservation(now, [&] { return decided(); });
      kept->set_id(std::move(asked.id));
      return {now, asked.wait, decided(), 0, std::move(kept)};
    }
    RedisStore::Impl* impl = nullptr;
    store::ReservationTerms asked;
    std::unique_ptr<store::StoreHandle> kept;
  };
  RedisStore::Impl& impl = *store_.impl_;
  if (core::counts_slots(options_.algorithm)) {
    if (options.hold.count() <= 0 && cost.units != 0)
      throw std::invalid_argument("weir::SharedLimiter::reserve: a slot needs a hold");
  } else if (!core::can_reserve(options_.algorithm)) {
    throw std::invalid_argument("weir::SharedLimiter::reserve: " + core::name_of(options_.algorithm) +
                                " cannot be reserved: only gcra can");
  }
  if (quota != quota_) require_countable("weir::SharedLimiter::reserve: ", quota, options_.algorithm);
  options = store::bounded(options, impl.now());
  const nanoseconds patience = options_.deadline.value_or(nanoseconds{0});
  auto one = std::make_unique<ReserveCall>(impl.limit_of(quota, options_), std::move(key), cost,
                                           store::Verb::reserve, patience);
  one->impl = &impl;
  one->asked = {.max_wait = options.max_wait, .hold = options.hold};
  one->reservation = &one->asked;
  one->kept = std::make_unique<store::StoreHandle>(
      std::shared_ptr<store::BlockingStore>(&impl, [](store::BlockingStore*) {}), impl.options().clock,
      patience);
  one->answer = std::move(answer);
  impl.begin(std::move(one));
}

Taken SharedLimiter::take_up_to(std::string_view key, const Quota& quota, Cost most, Cost least) {
  return wait_for<Taken>(*store_.impl_, [&](auto&& answer) {
    begin_take(std::string(key), quota, most, least, std::move(answer));
  });
}

void SharedLimiter::begin_take(std::string key, const Quota& quota, Cost most, Cost least,
                               Callback<detail::RawResult<Taken>> answer) {
  struct TakeCall final : OneKey<Taken> {
    using OneKey::OneKey;
    Taken value() override { return {decided(), terms.granted}; }
    store::TakeTerms terms;
  };
  store::require_units("SharedLimiter::take_up_to", most, least);
  require_rate("take_up_to", options_.algorithm);
  RedisStore::Impl& impl = *store_.impl_;
  if (quota != quota_) require_countable("weir::SharedLimiter::take_up_to: ", quota, options_.algorithm);
  auto asked = std::make_unique<TakeCall>(impl.limit_of(quota, options_), std::move(key), Cost{},
                                          store::Verb::take, options_.deadline.value_or(nanoseconds{0}));
  asked->terms = {.most = most.units, .least = least.units, .unit = {1}};
  asked->take = &asked->terms;
  asked->answer = std::move(answer);
  impl.begin(std::move(asked));
}

Charged SharedLimiter::charge(std::string_view key, const Quota& quota, Outside outside) {
  struct ChargeCall final : OneKey<Charged> {
    using OneKey::OneKey;
    Charged value() override { return terms.told; }
    store::ChargeTerms terms;
  };
  RedisStore::Impl& impl = *store_.impl_;
  require_rate("charge", options_.algorithm);
  if (!core::can_overdraw(options_.algorithm)) {
    throw std::invalid_argument("weir::SharedLimiter::charge: " + core::name_of(options_.algorithm) +
                                " cannot be charged afterwards");
  }
  if (quota != quota_) require_countable("weir::SharedLimiter::charge: ", quota, options_.algorithm);
  return wait_for<Charged>(impl, [&](auto&& answer) {
    auto asked =
        std::make_unique<ChargeCall>(impl.limit_of(quota, options_), std::string(key), Cost{outside.units},
                                     store::Verb::charge, options_.deadline.value_or(nanoseconds{0}));
    asked->terms.outside = outside;
    asked->charge = &asked->terms;
    asked->answer = std::move(answer);
    impl.begin(std::move(asked));
  });
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
  std::vector<detail::RawResult<Decision>> answers(keys.size());
  std::promise<void> last;
  std::size_t open = keys.size();  // all callbacks come on one thread
  for (std::size_t i = 0; i < keys.size(); ++i) {
    begin_check(std::string(keys[i].key), quota_, keys[i].cost,
                [&answers, &last, &open, i](detail::RawResult<Decision> answer) {
                  answers[i] = std::move(answer);
                  if (--open == 0) last.set_value();
                });
  }
  last.get_future().wait();
  for (std::size_t i = 0; i < keys.size(); ++i)
    decisions[i] = answers[i].fault == Fault::none ? answers[i].value : Decision{};
  for (const auto& each : answers) {
    if (each.fault != Fault::none) throw StoreFault(each.fault, each.why);
  }
}

bool SharedLimiter::reset(std::string_view key) {
  struct Resetting final : OneKey<bool> {
    using OneKey::OneKey;
    bool value() override { return forgotten > 0; }
  };
  RedisStore::Impl& impl = *store_.impl_;
  return wait_for<bool>(impl, [&](auto&& answer) {
    auto asked = std::make_unique<Resetting>(impl.limit_of(quota_, options_), std::string(key), Cost{},
                                             store::Verb::reset, nanoseconds{0});
    asked->answer = std::move(answer);
    impl.begin(std::move(asked));
  });
}

}  // namespace weir
