#include "service/overrides.hpp"

#include <algorithm>
#include <future>
#include <unordered_set>
#include <utility>

#include "core/duration.hpp"
#include "core/packed.hpp"
#include "core/printable.hpp"
#include "core/utc_text.hpp"
#include "limits/steer.hpp"

namespace weir::inline v0_1::service {
namespace {

using limits::Steer;
using steering::OperatorOverride;
using Why = NotSteered::Why;

std::string when_text(limits::Time time) { return core::utc_ms_text(time.time_since_epoch().count()); }

// What is wrong with a reason; empty: nothing.
std::string wrong_reason(std::string_view reason) {
  if (reason.empty()) return "missing: say why, for those who come after you";
  if (!core::is_utf8(reason)) return "is not UTF-8";
  std::size_t characters = 0;
  for (std::string_view rest = reason; !rest.empty(); ++characters) {
    const core::Character each = core::character_at(rest);
    if (each.point < 0x20 || (each.point >= 0x7f && each.point < 0xa0)) return "has a control character";
    rest.remove_prefix(each.size);
  }
  if (characters <= Overrides::kMostReason) return {};
  return "has " + std::to_string(characters) + " characters; at most " +
         std::to_string(Overrides::kMostReason);
}

// Where none needs to be said.
std::optional<NotSteered> refuses_reason(std::string_view reason) {
  if (reason.empty()) return std::nullopt;
  std::string wrong = wrong_reason(reason);
  if (wrong.empty()) return std::nullopt;
  return NotSteered{Why::words, std::move(wrong), "reason"};
}

std::string_view verb_of(Steer what) {
  switch (what) {
    case Steer::ban:
      return "BAN";
    case Steer::raise:
      return "RAISE";
    case Steer::lower:
      return "LOWER";
    case Steer::shadow_on:
    case Steer::shadow_off:
      break;
  }
  return "SHADOW";
}

// An unban ends what is set meanwhile, and gives up on somebody who sets it again and again.
constexpr int kMostTimes = 4;

bool has_rates(Steer what) { return what == Steer::raise || what == Steer::lower; }
bool is_shadow(Steer what) { return what == Steer::shadow_on || what == Steer::shadow_off; }

// With its number, end, reason and user. The end is by another clock, which is so far ahead.
limits::Steered::Ptr finished(limits::SteeredOverride compiled, const OperatorOverride& which,
                              std::chrono::nanoseconds ahead) {
  compiled.number = which.number;
  compiled.until = which.until - ahead;
  compiled.reason = which.reason;
  compiled.user = which.user;
  return std::make_shared<const limits::SteeredOverride>(std::move(compiled));
}

std::unordered_map<std::string_view, const limits::Set::CompiledLimit*> by_id(const limits::Set& set) {
  std::unordered_map<std::string_view, const limits::Set::CompiledLimit*> found;
  for (const limits::Set::CompiledLimit& each : set.limits()) found.emplace(each.said->id, &each);
  return found;
}

}  // namespace

Overrides::Overrides(LimitsInForce& limits, std::unique_ptr<steering::Keeper> keeper,
                     steering::OverrideBook book, Links links)
    : limits_(limits), keeper_(std::move(keeper)), links_(std::move(links)), book_(std::move(book)) {
  for (const Ptr& each : book_.ended(now())) book_.end(each->number);
  limits_.on_renewal([this] { renew(); });
  renew();
}

Overrides::~Overrides() { limits_.on_renewal(nullptr); }

std::string Overrides::pack() const {
  core::Packing out;
  const detail::Held lock(mutex_);
  out.number(book_.next_number() - 1);
  for (const auto& [number, each] : book_.all()) out.text(steering::encoded(*each));
  return out.take();
}

bool Overrides::take_over(std::string_view bytes) {
  core::Unpacking in(bytes);
  steering::OverrideBook book;
  const std::uint64_t last = in.number();
  while (in.good() && !in.is_whole()) {
    auto each = steering::decoded(in.text());
    if (!each) return false;
    book.set(*std::move(each));
  }
  if (!in.is_whole()) return false;
  book.skip_to(last);
  const detail::Held lock(changing_);
  {
    const detail::Held inner(mutex_);
    book_ = std::move(book);
  }
  renew_alone();
  return true;
}

// All of them for the file that is in force now.
void Overrides::renew() {
  const detail::Held lock(changing_);
  renew_alone();
}

void Overrides::renew_alone() {
  ahead_ = keeper_->ahead();
  const std::shared_ptr<const limits::Set> set = limits_.current();
  std::vector<Ptr> all;
  {
    const detail::Held inner(mutex_);
    for (const auto& [number, each] : book_.all()) all.push_back(each);
  }
  const auto limits = by_id(*set);
  std::vector<Compiled> awake;
  for (const Ptr& each : all) {
    const auto limit = limits.find(each->limit_id);
    if (limit == limits.end()) continue;
    auto made = limits::compile_steer(*set, *limit->second, {each->what, each->when, each->rates});
    if (made) awake.push_back(finished(*std::move(made), *each, ahead_));
  }
  if (const std::size_t sleeping = all.size() - awake.size(); sleeping > 0)
    links_.log(true, std::to_string(sleeping) +
                         " overrides sleep: the limits file has not the limits, windows or attributes that "
                         "they are for");
  auto steered = std::make_shared<const limits::Steered>(set, awake);
  const detail::Held inner(mutex_);
  compiled_.clear();
  for (Compiled& each : awake) compiled_.emplace(each->number, std::move(each));
  steered_ = steered;
  limits_.ruling.publish(std::move(steered));
}

tl::expected<limits::SteeredOverride, NotSteered> Overrides::judge(const WantedOverride& wanted,
                                                                   OperatorOverride& made) const {
  const auto refuse = [](std::string sentence, std::string_view field = {}, Why why = Why::words) {
    return tl::unexpected(NotSteered{why, std::move(sentence), field});
  };
  const limits::Set& set = steered_->set();
  if (!wanted.file_hash.empty() && wanted.file_hash != limits_.hash())
    return refuse("the limits file has changed: its hash is " + limits_.hash(), {}, Why::changed);
  const limits::Set::CompiledLimit* const limit = set.find(wanted.limit);
  if (limit == nullptr) return refuse(set.unknown(wanted.limit), "limit");
  if (is_shadow(wanted.what) && !wanted.when.empty()) return refuse("a shadow is of the whole limit", "when");
  if (has_rates(wanted.what) && wanted.rates.empty())
    return refuse("missing: a rate such as 100/s burst 200", "rate");
  if (!has_rates(wanted.what) && !wanted.rates.empty()) return refuse("is for raise and lower", "rate");
  if (std::string wrong = wrong_reason(wanted.reason); !wrong.empty())
    return refuse(std::move(wrong), "reason");
  if (wanted.lasts && (*wanted.lasts < kShortest || *wanted.lasts > kLongest))
    return refuse("is not from 1s to 366d", "for");
  made.set_at = now();
  made.until = wanted.lasts ? made.set_at + *wanted.lasts : wanted.until;
  if (made.until <= made.set_at)
    return refuse(when_text(made.until) + " is in the past: it is now " + when_text(made.set_at), "until");
  auto compiled = limits::compile_steer(set, *limit, {wanted.what, wanted.when, wanted.rates});
  if (!compiled) return refuse(std::move(compiled.error().text), compiled.error().field);
  made.what = wanted.what;
  made.limit = limit->said->name;
  made.limit_id = limit->said->id;
  made.when = wanted.when;
  made.rates = wanted.rates;
  made.reason = wanted.reason;
  if (const std::size_t bytes = steering::bytes_of(made); bytes > steering::kMostOverrideBytes)
    return refuse("the words of an override take at most " + std::to_string(steering::kMostOverrideBytes) +
                  " bytes; these take " + std::to_string(bytes));
  if (auto full = book_.refuses(made.what, made.limit_id, made.when))
    return refuse(*std::move(full), {}, Why::full);
  if (!steered_->has_room(compiled->limit, compiled->when))
    return refuse(std::to_string(limits::Steered::kMostShapes) +
                      " sets of attributes are named by overrides of '" + made.limit + "': lift some first",
                  {}, Why::full);
  if (has_rates(made.what)) {
    compiled->until = made.until;
    if (auto why = limits::refuses_to_steer(*steered_, *compiled, limits_.now()))
      return refuse(*std::move(why));
  }
  return *std::move(compiled);
}

tl::expected<ToldOverride, NotSteered> Overrides::set(const WantedOverride& wanted,
                                                      const steering::Actor& by) {
  const detail::Held lock(changing_);
  refresh();
  OperatorOverride made;
  made.user = by.user;
  auto judged = judge(wanted, made);
  if (!judged) return tl::unexpected(std::move(judged.error()));
  const Ptr before = book_unchanging().find(steering::words_of(made.what, made.limit_id, made.when));
  const auto number = keeper_->take_number(book_unchanging());
  if (!number)
    return tl::unexpected(
        NotSteered{Why::not_kept, "not stored: " + number.error() + "; nothing has changed"});
  made.number = *number;
  const Compiled compiled = finished(*std::move(judged), made, ahead_);
  steering::OperatorChange change{.by = by,
                                  .verb = std::string(verb_of(made.what)),
                                  .limit = made.limit,
                                  .when = made.when,
                                  .before = before ? steering::described(*before) : "",
                                  .after = steering::described(made),
                                  .reason = made.reason,
                                  .number = made.number};
  if (auto why = write(std::move(change), &made, compiled, {})) return tl::unexpected(*std::move(why));
  tell_of_memory();
  const detail::Held inner(mutex_);
  return told(book_.find(made.number));
}

tl::expected<std::size_t, NotSteered> Overrides::unban(const std::string& limit,
                                                       const steering::Selector& when,
                                                       const std::string& reason, const steering::Actor& by) {
  if (auto why = refuses_reason(reason)) return tl::unexpected(*std::move(why));
  const detail::Held lock(changing_);
  refresh();
  const limits::Set& set = steered_unchanging().set();
  const limits::Set::CompiledLimit* const known = set.find(limit);
  if (known == nullptr) return tl::unexpected(NotSteered{Why::words, set.unknown(limit), "limit"});
  const std::string words = steering::words_of(Steer::ban, known->said->id, when);
  std::size_t ended = 0;
  // Another server may have set it again just now.
  for (int times = 0; times < kMostTimes; ++times, refresh()) {
    const Ptr found = book_unchanging().find(words);
    if (!found) break;
    if (auto why = end(found, "UNBAN", reason, by)) return tl::unexpected(*std::move(why));
    ended = 1;
  }
  return ended;
}

tl::expected<bool, NotSteered> Overrides::lift(std::uint64_t number, const std::string& reason,
                                               const steering::Actor& by) {
  if (auto why = refuses_reason(reason)) return tl::unexpected(*std::move(why));
  const detail::Held lock(changing_);
  refresh();
  const Ptr found = book_unchanging().find(number);
  if (!found) return false;
  if (auto why = end(found, "LIFT", reason, by)) return tl::unexpected(*std::move(why));
  return true;
}

std::optional<NotSteered> Overrides::end(const Ptr& which, std::string verb, const std::string& reason,
                                         const steering::Actor& by) {
  return write({.by = by,
                .verb = std::move(verb),
                .limit = which->limit,
                .when = which->when,
                .before = steering::described(*which),
                .after = {},
                .reason = reason,
                .number = which->number},
               nullptr, nullptr, {which});
}

// First the audit has it, then where overrides lie, and then it is in force: half of it is never.
std::optional<NotSteered> Overrides::write(steering::OperatorChange change, const OperatorOverride* made,
                                           const Compiled& compiled, const std::vector<Ptr>& ended) {
  if (!is_recorded(change)) return NotSteered{Why::unaudited, std::string(steering::kNotWritten)};
  if (auto why = keeper_->keep(book_unchanging(), made, ended)) {
    change.reason = "not stored";
    is_recorded(change);
    return NotSteered{Why::not_kept, "not stored: " + *why + "; nothing has changed"};
  }
  std::vector<Made> all;
  if (made != nullptr) all.push_back({*made, compiled});
  put_in_force(all, ended);
  return std::nullopt;
}

bool Overrides::is_recorded(const steering::OperatorChange& change) const {
  const auto written = std::make_shared<std::promise<bool>>();
  links_.record(change, [written](bool yes) { written->set_value(yes); });
  return written->get_future().get();
}

void Overrides::put_in_force(const std::vector<Made>& made, const std::vector<Ptr>& ended) {
  {
    const detail::Held lock(mutex_);
    std::vector<Compiled> more;
    std::vector<Compiled> less;
    const auto drop = [&](std::uint64_t number) WEIR_REQUIRES(mutex_) {
      if (auto gone = compiled_.extract(number)) less.push_back(std::move(gone.mapped()));
    };
    for (const Ptr& each : ended) {
      drop(each->number);
      book_.end(each->number);
    }
    for (const Made& each : made) {
      if (const Ptr before = book_.find(steering::words_of(each.it.what, each.it.limit_id, each.it.when)))
        drop(before->number);
      book_.set(each.it);
      if (!each.compiled) continue;
      more.push_back(each.compiled);
      compiled_.emplace(each.it.number, each.compiled);
    }
    if (!more.empty() || !less.empty()) {
      steered_ = steered_->with(more, less);
      limits_.ruling.publish(steered_);
    }
  }
  for (const Ptr& each : ended) tell(*each, false);
  for (const Made& each : made) tell(each.it, true);
}

void Overrides::look() {
  const detail::Held lock(changing_);
  refresh();
}

void Overrides::refresh() {
  auto changes = keeper_->changes();
  tell_of_reading(changes ? "" : changes.error());
  if (changes) adopt(*std::move(changes));
  if (keeper_->ahead() != ahead_) renew_alone();
  end_due();
}

void Overrides::adopt(steering::Keeper::Changes changes) {
  const steering::OverrideBook& book = book_unchanging();
  std::vector<Ptr> ended;
  for (const std::uint64_t number : changes.ended)
    if (Ptr found = book.find(number)) ended.push_back(std::move(found));
  if (changes.whole) {
    std::unordered_set<std::uint64_t> there;
    for (const OperatorOverride& each : changes.set) there.insert(each.number);
    std::size_t in_force = 0;
    for (const auto& [number, each] : book.all()) {
      if (there.contains(number)) continue;
      ended.push_back(each);
      in_force += each->until > now() ? 1 : 0;
    }
    // Some may have been ended by others while the store was away from us, unless it is of an older time. All
    // of them: it was emptied.
    const bool all = ended.size() == book.size();
    if (in_force > 0 && (all || changes.older)) tell_of_loss(in_force, all);
  }
  const limits::Set& set = *limits_.current();
  const auto limits = by_id(set);
  std::vector<Made> made;
  std::unordered_set<std::uint64_t> twice;
  for (OperatorOverride& each : changes.set) {
    if (book.find(each.number) || !twice.insert(each.number).second) continue;
    Compiled compiled;
    if (const auto limit = limits.find(each.limit_id); limit != limits.end()) {
      auto steer = limits::compile_steer(set, *limit->second, {each.what, each.when, each.rates});
      if (steer) compiled = finished(*std::move(steer), each, ahead_);
    }
    made.push_back({std::move(each), std::move(compiled)});
  }
  if (!made.empty() || !ended.empty()) put_in_force(made, ended);
}

// A line for each reason, and one when they are read again. Of a store that is away there is a line already.
void Overrides::tell_of_reading(const std::string& why_not) {
  if (why_not == why_not_read_ || why_not == steering::kNoAnswer) return;
  links_.log(!why_not.empty(),
             why_not.empty() ? "overrides: read again"
                             : "overrides: cannot be read, so what was in force here stays: " + why_not);
  why_not_read_ = why_not;
}

void Overrides::tell_of_loss(std::size_t count, bool all) {
  lost_.fetch_add(count, std::memory_order_relaxed);
  const std::string number = std::to_string(count);
  links_.log(true,
             all ? "overrides: the store has none of the " + number +
                       " any more that were in force here, as after FLUSHALL or a failover to an empty one: "
                       "they have ended on every server"
                 : "overrides: the store came back with an older copy of itself, without " + number +
                       " that were in force here: they have ended on every server");
  links_.tell({.what = steering::OperatorEvent::What::overrides_lost, .count = count});
}

void Overrides::end_due() {
  std::vector<Ptr> ended;
  {
    const detail::Held lock(mutex_);
    ended = book_.ended(now());
  }
  if (ended.empty()) return;
  put_in_force({}, ended);
  keeper_->forget(ended);
}

void Overrides::tell_of_memory() {
  if (keeper_->durable() || std::exchange(has_told_of_memory_, true)) return;
  links_.log(
      true, "overrides lie in memory alone, and end with the program: start weir with --snapshot or --store");
}

void Overrides::tell(const OperatorOverride& which, bool begins) const {
  using What = steering::OperatorEvent::What;
  const bool bans = which.what == Steer::ban;
  const What what = !bans ? What::override : begins ? What::banned : What::ban_ended;
  links_.tell({.what = what,
               .limit = which.limit,
               .key = steering::to_text(which.when),
               .until = which.until.time_since_epoch(),
               .reason = which.reason});
}

ToldOverride Overrides::told(const Ptr& which) const {
  ToldOverride told{which, which->limit, keeper_->durable()};
  const auto awake = compiled_.find(which->number);
  if (awake != compiled_.end()) told.limit = steered_->set().limits()[awake->second->limit].said->name;
  return told;
}

std::optional<ToldOverride> Overrides::find(std::uint64_t number) const {
  const detail::Held lock(mutex_);
  const Ptr found = book_.find(number);
  if (!found || found->until <= now()) return std::nullopt;
  return told(found);
}

std::vector<ToldOverride> Overrides::list(std::string_view limit, std::uint64_t after,
                                          std::size_t most) const {
  const detail::Held lock(mutex_);
  std::string_view id = limit;
  if (const limits::Set::CompiledLimit* const known = steered_->set().find(limit)) id = known->said->id;
  std::vector<ToldOverride> found;
  while (found.size() < most) {
    // What has ended, and is not forgotten yet, is left out.
    const std::vector<Ptr> some = book_.list(id, after, most - found.size());
    if (some.empty()) break;
    after = some.back()->number;
    for (const Ptr& each : some)
      if (each->until > now()) found.push_back(told(each));
  }
  return found;
}

void Overrides::add_rows(Metrics& metrics) const {
  const auto size = [this] {
    const detail::Held lock(mutex_);
    return book_.size();
  };
  metrics.gauge(Section::limits, "overrides", "weir_overrides", "Overrides that operators have set", size);
  metrics.counter(Section::limits, "overrides_lost", "weir_overrides_lost_total",
                  "Overrides that ended because the store was emptied", lost_);
}

}  // namespace weir::service
