#include "steering/override_book.hpp"

namespace weir::inline v0_1::steering {

std::optional<std::string> OverrideBook::refuses(limits::Steer what, std::string_view limit_id,
                                                 const Selector& when) const {
  if (by_words_.contains(words_of(what, limit_id, when))) return std::nullopt;
  if (all_.size() >= kMost) return std::to_string(all_.size()) + " overrides are in force: lift some first";
  if (is_sought(when) && sought_ >= kMostSought)
    return std::to_string(sought_) + " overrides with a pattern or a CIDR are in force: lift some first";
  return std::nullopt;
}

void OverrideBook::set(OperatorOverride made) {
  skip_to(made.number);
  std::string words = words_of(made.what, made.limit_id, made.when);
  if (const Ptr before = find(words)) end(before->number);
  const std::uint64_t number = made.number;
  by_words_[std::move(words)] = number;
  of_limit_[made.limit_id].insert(number);
  ends_.emplace(made.until, number);
  sought_ += is_sought(made.when) ? 1 : 0;
  all_.emplace(number, std::make_shared<const OperatorOverride>(std::move(made)));
}

OverrideBook::Ptr OverrideBook::end(std::uint64_t number) {
  const auto found = all_.find(number);
  if (found == all_.end()) return nullptr;
  Ptr ended = found->second;
  by_words_.erase(words_of(ended->what, ended->limit_id, ended->when));
  const auto of = of_limit_.find(ended->limit_id);
  of->second.erase(number);
  if (of->second.empty()) of_limit_.erase(of);
  ends_.erase({ended->until, number});
  sought_ -= is_sought(ended->when) ? 1 : 0;
  all_.erase(found);
  return ended;
}

std::vector<OverrideBook::Ptr> OverrideBook::ended(limits::Time now) const {
  std::vector<Ptr> found;
  for (const auto& [until, number] : ends_) {
    if (until > now) break;
    found.push_back(all_.at(number));
  }
  return found;
}

OverrideBook::Ptr OverrideBook::find(std::uint64_t number) const {
  const auto found = all_.find(number);
  return found == all_.end() ? nullptr : found->second;
}

OverrideBook::Ptr OverrideBook::find(std::string_view words) const {
  const auto found = by_words_.find(std::string(words));
  return found == by_words_.end() ? nullptr : all_.at(found->second);
}

std::vector<OverrideBook::Ptr> OverrideBook::list(std::string_view limit_id, std::uint64_t after,
                                                  std::size_t most) const {
  std::vector<Ptr> found;
  if (limit_id.empty()) {
    for (auto at = all_.upper_bound(after); at != all_.end() && found.size() < most; ++at)
      found.push_back(at->second);
    return found;
  }
  const auto of = of_limit_.find(std::string(limit_id));
  if (of == of_limit_.end()) return found;
  for (auto at = of->second.upper_bound(after); at != of->second.end() && found.size() < most; ++at)
    found.push_back(all_.at(*at));
  return found;
}

}  // namespace weir::steering
