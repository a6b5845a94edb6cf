#include "service/decision_counts.hpp"

#include <algorithm>
#include <utility>

#include "store/check_rules.hpp"

namespace weir::inline v0_1::service {
namespace {

template <class From, class To>
void add(const From& from, To& to) {
  const auto value = [](const auto& number) { return static_cast<std::uint64_t>(number); };
  for (std::size_t i = 0; i < to.decisions.size(); ++i) {
    for (std::size_t j = 0; j < to.decisions[i].size(); ++j)
      to.decisions[i][j] += value(from.decisions[i][j]);
    to.cost[i] += value(from.cost[i]);
  }
  to.banned += value(from.banned);
  to.near += value(from.near);
  to.skipped += value(from.skipped);
}

}  // namespace

void DecisionCounts::adopt(const limits::Set& set) {
  const limits::File& file = set.file();
  const bool same_classes = classes_ == file.classes;
  const detail::Held lock(mutex_);
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Numbers>> rows;
  for (const limits::NamedLimit& limit : file.limits) {
    const auto before = std::find(names_.begin(), names_.end(), limit.name);
    names.push_back(limit.name);
    const bool keep = same_classes && before != names_.end();
    rows.push_back(keep ? std::move(rows_[static_cast<std::size_t>(before - names_.begin())])
                        : std::make_unique<Numbers>());
  }
  serial_ = set.serial();
  classes_ = file.classes;
  names_ = std::move(names);
  rows_ = std::move(rows);
}

DecisionCounts::Numbers* DecisionCounts::row_of_former(const limits::Set& set, limits::Index limit) {
  assert_ours();
  const auto now = std::find(names_.begin(), names_.end(), set.file().limits[limit].name);
  return now == names_.end() ? nullptr : rows_[static_cast<std::size_t>(now - names_.begin())].get();
}

std::size_t DecisionCounts::find_cause(std::string_view cause) const {
  assert_ours();
  const auto known = std::find(causes_.begin(), causes_.end(), cause);
  return known != causes_.end() ? static_cast<std::size_t>(known - causes_.begin()) : kMostCauses;
}

std::size_t DecisionCounts::cause_number(std::string_view cause) {
  const std::size_t known = find_cause(cause);
  if (known < kMostCauses) return known;
  const detail::Held lock(mutex_);
  if (causes_.size() == kMostCauses) return kMostCauses - 1;
  causes_.emplace_back(cause);
  return causes_.size() - 1;
}

void DecisionCounts::count(const limits::Set& set, const limits::Matched& matched,
                           const store::Request* answered) {
  if (set.serial() > serial_) adopt(set);
  const std::size_t of_class = matched.class_of < limits::kMostClasses ? matched.class_of : 0;
  for (const limits::Index each : matched.skipped_of) {
    if (Numbers* row = row_of(set, each)) grow(row->skipped);
  }
  if (matched.outcome == limits::Matched::Outcome::refused) {
    if (Numbers* row = row_of(set, matched.refused_by)) {
      say(*row, Said::listed, {.of_class = of_class});
      if (matched.ban != nullptr) grow(row->banned);
    }
    return;
  }
  if (answered == nullptr || answered->fault != Fault::none) return;
  const std::string_view cause = cause_of(*answered);
  for (std::size_t i = 0; i < matched.count;) {
    // The windows of a limit stand side by side; the gravest of their verdicts is the limit's.
    const limits::Index limit = matched.limit_of[i];
    Numbers* row = row_of(set, limit);
    Said said = Said::allowed;
    std::uint64_t cost = 0;
    bool counts = false;
    bool near = false;
    for (; i < matched.count && matched.limit_of[i] == limit; ++i) {
      const store::Check& check = answered->checks[i];
      // A guarantee's own state says nothing of its limit.
      if (check.shadow && store::is_guarantee(answered->checks, i)) continue;
      said = std::max(said, said_by(check));
      cost = check.cost.units;
      near = near || is_near(check.decision);
      counts = true;
    }
    if (row != nullptr && counts) say(*row, said, {of_class, cost, near, cause});
  }
}

void DecisionCounts::add_to(Total& total) const {
  const detail::Held lock(mutex_);
  const auto add_causes = [&](const Numbers& from, Counted& to) WEIR_REQUIRES(mutex_) {
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      const auto known = std::find(total.causes.begin(), total.causes.end(), causes_[i]);
      const auto number = static_cast<std::size_t>(known - total.causes.begin());
      to.fallbacks[std::min(number, kMostCauses - 1)] += from.fallbacks[i].load(std::memory_order_relaxed);
    }
  };
  for (const std::string& cause : causes_) {
    if (total.causes.size() < kMostCauses &&
        std::find(total.causes.begin(), total.causes.end(), cause) == total.causes.end())
      total.causes.push_back(cause);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Counted& to = total.limits[names_[i]];
    add(*rows_[i], to);
    add_causes(*rows_[i], to);
  }
  add(inline_, total.inline_limits);
  add_causes(inline_, total.inline_limits);
  took_.add_to(total.took);
}

}  // namespace weir::service
