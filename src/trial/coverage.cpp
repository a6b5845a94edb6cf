#include "trial/coverage.hpp"

#include <algorithm>

#include "limits/limit_keys.hpp"
#include "limits/values.hpp"

namespace weir::inline v0_1::limits {
namespace {

std::string numbered(const std::string& path, std::size_t number) {
  return path + "[" + std::to_string(number) + "]";
}

}  // namespace

Coverage::Coverage(std::shared_ptr<const File> file) : file_(std::move(file)) {
  for (const List& list : file_->lists) {
    std::vector<At>& entries = lists_.emplace_back();
    const std::string path = "lists." + list.name;
    if (!list.file.empty()) {
      entries.push_back(item(path, "met", list.place));
      continue;
    }
    for (const ListEntry& entry : list.entries)
      entries.push_back(item(path + "." + entry.text, "met", entry.place));
  }
  for (const NamedLimit& limit : file_->limits) {
    const std::string path = "limits." + limit.name;
    OfLimit& of = limits_.emplace_back(OfLimit{both(path, limit.place), {}, {}});
    if (limit.windows.size() > 1) {
      for (std::size_t i = 0; i < limit.windows.size(); ++i)
        of.windows.push_back(both(numbered(path + ".rate", i), limit.windows[i].place));
    }
    for (std::size_t i = 0; i < limit.overrides.size(); ++i) {
      of.overrides.push_back(item(numbered(path + ".overrides", i), "met", limit.overrides[i].place));
    }
    for (const LimitKey& each : limit_keys()) {
      if (each.whens != nullptr) each.whens(limit, [this](const When& when) { asks(when); });
    }
  }
  for (std::size_t i = 0; i < file_->routes.size(); ++i) {
    routes_.push_back(file_->routes[i].place.line == 0
                          ? all_.size()
                          : item(numbered("routes", i), "met", file_->routes[i].place));
    asks(file_->routes[i].when);
  }
}

Coverage::At Coverage::item(std::string path, std::string what, Position place) {
  all_.push_back({std::move(path), std::move(what), place});
  return all_.size() - 1;
}

Coverage::Both Coverage::both(const std::string& path, Position place) {
  const At allowed = item(path, "allowed", place);
  return {allowed, item(path, "denied", place)};
}

void Coverage::asks(const When& when) {
  for (const Condition& condition : when) {
    for (const Index list : condition.lists) asks_.push_back({condition.attribute, list});
  }
}

void Coverage::saw(const Both& which, bool allowed) {
  all_[allowed ? which.allowed : which.denied].done = true;
}

void Coverage::add_met(const Trace& trace) {
  // A route that the file does not have is not an item.
  if (trace.route != kNone && routes_[trace.route] < all_.size()) all_[routes_[trace.route]].done = true;
  for (const TraceStep& step : trace.steps) {
    if (step.override_of != kNone) all_[limits_[step.limit].overrides[step.override_of]].done = true;
  }
}

void Coverage::add_decided(const Trace& trace, std::span<const store::Check> decided) {
  std::size_t next = 0;
  for (const TraceStep& step : trace.steps) {
    const OfLimit& limit = limits_[step.limit];
    if (step.what == TraceStep::What::denied) saw(limit.whole, false);
    if (step.what == TraceStep::What::exempt) saw(limit.whole, true);
    if (step.what != TraceStep::What::counted || next == decided.size()) continue;
    const bool allowed = decided[next++].decision.allowed();
    if (step.window == kNone) continue;
    saw(limit.whole, allowed);
    if (!limit.windows.empty()) saw(limit.windows[step.window], allowed);
  }
}

void Coverage::add_values(std::span<const Attribute> attributes) {
  for (const Asks& each : asks_) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&each](const Attribute& one) { return one.name == each.attribute; });
    if (found == attributes.end()) continue;
    const AttributeValue value(found->value);
    const List& list = file_->lists[each.list];
    const std::vector<At>& items = lists_[each.list];
    for (std::size_t i = 0; i < list.entries.size(); ++i) {
      Covered& item_of = all_[items[std::min(i, items.size() - 1)]];
      if (!item_of.done && ValueSet(std::span(&list.entries[i], 1)).has(value)) item_of.done = true;
    }
  }
}

std::size_t Coverage::done() const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [](const Covered& each) { return each.done; }));
}

}  // namespace weir::limits
