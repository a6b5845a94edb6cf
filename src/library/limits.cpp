// weir::Limits: a set of limits, swapped as one, and a store that is asked.
#include "weir/limits.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/calendar.hpp"
#include "core/clock_function.hpp"
#include "library/blocking_store.hpp"
#include "library/store_handle.hpp"
#include "library/units.hpp"
#include "limits/explain.hpp"
#include "limits/read.hpp"
#include "limits/set.hpp"
#include "service/ask.hpp"
#include "service/question.hpp"
#include "service/told.hpp"
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

// As long as the program: a store may decide by a rule when its Limits has gone.
const core::ClockFunction& utc_of(const Clock* wall_clock) {
  static store::SpinLock mutex;
  static std::map<const Clock*, std::unique_ptr<const core::ClockFunction>> known WEIR_GUARDED_BY(mutex);
  const detail::Held lock(mutex);
  auto& clock = known[wall_clock];
  if (!clock) {
    clock = std::make_unique<const core::ClockFunction>([wall_clock] {
      return wall_clock != nullptr ? wall_clock->now() : std::chrono::system_clock::now().time_since_epoch();
    });
  }
  return *clock;
}

std::string lines_of(const std::vector<std::string>& errors) {
  std::string text;
  for (const std::string& each : errors) text += (text.empty() ? "" : "\n") + each;
  return text;
}

// The table of this process.
class LocalTable final : public store::BlockingStore {
 public:
  explicit LocalTable(const Limits::Options& options)
      : clock_(options.clock), store_(options.memory, options.when_full) {}

  void ask(std::span<store::Request* const> batch) override {
    const nanoseconds now = store::read(clock_);
    store_.submit(batch, {now, now});
  }
  void begin(std::unique_ptr<store::Unawaited> one) override {
    store::Request* const batch[] = {&one->request()};
    ask(batch);
    one->tell();
  }

 private:
  const Clock* clock_;
  store::EmbeddedStore store_;
};

// What a request says, as the file's limits take it.
class Said {
 public:
  // `unless_said`: its cost where it says none; nothing: as the limits' holds say.
  explicit Said(const LimitsRequest& request, std::optional<Cost> unless_said = {}) {
    const std::optional<Cost> cost = request.cost ? request.cost : unless_said;
    attributes_.reserve(request.attributes.size());
    for (const Attribute& each : request.attributes) attributes_.push_back({each.name, each.value});
    for (const LimitCost& each : request.costs) costs_.push_back({each.limit, each.cost.units});
    asked_ = {attributes_, cost.value_or(Cost{}).units, request.class_name, !cost, costs_};
  }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;

  const limits::Description& asked() const { return asked_; }

 private:
  std::vector<limits::Attribute> attributes_;
  std::vector<limits::NamedCost> costs_;
  limits::Description asked_;
};

void require_decided(const store::Request& request) {
  if (request.fault != Fault::none) throw StoreFault(request.fault, request.why);
}

// Throws std::invalid_argument where it cannot be asked.
void prepare(const service::Ask& ask, const limits::Set& set, limits::Time now, limits::MatchMemory& memory,
             service::Question& into) {
  service::Refusal refusal;
  if (service::prepare(ask, {.set = &set, .now = now, .memory = memory}, into, refusal)) return;
  using What = service::Refusal::What;
  const bool of_reserve = refusal.what == What::max_wait || refusal.what == What::hold;
  throw std::invalid_argument((of_reserve ? "weir::Limits::reserve: " : "") + refusal.sentence);
}

void prepare(const service::Ask& ask, const limits::Set& set, limits::Time now, service::Question& into) {
  limits::MatchMemory memory;
  prepare(ask, set, now, memory, into);
}

// Whether a store has to be asked.
bool asks(const service::Question& question) { return !question.checks.empty(); }

LimitsDecision decision_of(const service::Question& question, const limits::Set& set) {
  const service::Told told = service::told_of(question, &set);
  LimitsDecision decision;
  decision.by = told.by;
  decision.decision = {.verdict = told.verdict,
                       .limit = told.limit,
                       .remaining = told.remaining,
                       .retry_after = told.retry_after,
                       .reset_after = told.reset_after};
  if (asks(question) && !told.by.empty()) decision.decision.source = question.source;
  return decision;
}

LimitsTaken taken_of(const service::Question& question, const limits::Set& set) {
  return {decision_of(question, set), service::told_of(question, &set).granted};
}

void prepare_take(const LimitsRequest& request, Cost least, const limits::Set& set, limits::Time now,
                  service::Question& into) {
  const Cost most = request.cost.value_or(Cost{});
  store::require_units("Limits::take_up_to", most, least);
  if (!request.costs.empty())
    throw std::invalid_argument("weir::Limits::take_up_to: it is not for a cost by name");
  LimitsRequest of_one = request;
  of_one.cost = Cost{1};
  const Said said(of_one);
  const service::Ask::Units units{most.units, least.units};
  prepare({.verb = store::Verb::take, .as = &said.asked(), .units = &units}, set, now, into);
}

}  // namespace

LimitsFileError::LimitsFileError(std::vector<std::string> errors)
    : std::runtime_error(lines_of(errors)), errors_(std::move(errors)) {}

class [[gnu::visibility("hidden")]] Limits::Impl {
 public:
  Impl(std::string path, store::BlockingStore* shared, const Options& options)
      : path_(std::move(path)),
        options_(options),
        store_(shared != nullptr ? std::shared_ptr<store::BlockingStore>(shared, [](store::BlockingStore*) {})
                                 : std::make_shared<LocalTable>(options)) {
    setting_.on_store_error = options.on_store_error;
    setting_.wall = wall_time(options).time_since_epoch() - store::read(options.clock);
    setting_.utc_clock = &utc_of(options.wall_clock);
    if (shared == nullptr) {
      setting_.unsuitable = [](const core::Rule& rule) -> std::optional<std::string> {
        if (core::kept_in_two_words(rule.algorithm) || core::counts_slots(rule.algorithm))
          return std::nullopt;
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
  void ask(std::span<store::Request* const> batch) {
    if (!batch.empty()) store_->ask(batch);
  }
  void ask(service::Question& question) {
    store::Request* const batch[] = {&question};
    if (asks(question)) store_->ask(batch);
    require_decided(question);
  }
  const std::shared_ptr<store::BlockingStore>& store() const { return store_; }
  const Clock* clock() const { return options_.clock; }

  LimitsDecision decide(const LimitsRequest& request, store::Verb verb) {
    const auto in_force = set();
    const Said said(request);
    service::Question question;
    prepare({.verb = verb, .as = &said.asked()}, *in_force, now(), question);
    ask(question);
    return decision_of(question, *in_force);
  }

 private:
  void take(limits::ReadResult reading) {
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
  limits::SetOptions setting_;
  const std::shared_ptr<store::BlockingStore> store_;
  mutable store::SpinLock mutex_;
  std::shared_ptr<const limits::Set> set_ WEIR_GUARDED_BY(mutex_);
};

void Limits::use_time_zones(const TimeZones& zones) { core::use_time_zones(zones); }

Limits::Limits(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Limits::Limits(const std::string& path, const Options& options)
    : impl_(std::make_unique<Impl>(path, nullptr, options)) {
  impl_->read_file();
}
Limits::Limits(const std::string& path, store::BlockingStore& store, const Options& options)
    : impl_(std::make_unique<Impl>(path, &store, options)) {
  impl_->read_file();
}
Limits Limits::from_text(std::string_view text, const Options& options) {
  auto impl = std::make_unique<Impl>("", nullptr, options);
  impl->read_text(text);
  return Limits(std::move(impl));
}
Limits Limits::from_text(std::string_view text, store::BlockingStore& store, const Options& options) {
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

LimitsTaken Limits::take_up_to(const LimitsRequest& request, Cost least) {
  const auto set = impl_->set();
  service::Question question;
  prepare_take(request, least, *set, impl_->now(), question);
  impl_->ask(question);
  return taken_of(question, *set);
}

void Limits::check(std::span<const LimitsRequest> requests, std::span<LimitsDecision> decisions) {
  if (requests.size() != decisions.size()) {
    throw std::invalid_argument("weir::Limits::check: " + std::to_string(requests.size()) +
                                " requests and room for " + std::to_string(decisions.size()) +
                                " decisions; expected as many");
  }
  const auto set = impl_->set();
  const limits::Time now = impl_->now();
  std::vector<service::Question> questions(requests.size());
  std::vector<store::Request*> asked;
  limits::MatchMemory memory;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Said said(requests[i]);
    prepare({.as = &said.asked()}, *set, now, memory, questions[i]);
    if (asks(questions[i])) asked.push_back(&questions[i]);
  }
  impl_->ask(asked);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool decided = questions[i].fault == Fault::none;
    decisions[i] = decided ? decision_of(questions[i], *set) : LimitsDecision{};
  }
  for (const store::Request* const each : asked) require_decided(*each);
}

// A request whose answer tells a Value.
template <class Value>
struct [[gnu::visibility("hidden")]] Limits::Asked final : store::Unawaited {
  using Read = Value (*)(const service::Question& question, const limits::Set& set);
  Asked(std::shared_ptr<const limits::Set> by, Read its_read) : set(std::move(by)), read(its_read) {}

  store::Request& request() override { return question; }
  void tell() override {
    detail::RawResult<Value> told{.value = {}, .fault = question.fault, .why = question.why};
    if (question.fault == Fault::none) told.value = read(question, *set);
    answer(std::move(told));
  }
  static detail::Ready<Value> ready(std::unique_ptr<Asked> one, std::shared_ptr<store::BlockingStore> store) {
    return
        [store = std::move(store), one = std::move(one)](Callback<detail::RawResult<Value>> answer) mutable {
          one->answer = std::move(answer);
          if (!asks(one->question)) return one->tell();
          store->begin(std::move(one));
        };
  }

  const std::shared_ptr<const limits::Set> set;
  const Read read;
  service::Question question;
  Callback<detail::RawResult<Value>> answer;
};

detail::Ready<LimitsDecision> Limits::ready_check(const LimitsRequest& request) {
  auto one = std::make_unique<Asked<LimitsDecision>>(impl_->set(), &decision_of);
  const Said said(request);
  prepare({.as = &said.asked()}, *one->set, impl_->now(), one->question);
  return Asked<LimitsDecision>::ready(std::move(one), impl_->store());
}

detail::Ready<LimitsTaken> Limits::ready_take(const LimitsRequest& request, Cost least) {
  auto one = std::make_unique<Asked<LimitsTaken>>(impl_->set(), &taken_of);
  prepare_take(request, least, *one->set, impl_->now(), one->question);
  return Asked<LimitsTaken>::ready(std::move(one), impl_->store());
}

// A request that is to be reserved, and what comes of it.
struct [[gnu::visibility("hidden")]] Limits::Reserving final : store::Unawaited {
  // No options: what the file says.
  Reserving(const Impl& impl, const LimitsRequest& request, const ReserveOptions* options)
      : set(impl.set()), clock(impl.clock()) {
    const Said said(request);
    service::Ask ask{.verb = store::Verb::reserve, .as = &said.asked()};
    if (options != nullptr) {
      ask.max_wait = options->max_wait;
      if (options->hold.count() > 0) ask.hold = options->hold;
    }
    prepare(ask, *set, impl.now(), question);
    if (!asks(question)) return;
    store::ReservationTerms& asked = *question.reservation;
    const ReserveOptions bounded = store::bounded({asked.max_wait, asked.hold}, store::read(clock));
    asked.max_wait = bounded.max_wait;
    asked.hold = bounded.hold;
    kept = std::make_unique<store::StoreHandle>(impl.store(), clock, nanoseconds{0});
  }

  store::Request& request() override { return question; }
  void tell() override {
    detail::RawResult<LimitsReservation> told{.value = {}, .fault = question.fault, .why = question.why};
    if (question.fault == Fault::none) told.value = made();
    answer(std::move(told));
  }
  LimitsReservation made() {
    // Read after the store has: a moment may be told later than it is, never earlier.
    const nanoseconds now = store::read(clock);
    LimitsDecision decided = decision_of(question, *set);
    store::ReservationTerms& asked = *question.reservation;
    if (!decided.allowed() || (asked.id.empty() && asked.wait.count() == 0))
      return {Reservation(now, [&] { return decided.decision; }), std::move(decided.by)};
    kept->set_id(std::move(asked.id));
    return {Reservation(now, asked.wait, decided.decision, question.by, std::move(kept)),
            std::move(decided.by)};
  }

  const std::shared_ptr<const limits::Set> set;
  const Clock* const clock;
  service::Question question;
  std::unique_ptr<store::StoreHandle> kept;
  Callback<detail::RawResult<LimitsReservation>> answer;
};

LimitsReservation Limits::reserve_by(const LimitsRequest& request, const ReserveOptions* options) {
  Reserving one(*impl_, request, options);
  impl_->ask(one.question);
  return one.made();
}

detail::Ready<LimitsReservation> Limits::ready_reserve(const LimitsRequest& request,
                                                       const ReserveOptions* options) {
  auto one = std::make_unique<Reserving>(*impl_, request, options);
  return [store = impl_->store(),
          one = std::move(one)](Callback<detail::RawResult<LimitsReservation>> answer) mutable {
    one->answer = std::move(answer);
    if (!asks(one->question)) return one->tell();
    store->begin(std::move(one));
  };
}

LimitsCharged Limits::charge(const LimitsRequest& request, const LimitsCharge& charge) {
  const auto set = impl_->set();
  const Said said(request, Cost{});
  service::Ask ask{.verb = store::Verb::charge, .as = &said.asked(), .limit = charge.limit};
  ask.window = charge.window;
  ask.overdraft = charge.overdraft;
  if (charge.remaining) {
    ask.form = Outside::Form::remaining;
    ask.remaining = charge.remaining->units;
  } else if (charge.pause) {
    ask.form = Outside::Form::pause;
    ask.pause = {Outside(*charge.pause).length, charge.pause->afresh};
  }
  service::Question question;
  prepare(ask, *set, impl_->now(), question);
  impl_->ask(question);
  return {question.charge->told, std::string(service::told_of(question, set.get()).by)};
}

std::uint64_t Limits::refund(const LimitsRequest& request) {
  const auto set = impl_->set();
  const Said said(request, Cost{});
  const service::Ask ask{.verb = store::Verb::charge, .as = &said.asked(), .form = Outside::Form::refund};
  service::Question question;
  prepare(ask, *set, impl_->now(), question);
  impl_->ask(question);
  return question.charge->told.charged;
}

std::string Limits::explain(const LimitsRequest& request) {
  const auto set = impl_->set();
  const Said said(request);
  service::Question question;
  prepare({.verb = store::Verb::look, .explains = true, .as = &said.asked()}, *set, impl_->now(), question);
  impl_->ask(question);
  return limits::to_text(service::explanation_of(question, said.asked().attributes, *set), set->file().name);
}

std::uint64_t Limits::reset(std::span<const Attribute> attributes, std::string_view limit) {
  const auto set = impl_->set();
  const Said said({attributes});
  service::Question question;
  prepare({.verb = store::Verb::reset, .as = &said.asked(), .limit = limit}, *set, impl_->now(), question);
  impl_->ask(question);
  return question.forgotten;
}

void Limits::reload() {
  if (impl_->path().empty())
    throw std::invalid_argument("weir::Limits::reload: it was made of a text, not of a file");
  impl_->read_file();
}
void Limits::reload(std::string_view text) { impl_->read_text(text); }

}  // namespace weir
