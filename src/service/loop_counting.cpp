#include "service/loop_counting.hpp"

#include <algorithm>
#include <string>

#include "core/random.hpp"
#include "core/siphash.hpp"
#include "limits/match.hpp"
#include "steering/shown_key.hpp"

namespace weir::inline v0_1::service {
namespace {

// The windows of one limit among the checks of a question.
struct LimitGroup {
  limits::Index limit = limits::kNone;
  const store::Check* first = nullptr;  // that is charged its cost; null: none is
  bool denies = false;
};

bool denies_alone(const store::Check& check) { return !check.shadow && !check.decision.allowed(); }

// Those that are a guarantee's own state say nothing of their limit, and neither does a shadow.
template <class Each>
void for_each_limit(const Question& question, const Each& each) {
  const limits::Matched& matched = question.more->matched;
  const std::span<const store::Check> checks = question.checks;
  const std::size_t count = std::min(matched.count, checks.size());
  for (std::size_t i = 0; i < count;) {
    LimitGroup group{.limit = matched.limit_of[i]};
    for (; i < count && matched.limit_of[i] == group.limit; ++i) {
      if (checks[i].shadow) continue;
      if (group.first == nullptr || core::counts_slots(group.first->limit->rule.algorithm))
        group.first = &checks[i];
      group.denies = group.denies || denies_alone(checks[i]);
    }
    if (group.first != nullptr) each(group);
  }
}

std::uint64_t units_of(const store::Check& check) {
  // A grant takes one slot, whatever it costs.
  const bool takes_one = core::counts_slots(check.limit->rule.algorithm) && check.cost.units > 1;
  return takes_one ? 1 : check.cost.units;
}

}  // namespace

LoopCounting::LoopCounting(Counting& all, bool has_hashes) : all_(all), has_hashes_(has_hashes) {
  if (all.options().top.entries == 0) return;
  top_.emplace(all.options().top, all.start());
  all_.join(*top_);
}

LoopCounting::~LoopCounting() {
  if (top_) all_.leave(*top_);
}

steering::UnitSample LoopCounting::sample() const {
  return top_ ? steering::UnitSample(all_.options().top.sample, core::random_key().k0 | 1)
              : steering::UnitSample();
}

void LoopCounting::count(const Question& question, const limits::Set* set, bool allowed,
                         steering::UnitSample& sample, std::chrono::nanoseconds now) {
  if (!top_) return;
  question.by_file ? count_file(question, *set, allowed, sample, now)
                   : count_inline(question, allowed, sample, now);
}

std::uint64_t LoopCounting::hash_of(std::uint64_t limit, std::string_view key) const {
  const core::HashKey seed = all_.seed();
  return core::siphash<1, 3>({seed.k0, seed.k1 ^ limit}, key);
}

void LoopCounting::count_inline(const Question& question, bool allowed, steering::UnitSample& sample,
 std::chrono::nanoseconds now) {
  for (const store::Check& check : question.checks) {
    const auto name = [&check](steering::SpaceSaving::Entry& entry) {
      if (entry.limit != kInline) entry.limit = kInline;
      steering::shorten_key(check.key, entry.key);
    };
    if (check.decision.allowed() && (!allowed || sample.misses(check.cost.units))) continue;
    const std::uint64_t hash = has_hashes_ ? check.hash : hash_of(0, check.key);
    if (check.decision.allowed()) {
      top_->charge(hash, sample.take(check.cost.units), now, name);
    } else {
      top_->deny(hash, now, name);
    }
  }
}

void LoopCounting::count_file(const Question& question, const limits::Set& set, bool allowed,
                              steering::UnitSample& sample, std::chrono::nanoseconds now) {
  for_each_limit(question, [&](const LimitGroup& group) {
    if (!group.denies && (!allowed || sample.misses(units_of(*group.first)))) return;
    const limits::Set::CompiledLimit& limit = set.limits()[group.limit];
    const std::string_view key = group.first->key;
    const auto name = [&](steering::SpaceSaving::Entry& entry) {
      entry.limit = limit.said->name;
      steering::shorten_key(limits::key_text(*limit.said, key, question.more->matched), entry.key);
    };
    const std::uint64_t hash = hash_of(limit.shown_as, key);
    if (group.denies) {
      top_->deny(hash, now, name);
    } else {
      top_->charge(hash, sample.take(units_of(*group.first)), now, name);
    }
  });
}

}  // namespace weir::service
