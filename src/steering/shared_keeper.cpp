#include "steering/shared_keeper.hpp"

#include <algorithm>
#include <utility>

#include "core/number.hpp"
#include "core/sha256.hpp"

namespace weir::inline v0_1::steering {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// What a clock is off by less is not told from how long an answer takes.
constexpr nanoseconds kSameClock = std::chrono::milliseconds{50};
constexpr std::int64_t kOlder = -2;      // no version is known, and what is there is older than what was
constexpr std::size_t kHead = 3;         // words of every answer
constexpr std::size_t kAtOnce = 200;     // changes in one answer
constexpr std::size_t kOfEnd = 3;        // words of each that is ended
constexpr std::size_t kMostEnded = 100;  // in one call

std::string digest_of(const OperatorOverride& which) {
  std::string digest;
  core::append_hex(core::sha256(words_of(which.what, which.limit_id, which.when)), digest);
  return digest;
}

std::string sought(const OperatorOverride& which) { return is_sought(which.when) ? "1" : "0"; }

std::string text_of(const OperatorOverride& which) {
  return std::to_string(which.number) + ' ' + encoded(which);
}

void add_end(const OperatorOverride& which, std::vector<std::string>& words) {
  words.insert(words.end(), {digest_of(which), std::to_string(which.number), sought(which)});
}

}  // namespace

// Each answer tells the store's time too.
tl::expected<SharedKeeper::Answered, std::string> SharedKeeper::ask(const std::vector<std::string>& words) {
  auto answer = ask_(words);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (answer->size() < kHead) return tl::unexpected(std::string(kNoAnswer));
  const auto number = core::number_in<std::int64_t>((*answer)[0]);
  const auto s = core::number_in<std::int64_t>((*answer)[1]);
  const auto us = core::number_in<std::int64_t>((*answer)[2]);
  if (!number || !s || !us) return tl::unexpected(std::string(kNoAnswer));
  const nanoseconds ahead = std::chrono::seconds{*s} + microseconds{*us} - wall_();
  if (const nanoseconds off = ahead - this->ahead(); off > kSameClock || off < -kSameClock)
    ahead_.store(ahead.count(), std::memory_order_relaxed);
  answer->erase(answer->begin(), answer->begin() + kHead);
  return Answered{*number, *std::move(answer)};
}

tl::expected<std::uint64_t, std::string> SharedKeeper::take_number(const OverrideBook& book) {
  const auto answer = ask({"number", std::to_string(OverrideBook::before_the_first(random_().k0)),
                           std::to_string(book.next_number() - 1)});
  if (!answer) return tl::unexpected(answer.error());
  if (answer->number < 1) return tl::unexpected(std::string(kNoAnswer));
  return static_cast<std::uint64_t>(answer->number);
}

std::optional<std::string> SharedKeeper::keep(const OverrideBook& book, const OperatorOverride* made,
                                              const std::vector<OverrideBook::Ptr>& ended) {
  if (made != nullptr) return set(book, *made);
  std::vector<std::string> words = {"end"};
  for (const OverrideBook::Ptr& each : ended) add_end(*each, words);
  const auto answer = ask(words);
  if (!answer) return answer.error();
  has_reached(*answer);
  return std::nullopt;
}

std::optional<std::string> SharedKeeper::set(const OverrideBook& book, const OperatorOverride& made) {
  const std::string digest = digest_of(made);
  // What arrives there later than anybody waits for it is not set.
  const auto by = std::chrono::floor<microseconds>(wall_() + ahead() + kPatience);
  const auto answer = ask({"set", digest, std::to_string(made.number), encoded(made), sought(made),
                           std::to_string(OverrideBook::kMost), std::to_string(OverrideBook::kMostSought),
                           std::to_string(by.count())});
  if (!answer) {
    const OverrideBook::Ptr before = book.find(words_of(made.what, made.limit_id, made.when));
    to_undo_.push_back(
        {"undo", digest, std::to_string(made.number), before ? text_of(*before) : "", sought(made)});
    return answer.error();
  }
  if (answer->number == 0) return kNoAnswer;
  if (answer->number < 0) {
    const std::string some = answer->number == -1 ? " overrides" : " overrides with a pattern or a CIDR";
    return (answer->rest.empty() ? "too many" : answer->rest[0]) + some + " are in force: lift some first";
  }
  known_[digest] = made.number;
  has_reached(*answer);
  return std::nullopt;
}

// No store that has all that was changed here is at an earlier version.
void SharedKeeper::has_reached(const Answered& answer) {
  if (!answer.rest.empty())
    reached_ = std::max(reached_, core::number_in<std::int64_t>(answer.rest[0]).value_or(-1));
}

void SharedKeeper::forget(const std::vector<OverrideBook::Ptr>& ended) {
  for (const OverrideBook::Ptr& each : ended)
    if (to_forget_.size() < kMostForgotten * kOfEnd) add_end(*each, to_forget_);
}

// What could not be done while the store did not answer, or why it cannot yet.
std::optional<std::string> SharedKeeper::make_up() {
  while (!to_undo_.empty()) {
    if (auto answer = ask(to_undo_.back()); !answer) return std::move(answer.error());
    to_undo_.pop_back();
  }
  while (!to_forget_.empty()) {
    const std::size_t some = std::min(to_forget_.size(), kMostEnded * kOfEnd);
    std::vector<std::string> words = {"end"};
    words.insert(words.end(), to_forget_.end() - static_cast<std::ptrdiff_t>(some), to_forget_.end());
    if (auto answer = ask(words); !answer) return std::move(answer.error());
    to_forget_.resize(to_forget_.size() - some);
  }
  return std::nullopt;
}

tl::expected<Keeper::Changes, std::string> SharedKeeper::changes() {
  if (auto why = make_up()) return tl::unexpected(*std::move(why));
  Changes changes;
  for (bool more = true; more;) {
    auto answer = ask({"since", std::to_string(version_)});
    if (!answer) return tl::unexpected(std::move(answer.error()));
    if (answer->number < 0) return whole();
    for (std::size_t i = 0; i + 1 < answer->rest.size(); i += 2)
      take(answer->rest[i], answer->rest[i + 1], changes);
    version_ = answer->number;
    more = answer->rest.size() == 2 * kAtOnce;
  }
  return version_ < reached_ ? whole() : changes;
}

// What changes meanwhile is found by the next look, which begins at the version before.
tl::expected<Keeper::Changes, std::string> SharedKeeper::whole() {
  auto before = ask({"since", "-1"});
  if (!before) return tl::unexpected(std::move(before.error()));
  const auto version = !before->rest.empty() ? core::number_in<std::int64_t>(before->rest[0]) : std::nullopt;
  if (!version) return tl::unexpected(std::string(kNoAnswer));
  Changes changes{.whole = true, .older = std::max(version_, reached_) > *version || version_ == kOlder};
  std::unordered_map<std::string, std::uint64_t> old = std::exchange(known_, {});
  std::int64_t seen = *version;
  std::string cursor = "0";
  do {
    auto page = ask({"page", cursor});
    if (!page || page->rest.empty()) {
      known_ = std::move(old);
      version_ = changes.older ? kOlder : -1;
      return tl::unexpected(page ? std::string(kNoAnswer) : std::move(page.error()));
    }
    seen = std::max(seen, page->number);
    cursor = page->rest[0];
    for (std::size_t i = 1; i + 1 < page->rest.size(); i += 2)
      take(page->rest[i], page->rest[i + 1], changes);
  } while (cursor != "0");
  version_ = *version;
  reached_ = seen;
  return changes;
}

void SharedKeeper::take(const std::string& digest, const std::string& text, Changes& into) {
  if (text.empty()) {
    const auto known = known_.find(digest);
    if (known == known_.end()) return;
    into.ended.push_back(known->second);
    known_.erase(known);
    return;
  }
  auto read = decoded(std::string_view(text).substr(std::min(text.find(' ') + 1, text.size())));
  if (!read) return;  // of a later version, or somebody else's
  known_[digest] = read->number;
  into.set.push_back(*std::move(read));
}

}  // namespace weir::steering
