#include "store/charging.hpp"

#include "core/reservation.hpp"

namespace weir::inline v0_1::store {

namespace {

bool is_longer(const Charged& a, const Charged& b) {
  return a.wait != b.wait ? a.wait > b.wait : a.overdraft > b.overdraft;
}

}  // namespace

void Charging::tell(Request& request) const {
  std::uint64_t dropped = 0;
  const Charged* longest = nullptr;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Charged& each = told[i];
    dropped += each.dropped;
    if (request.checks[i].shadow) continue;
    if (longest != nullptr && !(refunds() ? each.charged < longest->charged : is_longer(each, *longest)))
      continue;
    longest = &each;
    request.by = static_cast<std::uint8_t>(i);
  }
  request.charged = true;
  terms.told = longest != nullptr ? *longest : Charged{};
  terms.told.dropped = dropped;
  terms.told.source = request.source;
}

std::optional<std::string> cannot_charge(std::span<const Check> checks, const Outside& outside) {
  for (const Check& check : checks) {
    const Algorithm algorithm = check.limit->rule.algorithm;
    if (core::counts_slots(algorithm))
      return core::to_text(check.limit->rule) + " cannot be charged: a slot is taken by a hold";
    if (outside.form == Outside::Form::pause && !core::can_reserve(algorithm))
      return core::name_of(algorithm) + " cannot be paused: only gcra can";
    if (core::can_overdraw(algorithm)) continue;
    const bool refunds = outside.form == Outside::Form::refund;
    return core::name_of(algorithm) + (refunds ? " cannot be refunded" : " cannot be charged afterwards") +
           ": gcra and fixed windows can";
  }
  return std::nullopt;
}

}  // namespace weir::store
