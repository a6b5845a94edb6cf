#include "rls/held_limits.hpp"

#include <algorithm>

#include "rls/file_descriptor.hpp"

namespace weir::inline v0_1::rls {
namespace {

// Wrong where it cannot be held.
Wrong add(const store::Limit& limit, std::string_view key, std::string_view colocate, std::uint64_t amount,
          HeldLimits& into) {
  if (!core::can_give_back(limit.rule.algorithm)) return Wrong::windows;
  const auto half = static_cast<std::uint64_t>(limit.rule.quota.burst()) / 2;
  const auto same = std::find_if(into.all.begin(), into.all.end(), [&](const HeldLimit& each) {
    return each.limit.id == limit.id && each.key == key;
  });
  if (same != into.all.end()) {
    same->units = std::min(same->units + std::min(amount, half), half);
    return Wrong::nothing;
  }
  if (into.all.size() == store::kMostChecks) return Wrong::limits;
  HeldLimit& held = into.all.emplace_back(HeldLimit{std::string(key), std::string(limit.name),
                                                    std::string(colocate), limit, std::min(amount, half)});
  // What it turned out to cost is charged to each of them.
  held.limit.holding.settles = held.limit.holding.by_actual = true;
  return Wrong::nothing;
}

Wrong add_by_file(RlsLoop& loop, service::Asking& asking, const AskedDescriptor& descriptor,
                  const limits::RlsDomain& domain, std::uint64_t amount, HeldLimits& into) {
  const std::size_t before = loop.asker.size();
  const Wrong wrong = match_by_file(loop, asking, descriptor, domain, into.denied);
  Wrong found = wrong;
  if (wrong == Wrong::nothing && loop.asker.size() > before) {
    for (const store::Check& each : loop.asker[before].checks) {
      if (each.shadow || found != Wrong::nothing) continue;
      found = add(*each.limit, each.key, each.colocate, amount, into);
    }
  }
  while (loop.asker.size() > before) loop.asker.drop_last();
  return found;
}

Wrong add_by_tree(RlsLoop& loop, const AskedDescriptor& descriptor, const limits::Descriptors& trees,
                  const limits::Descriptors::Tree& domain, std::uint64_t amount, HeldLimits& into) {
  using Outcome = limits::DescriptorMeets::Outcome;
  if (loop.matches.empty()) loop.matches.emplace_back();
  limits::DescriptorMatch& match = loop.matches.front();
  trees.match(domain, loop.request.entries(descriptor), descriptor.limit ? &*descriptor.limit : nullptr,
              match);
  if (match.outcome == Outcome::bad_override) return Wrong::unit;
  if (match.outcome != Outcome::limited && match.outcome != Outcome::zero) return Wrong::nothing;
  into.denied = into.denied || (match.outcome == Outcome::zero && !match.shadow_mode);
  if (match.shadow_mode && core::can_give_back(match.limit->rule.algorithm)) return Wrong::nothing;
  return add(*match.limit, match.key, {}, amount, into);
}

}  // namespace

Wrong find_held(RlsLoop& loop, service::Asking& asking, const limits::Descriptors* trees,
                std::uint64_t amount, HeldLimits& into) {
  const std::string_view domain = loop.request.domain();
  const limits::Set* const set = loop.asker.limits();
  const auto* const by_file = set != nullptr ? set->rls(domain) : nullptr;
  const auto* const tree = by_file == nullptr && trees != nullptr ? trees->find(domain) : nullptr;
  if (by_file == nullptr && tree == nullptr) RlsCounts::count(loop.counts.unknown_domain);
  for (const AskedDescriptor& each : loop.request.descriptors()) {
    Wrong wrong = Wrong::nothing;
    if (by_file != nullptr) {
      wrong = add_by_file(loop, asking, each, *by_file, amount, into);
    } else if (tree != nullptr) {
      wrong = add_by_tree(loop, each, *trees, *tree, amount, into);
    }
    if (wrong != Wrong::nothing) return wrong;
  }
  return Wrong::nothing;
}

void keep_held(const HeldLimits& held, service::Question& question) {
  const std::span<store::Check> checks = question.room(held.all.size());
  service::Question::More& more = question.more_of();
  std::vector<store::Limit>& limits = more.whole_of().limits;
  limits.clear();
  limits.reserve(held.all.size());
  more.keys.clear();
  for (const HeldLimit& each : held.all) (more.keys += each.key).append(each.name).append(each.colocate);
  std::string_view rest = more.keys;
  const auto take = [&rest](std::size_t size) {
    const std::string_view text = rest.substr(0, size);
    rest.remove_prefix(size);
    return text;
  };
  for (std::size_t i = 0; i < held.all.size(); ++i) {
    const HeldLimit& each = held.all[i];
    store::Check& check = checks[i];
    store::Limit& limit = limits.emplace_back(each.limit);
    check.key = take(each.key.size());
    limit.name = take(each.name.size());
    check.colocate = take(each.colocate.size());
    check.limit = &limit;
    check.cost = Cost{each.units};
  }
}

}  // namespace weir::rls
