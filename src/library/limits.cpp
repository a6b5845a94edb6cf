// weir::Limits: a set of limits, swapped as one, and a store that is asked.
#include "weir/limits.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "library/asked_kept.hpp"
#include "library/asker.hpp"
#include "limits/explain.hpp"
#include "limits/match.hpp"
#include "limits/read.hpp"
#include "limits/set.hpp"
#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "store/spin.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1 {
namespace {

using std::chrono::nanoseconds;

limits::Time wall_time(const Limits::Options& options) {
  return limits::Time(options.wall_clock != nullptr ? options.wall_clock->now()
                                                    : std::chrono::system_clock::now().time_since_epoch());
}

std::string lines_of(const std::vector<std::string>& errors) {
  std::string text;
  for (const std::string& each : errors) text += (text.empty() ? "" : "\n") + each;
  return text;
}

// The table of this process.
class Table final : public store::Asker {
 public:
  explicit Table(const Limits::Options& options)
      : clock_(options.clock), store_(options.memory, options.when_full) {}

  void ask(std::span<store::Awaited> batch) override {
    std::vector<store::Request*> requests;
    requests.reserve(batch.size());
    for (store::Awaited& each : batch) requests.push_back(&each);
    const nanoseconds now = store::read(clock_);
    store_.submit(requests, {now, now});
  }
  void begin(std::unique_ptr<store::Unawaited> one) override {
    store::Awaited& asked = *one;
    ask({&asked, 1});
    one->tell();
  }

 private:
  const Clock* clock_;
  store::EmbeddedStore store_;
};

// What a request says, as match() reads it.
struct Room {
  std::vector<limits::Attribute> attributes;
  std::vector<limits::NamedCost> costs;
};

limits::Asked asked_of(const LimitsRequest& request, Room& room) {
  room.attributes.clear();
  room.costs.clear();
  for (const Attribute& each : request.attributes) room.attributes.push_back({each.name, each.value});
  for (const LimitCost& each : request.costs) room.costs.push_back({each.limit, each.cost.units});
  return {room.attributes, request.cost.value_or(Cost{}).units, request.class_name, !request.cost,
          room.costs};
}

void require_decided(const store::Request& request) {
  if (request.fault != Fault::none) throw StoreFault(request.fault, request.why);
}

LimitsDecision decision_of(const limits::Set& set, const limits::Matched& matched,
                           const store::Request* answered) {
  const limits::Answer answer = limits::answer_of(set, matched, answered);
  LimitsDecision decision;
  decision.by = answer.by;
  decision.decision = {.verdict = answer.allowed ? Verdict::allowed : Verdict::denied,
                       .limit = answer.limit,
                       .remaining = answer.remaining,
                       .retry_after = answer.retry_after,
                       .reset_after = answer.reset_after};
  if (answered != nullptr && !answer.by.empty()) {
    decision.decision.verdict = answered->decision().verdict;
    decision.decision.source = answered->source;
  }
  return decision;
}

}  // namespace

LimitsFileError::LimitsFileError(std::vector<std::string> errors)
    : std::runtime_error(lines_of(errors)), errors_(std::move(errors)) {}

class [[gnu::visibility("hidden")]] Limits::Impl {
 public:
  Impl(std::string path, store::Asker* shared, const Options& options)
      : path_(std::move(path)),
        options_(options),
        store_(shared != nullptr ? std::shared_ptr<store::Asker>(shared, [](store::Asker*) {})
                                 : std::make_shared<Table>(options)) {
    setting_.on_store_error = options.on_store_error;
    setting_.wall = wall_time(options).time_since_epoch() - store::read(options.clock);
    if (shared == nullptr) {
      setting_.unsuitable = [](const core::Rule& rule) -> std::optional<std::string> {
        if (core::kept_in_two_words(rule.algorithm)) return std::nullopt;
        return core::name_of(rule.algorithm) + " cannot be counted by the table of this process";
      };
    }
  }

  void read_file() {
    limits::ReadOptions options;
    options.now = now();
    take(limits::read_file(path_, options));
  }
  void read_text(std::string_view text) {
    limits::ReadOptions options;
    options.now = now();
    take(limits::read(text, options));
  }
  const std::string& path() const { return path_; }

  std::shared_ptr<const limits::Set> set() const {
    const detail::Held lock(mutex_);
    return set_;
  }
  limits::Time now() const { return wall_time(options_); }
  void ask(std::span<store::Awaited> batch) {
    if (!batch.empty()) store_->ask(batch);
  }
  const std::shared_ptr<store::Asker>& store() const { return store_; }
  const Clock* clock() const { return options_.clock; }

  LimitsDecision decide(const LimitsRequest& request, store::Verb verb) {
    const auto in_force = set();
    Room room;
    limits::Matched matched;
    if (!limits::match(*in_force, asked_of(request, room), now(), matched))
      throw std::invalid_argument(matched.error);
    if (matched.outcome != limits::Matched::Outcome::meets) return decision_of(*in_force, matched, nullptr);
    store::Awaited one;
    one.checks = matched.all();
    one.verb = verb;
    ask({&one, 1});
    require_decided(one);
    return decision_of(*in_force, matched, &one);
  }

 private:
  void take(limits::Reading reading) {
    std::vector<std::string> errors;
    for (const limits::Finding& each : reading.findings) {
      if (each.severity == limits::Severity::error) errors.push_back(to_text(each));
    }
    if (!reading.file) throw LimitsFileError(std::move(errors));
    auto made = limits::Set::make(std::move(reading.file), setting_);
    if (!made) {
      for (const limits::Finding& each : made.error()) errors.push_back(to_text(each));
      throw LimitsFileError(std::move(errors));
    }
    const detail::Held lock(mutex_);
    set_ = *std::move(made);
  }

  const std::string path_;  // empty: it came as text
  const Options options_;
  limits::Setting setting_;
  const std::shared_ptr<store::Asker> store_;
  mutable store::SpinLock mutex_;
  std::shared_ptr<const limits::Set> set_ WEIR_GUARDED_BY(mutex_);
};

Limits::Limits(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Limits::Limits(const std::string& path, const Options& options)
    : impl_(std::make_unique<Impl>(path, nullptr, options)) {
  impl_->read_file();
}
Limits::Limits(const std::string& path, store::Asker& store, const Options& options)
    : impl_(std::make_unique<Impl>(path, &store, options)) {
  impl_->read_file();
}
Limits Limits::from_text(std::string_view text, const Options& options) {
  auto impl = std::make_unique<Impl>("", nullptr, options);
  impl->read_text(text);
  return Limits(std::move(impl));
}
Limits Limits::from_text(std::string_view text, store::Asker& store, const Options& options) {
  auto impl = std::make_unique<Impl>("", &store, options);
  impl->read_text(text);
  return Limits(std::move(impl));
}
Limits::~Limits() = default;
Limits::Limits(Limits&&) noexcept = default;
Limits& Limits::operator=(Limits&&) noexcept = default;

LimitsDecision Limits::check(const LimitsRequest& request) {
  return impl_->decide(request, store::Verb::check);
}
LimitsDecision Limits::look(const LimitsRequest& request) {
  return impl_->decide(request, store::Verb::look);
}

void Limits::check(std::span<const LimitsRequest> requests, std::span<LimitsDecision> decisions) {
  if (requests.size() != decisions.size()) {
    throw std::invalid_argument("weir::Limits::check: " + std::to_string(requests.size()) +
                                " requests and room for " + std::to_string(decisions.size()) +
                                " decisions; expected as many");
  }
  const auto set = impl_->set();
  const limits::Time now = impl_->now();
  const auto matched = std::make_unique<limits::Matched[]>(requests.size());
  Room room;
  std::vector<store::Awaited> asked;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!limits::match(*set, asked_of(requests[i], room), now, matched[i]))
      throw std::invalid_argument(matched[i].error);
    if (matched[i].outcome != limits::Matched::Outcome::meets) continue;
    asked.emplace_back().checks = matched[i].all();
    which.push_back(i);
  }
  impl_->ask(asked);
  std::vector<const store::Request*> answered(requests.size(), nullptr);
  for (std::size_t k = 0; k < which.size(); ++k) answered[which[k]] = &asked[k];
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool decided = answered[i] == nullptr || answered[i]->fault == Fault::none;
    decisions[i] = decided ? decision_of(*set, matched[i], answered[i]) : LimitsDecision{};
  }
  for (const store::Awaited& each : asked) require_decided(each);
}

detail::Ready<LimitsDecision> Limits::ready_check(const LimitsRequest& request) {
  struct Checking final : store::Unawaited {
    void tell() override {
      detail::Answer<LimitsDecision> told{.value = {}, .fault = fault, .why = why};
      if (fault == Fault::none) told.value = decision_of(*set, matched, this);
      answer(std::move(told));
    }
    std::shared_ptr<const limits::Set> set;
    limits::Matched matched;
    Callback<detail::Answer<LimitsDecision>> answer;
  };
  auto asked = std::make_unique<Checking>();
  asked->set = impl_->set();
  Room room;
  if (!limits::match(*asked->set, asked_of(request, room), impl_->now(), asked->matched))
    throw std::invalid_argument(asked->matched.error);
  asked->checks = asked->matched.all();
  return [store = impl_->store(),
          asked = std::move(asked)](Callback<detail::Answer<LimitsDecision>> answer) mutable {
    if (asked->matched.outcome != limits::Matched::Outcome::meets)
      return answer({.value = decision_of(*asked->set, asked->matched, nullptr)});
    asked->answer = std::move(answer);
    store->begin(std::move(asked));
  };
}

// A request that is to be reserved, and what comes of it.
struct [[gnu::visibility("hidden")]] Limits::Reserving final : store::Unawaited {
  Reserving(const Impl& impl, const LimitsRequest& request, const ReserveOptions* options)
      : set(impl.set()), clock(impl.clock()) {
    Room room;
    if (!limits::match(*set, asked_of(request, room), impl.now(), matched))
      throw std::invalid_argument(matched.error);
    if (!asks()) return;
    const ReserveOptions bounded = store::bounded(wanted(options), store::read(clock));
    asked = {.max_wait = bounded.max_wait, .hold = bounded.hold};
    kept = std::make_unique<store::AskedKept>(impl.store(), clock, nanoseconds{0});
    checks = matched.all();
    verb = store::Verb::reserve;
    reservation = &asked;
  }

  bool asks() const { return matched.outcome == limits::Matched::Outcome::meets; }
  void tell() override {
    detail::Answer<LimitsReservation> told{.value = {}, .fault = fault, .why = why};
    if (fault == Fault::none) told.value = made();
    answer(std::move(told));
  }
  LimitsReservation made() {
    // Read after the store has: a moment may be told later than it is, never earlier.
    const nanoseconds now = store::read(clock);
    LimitsDecision decided = decision_of(*set, matched, asks() ? this : nullptr);
    if (!asks() || !decided.allowed() || (asked.id.empty() && asked.wait.count() == 0))
      return {Reservation(now, [&] { return decided.decision; }), std::move(decided.by)};
    kept->set_id(std::move(asked.id));
    return {Reservation(now, asked.wait, decided.decision, by, std::move(kept)), std::move(decided.by)};
  }

  const std::shared_ptr<const limits::Set> set;
  const Clock* const clock;
  limits::Matched matched;
  store::Reservation asked;
  std::unique_ptr<store::AskedKept> kept;
  Callback<detail::Answer<LimitsReservation>> answer;

 private:
  // Nothing in `options`: what the file says.
  ReserveOptions wanted(const ReserveOptions* options) {
    const limits::Waiting waiting = limits::prepare_waiting(*set, matched);
    if (options == nullptr) return {waiting.max_wait.value_or(nanoseconds{0}), waiting.hold};
    const auto demand = [](const std::optional<std::string>& refused) {
      if (refused) throw std::invalid_argument("weir::Limits::reserve: " + *refused);
    };
    demand(waiting.refuses_wait(options->max_wait));
    demand(waiting.refuses_hold(options->hold));
    return {options->max_wait, options->hold.count() > 0 ? options->hold : waiting.hold};
  }
};

LimitsReservation Limits::reserve_by(const LimitsRequest& request, const ReserveOptions* options) {
  Reserving one(*impl_, request, options);
  store::Awaited& asked = one;
  if (one.asks()) impl_->ask({&asked, 1});
  require_decided(one);
  return one.made();
}

detail::Ready<LimitsReservation> Limits::ready_reserve(const LimitsRequest& request,
                                                       const ReserveOptions* options) {
  auto one = std::make_unique<Reserving>(*impl_, request, options);
  return [store = impl_->store(),
          one = std::move(one)](Callback<detail::Answer<LimitsReservation>> answer) mutable {
    if (!one->asks()) return answer({.value = one->made()});
    one->answer = std::move(answer);
    store->begin(std::move(one));
  };
}

std::string Limits::explain(const LimitsRequest& request) {
  const auto set = impl_->set();
  Room room;
  limits::Matched matched;
  limits::Trace trace;
  const limits::Asked asked = asked_of(request, room);
  if (!limits::match(*set, asked, impl_->now(), matched, &trace)) throw std::invalid_argument(matched.error);
  store::Awaited one;
  one.checks = matched.all();
  one.verb = store::Verb::look;
  if (!one.checks.empty()) impl_->ask({&one, 1});
  require_decided(one);
  return limits::to_text(
      limits::explain(set->file(), trace, room.attributes, one.checks, one.checks.empty() ? nullptr : &one),
      set->file().name);
}

std::uint64_t Limits::reset(std::span<const Attribute> attributes, std::string_view limit) {
  const auto set = impl_->set();
  Room room;
  limits::Matched matched;
  std::vector<store::Check> states;
  static_cast<void>(asked_of({attributes}, room));
  if (!limits::find_states(*set, room.attributes, limit, matched, states))
    throw std::invalid_argument(matched.error);
  if (states.empty()) return 0;
  store::Awaited one;
  one.checks = states;
  one.verb = store::Verb::reset;
  impl_->ask({&one, 1});
  require_decided(one);
  return one.forgotten;
}

void Limits::reload() {
  if (impl_->path().empty())
    throw std::invalid_argument("weir::Limits::reload: it was made of a text, not of a file");
  impl_->read_file();
}
void Limits::reload(std::string_view text) { impl_->read_text(text); }

}  // namespace weir
