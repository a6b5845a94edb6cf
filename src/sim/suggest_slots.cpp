#include "sim/suggest_slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace weir::inline v0_1::sim {

void SuggestSlots::take(const logs::Event& event) {
  while (event.client >= clients_.size()) clients_.add();
  const std::size_t place =
      clients_[event.client].take(event.ns, std::max(event.ns, static_cast<std::int64_t>(event.cost)));
  if (place >= took_.size()) took_.resize(place + 1);
  ++took_[place];
}

std::uint64_t SuggestSlots::denied(std::size_t slots) const {
  std::uint64_t sum = 0;
  for (std::size_t place = slots; place < took_.size(); ++place) sum += took_[place];
  return sum;
}

std::uint64_t SuggestSlots::clients_denied(std::size_t slots) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < clients_.size(); ++i) count += clients_[i].most() > slots ? 1 : 0;
  return count;
}

std::size_t SuggestSlots::slots_for_requests(std::uint64_t may_be_denied) const {
  std::uint64_t sum = 0;
  std::size_t slots = took_.size();
  while (slots > 1 && (sum += took_[slots - 1]) <= may_be_denied) --slots;
  return std::max<std::size_t>(1, slots);
}

std::size_t SuggestSlots::slots_for(const Criterion& criterion) const {
  if (criterion.kind == Criterion::Kind::requests) return slots_for_requests(criterion.most);
  std::vector<std::size_t> needed;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (criterion.kind != Criterion::Kind::good || criterion.good[i]) needed.push_back(clients_[i].most());
  }
  if (criterion.most >= needed.size()) return 1;
  const auto place = needed.begin() + static_cast<std::ptrdiff_t>(criterion.most);
  std::nth_element(needed.begin(), place, needed.end(), std::greater<>{});
  return std::max<std::size_t>(1, *place);
}

void SuggestSlots::fill(SuggestReport& report, const Criterion* criterion,
                        const std::function<std::string(std::uint32_t client)>& name) const {
  const auto add = [&](std::string when, std::size_t slots) {
    report.in_flight.push_back({std::move(when), slots, denied(slots), clients_denied(slots)});
  };
  if (criterion != nullptr) add("the criterion", slots_for(*criterion));
  add("no request", slots_for_requests(0));
  constexpr std::array kInThousand{1, 10, 100};
  for (const int each : kInThousand)
    add(fmt::format("{:g} % of the requests", each / 10.0),
        slots_for_requests(report.requests * static_cast<std::uint64_t>(each) / 1000));
  constexpr std::size_t kShown = 10;
  report.at_once = greatest_at_once(clients_, name, kShown);
}

}  // namespace weir::sim
