#include "redis/shared_store.hpp"

#include <utility>

#include "core/rule.hpp"
#include "redis/script.hpp"
#include "store/form.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

SharedStore::SharedStore(Endpoint endpoint, Options options, store::EmbeddedStore& local,
                         ProcessMemory& memory, core::Clock clock)
    : endpoint_(std::move(endpoint)),
      options_(options),
      fallback_(local, options.local_share),
      known_(memory, fallback_, {options.remember_denials, options.lease_parts, options.longest_wait}),
      clock_(std::move(clock)),
      ids_(options.random(), options.random()),
      client_(
          endpoint_, std::string(check_script()), options.random().k0,
          [this](std::uint64_t tag, const Client::Result& result) { answered(tag, result); },
          options.deadline) {
  client_.also_load(std::string(reserve_script()));
  client_.read_times([](const resp::Value& value) { return decided_at(value); });
  client_.ask_before_sending([this](std::uint64_t tag) { return wanted(tag); });
  client_.on_alarm([this](nanoseconds now) {
    alarm_at_ = nanoseconds::max();
    while (const auto key = merging_.take_due(now)) release(*key, std::nullopt, now);
    set_alarm();
    wake();
  });
}

void SharedStore::note_state() {
  health_.look(client_.ready(), client_.has_failed() ? std::string_view(client_.last_error()) : "", clock_());
  const Client::Load load = client_.load();
  counters_.under_way.store(load.under_way, std::memory_order_relaxed);
  counters_.waiting.store(load.waiting, std::memory_order_relaxed);
  counters_.ready.store(health_.view().state == Health::State::ready, std::memory_order_relaxed);
}

void SharedStore::submit(std::span<Request* const> batch, store::Moment when) {
  for (Request* const each : batch) {
    Request& request = *each;
    request.state = Request::State::idle;
    request.charged = false;
    request.by = 0;
    request.source = Source::store;
    request.fault = Fault::none;
    request.forgotten = 0;
    request.why.clear();
    begin(request, when.now);
    if (request.state != Request::State::answered) request.state = Request::State::submitted;
  }
  wake();
}

void SharedStore::begin(Request& request, nanoseconds now) {
  if (request.verb == store::Verb::reset) return reset(request, now);
  if (request.verb == store::Verb::cancel || request.verb == store::Verb::settle) return undo(request, now);
  if (request.verb == store::Verb::acquire)
    return refuse(request, 0, Fault::unsuitable, "nobody waits in a shared store");
  const std::span<Check> checks = request.checks;
  if (auto sentence = store::malformed(checks))
    return refuse(request, 0, Fault::unsuitable, *std::move(sentence));
  for (std::size_t i = 0; i < checks.size(); ++i) {
    checks[i].decision = {};
    checks[i].hash = 0;
    if (auto sentence = unsuitable(checks[i].limit->rule, endpoint_.format))
      return refuse(request, i, Fault::unsuitable, *std::move(sentence));
  }
  if (request.verb == store::Verb::reserve) return reserve(request, now);
  const bool is_alone = checks.size() == 1 && request.verb == store::Verb::check;
  return is_alone ? check_one(request, now) : check_jointly(request, now);
}

void SharedStore::refuse(Request& request, std::size_t by, Fault fault, std::string why) {
  request.by = static_cast<std::uint8_t>(by);
  request.fault = fault;
  request.why = std::move(why);
  finish(request);
}

bool SharedStore::wanted(std::uint64_t tag) const {
  if (const auto* const call = std::get_if<KeyCall>(&calls_[tag])) return !call->cancelled();
  if (const auto* const call = std::get_if<PartCall>(&calls_[tag])) return !call->joint->ticket.cancelled();
  return true;
}

void SharedStore::ask(Call call, std::uint16_t slot, std::string command, nanoseconds deadline,
                      nanoseconds now, Rank rank) {
  auto tag = static_cast<std::uint32_t>(calls_.size());
  if (free_.empty()) {
    calls_.push_back(std::move(call));
  } else {
    tag = free_.back();
    free_.pop_back();
    calls_[tag] = std::move(call);
  }
  ++unsent_;
  client_.call(tag, slot, std::move(command), deadline, now, rank);
}

void SharedStore::answered(std::uint64_t tag, const Client::Result& result) {
  Call call = std::exchange(calls_[tag], {});
  free_.push_back(static_cast<std::uint32_t>(tag));
  const nanoseconds now = clock_();
  std::visit([&](auto& its) { answered(std::move(its), result, now); }, call);
  wake();
}

void SharedStore::wake() {
  if (unsent_ > 0 || alarm_changed_) wake_(std::exchange(unsent_, 0));
  alarm_changed_ = false;
}

KeptCheck SharedStore::keep(const Check& check, std::uint64_t hash, std::uint32_t resets) const {
  KeptCheck kept{.limit = *check.limit,
                 .name = key_in_redis(endpoint_.prefix, check),
                 .size = check.key.size(),
                 .hash = hash,
                 .cost = check.cost,
                 .resets = resets,
                 .format = endpoint_.format,
                 .shadow = check.shadow,
                 .inside = check.inside,
                 .waits_with = check.waits_with};
  kept.limit.name = {};  // the asker's
  return kept;
}

// A cluster's; 0 for the others.
std::uint16_t SharedStore::slot(std::string_view name) const {
  return endpoint_.kind == Endpoint::Kind::cluster ? slot_of(name) : 0;
}

nanoseconds SharedStore::deadline_of(const Request& request, nanoseconds now) const {
  return now + (request.patience.count() != 0 ? request.patience : options_.deadline);
}

}  // namespace weir::redis
