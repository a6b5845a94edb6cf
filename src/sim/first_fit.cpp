#include "sim/first_fit.hpp"

#include <algorithm>
#include <limits>

namespace weir::inline v0_1::sim {

void FirstFit::grow() {
  const std::size_t before = room();
  std::vector<std::int64_t> larger(std::max<std::size_t>(2, before * 4),
                                   std::numeric_limits<std::int64_t>::min());
  const std::size_t now = larger.size() / 2;
  std::copy(ends_.begin() + static_cast<std::ptrdiff_t>(before), ends_.end(),
            larger.begin() + static_cast<std::ptrdiff_t>(now));
  for (std::size_t i = now - 1; i > 0; --i) larger[i] = std::min(larger[2 * i], larger[2 * i + 1]);
  ends_ = std::move(larger);
}

std::size_t FirstFit::take(std::int64_t begin, std::int64_t end) {
  if (ends_.empty() || ends_[1] > begin) grow();
  std::size_t at = 1;
  while (at < room()) at = 2 * at + (ends_[2 * at] <= begin ? 0 : 1);
  const std::size_t place = at - room();
  ends_[at] = end;
  for (at /= 2; at > 0; at /= 2) ends_[at] = std::min(ends_[2 * at], ends_[2 * at + 1]);
  if (place >= most_) {
    most_ = static_cast<std::uint32_t>(place + 1);
    most_at_ = begin;
  }
  return place;
}

std::int64_t FirstFit::free_at(std::size_t places) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t from = room(), to = room() + places; from < to; from /= 2, to /= 2) {
    if (from % 2 == 1) least = std::min(least, ends_[from++]);
    if (to % 2 == 1) least = std::min(least, ends_[--to]);
  }
  return least;
}

std::vector<AtOnce> greatest_at_once(const logs::Pieces<FirstFit>& clients,
                                     const std::function<std::string(std::uint32_t client)>& name,
                                     std::size_t how_many) {
  std::vector<std::uint32_t> all(clients.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(all.size(), how_many));
  std::partial_sort(all.begin(), all.begin() + shown, all.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (clients[a].most() != clients[b].most()) return clients[a].most() > clients[b].most();
    if (clients[a].most_at() != clients[b].most_at()) return clients[a].most_at() < clients[b].most_at();
    return name(a) < name(b);
  });
  std::vector<AtOnce> greatest;
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const std::uint32_t client = all[static_cast<std::size_t>(i)];
    if (clients[client].most() == 0) break;  // a client of whom nothing was asked about
    greatest.push_back({name(client), client, clients[client].most(), clients[client].most_at()});
  }
  return greatest;
}

}  // namespace weir::sim
