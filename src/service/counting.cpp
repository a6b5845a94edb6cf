#include "service/counting.hpp"

#include <algorithm>
#include <utility>

#include "core/number.hpp"
#include "core/random.hpp"
#include "core/rule.hpp"
#include "limits/explain.hpp"
#include "steering/shown_key.hpp"

namespace weir::inline v0_1::service {
namespace {

Counting::UsageTold told_usage(const Counting::UsageAsked& asked, const steering::Usage& usage,
                               std::chrono::nanoseconds utc) {
  const limits::NamedLimit& limit = *asked.set->limits()[asked.limit].said;
  Counting::UsageTold told{
      .limit = limit.name, .key = asked.key_text, .windows = {}, .hours = usage.hours_at(utc)};
  for (const limits::Window& window : limit.windows) {
    if (window.is_slots()) continue;
    auto& row = told.windows.emplace_back();
    core::append_window(window.rule, row.name);
    row.told = usage.of(steering::UsageWindow::of(window.rule), utc);
  }
  return told;
}

}  // namespace

Counting::Counting(CountingOptions options, core::ClockFunction clock, core::ClockFunction wall_clock)
    : options_(options),
      clock_(std::move(clock)),
      wall_clock_(std::move(wall_clock)),
      start_(clock_()),
      seed_(core::random_key()),
      secret_(core::random_key()),
      book_(options.track_memory) {}

void Counting::join(const steering::TopKeys* top, steering::UsageBuffer& usage) {
  const detail::Held lock(mutex_);
  if (top != nullptr) tops_.push_back(top);
  buffers_.push_back(&usage);
}

void Counting::leave(const steering::TopKeys* top, steering::UsageBuffer& usage) {
  add_usage(usage);
  const detail::Held lock(mutex_);
  std::erase(tops_, top);
  std::erase(buffers_, &usage);
}

void Counting::share_usage(SharedUsage* shared) {
  shared_ = shared;
  const detail::Held lock(mutex_);
  if (shared != nullptr && options_.hashes) secret_.reset();
}

void Counting::forget() {
  const detail::Held lock(usage_mutex_);
  book_ = steering::UsageBook(options_.track_memory);
}

bool Counting::needs_secret() const {
  const detail::Held lock(mutex_);
  return options_.hashes && !secret_;
}

std::string Counting::text_of(core::HashKey secret) {
  return std::to_string(secret.k0) + " " + std::to_string(secret.k1);
}

void Counting::use_secret(std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const auto first = core::number_in<std::uint64_t>(text.substr(0, blank));
  const auto second = core::number_in<std::uint64_t>(text.substr(std::min(text.size(), blank + 1)));
  if (!first || !second) return;
  const detail::Held lock(mutex_);
  secret_ = {*first, *second};
}

tl::expected<steering::TopKeys::Answer, std::string> Counting::top(steering::TopKeys::By by,
                                                                   std::string_view limit,
                                                                   std::size_t most) const {
  const detail::Held lock(mutex_);
  if (options_.hashes && !secret_) return tl::unexpected(std::string(kNoSecret));
  auto answer = steering::TopKeys::ask(tops_, by, limit, most, clock_());
  if (options_.hashes)
    for (auto& row : answer.rows) row.key = steering::hashed_key(*secret_, row.limit, row.key);
  return answer;
}

std::optional<std::string> Counting::shown(std::string_view limit, std::string_view key) const {
  std::string text;
  steering::shorten_key(key, text);
  if (!options_.hashes) return text;
  const detail::Held lock(mutex_);
  if (!secret_) return std::nullopt;
  return steering::hashed_key(*secret_, limit, text);
}

void Counting::add_usage(steering::UsageBuffer& of) {
  const std::chrono::nanoseconds now = utc();
  std::vector<steering::Booking> taken = of.take(now);
  if (taken.empty()) return;
  std::size_t turned_away = 0;
  if (shared_ != nullptr) {
    turned_away = shared_->book(std::move(taken));
  } else {
    const detail::Held lock(usage_mutex_);
    for (const steering::Booking& each : taken) turned_away += book_.book(each) ? 0 : 1;
  }
  if (turned_away > 0) untracked_.fetch_add(turned_away, std::memory_order_relaxed);
}

void Counting::add_usage() {
  const detail::Held lock(mutex_);
  for (steering::UsageBuffer* const each : buffers_) add_usage(*each);
}

tl::expected<Counting::UsageAsked, std::string> Counting::usage_asked(
    std::shared_ptr<const limits::Set> set, std::string_view name,
    std::span<const limits::Attribute> attributes, limits::MatchMemory& memory) const {
  const limits::Set::CompiledLimit* const limit = set->find(name);
  if (limit == nullptr) return tl::unexpected(set->unknown(name));
  if (!limit->said->track)
    return tl::unexpected(std::string(kNotTracked) + ": limit '" + std::string(name) +
                          "' has to say track: true");
  limits::Matched matched;
  std::vector<store::Check> states;
  if (!limits::find_states(*set, attributes, name, memory, matched, states))
    return tl::unexpected(matched.error);
  const std::string_view key = states.front().key;
  UsageAsked asked{.limit = static_cast<limits::Index>(limit - set->limits().data())};
  asked.key = {.hash = hash_of(limit->shown_as, key), .limit = limit->said->id, .key = std::string(key)};
  for (const limits::Window& window : limit->said->windows)
    if (!window.is_slots()) asked.key.windows.push_back(steering::UsageWindow::of(window.rule));
  steering::shorten_key(limits::key_text(*limit->said, attributes), asked.key_text);
  asked.set = std::move(set);
  return asked;
}

void Counting::usage(UsageAsked asked, OnUsage told) {
  add_usage();
  if (shared_ != nullptr) {
    steering::Booking key = asked.key;
    return shared_->find(std::move(key),
                         [this, asked = std::move(asked), told = std::move(told)](auto found) {
                           if (!found) return told(tl::unexpected(std::move(found.error())));
                           told(told_usage(asked, *found, utc()));
                         });
  }
  const std::chrono::nanoseconds now = utc();
  std::optional<steering::Usage> found;
  {
    const detail::Held lock(usage_mutex_);
    found = book_.find(asked.key.hash, now);
  }
  if (!found) return told(tl::unexpected(std::string(kNotTracked)));
  told(told_usage(asked, *found, now));
}

Counting::UsageCounts Counting::usage_counts() const {
  const detail::Held lock(usage_mutex_);
  return {book_.keys(), book_.bytes(), untracked_.load(std::memory_order_relaxed)};
}

}  // namespace weir::service
