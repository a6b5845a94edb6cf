// Decides what the shared store does not: the limit says whether the embedded store of this process counts it
// (OnStoreError::local), or the answer is always yes, or always no.
//
// The embedded store counts by GCRA whatever the limit's algorithm, and a share of its numbers: each machine
// then counts alone. It does not begin at rest: owe() leaves there what the shared store has answered, so
// that the fallback continues from the last debt that this process has seen of a key. Slots are this
// process's own meanwhile: the holds that are open in the shared store are not among them.
//
// One thread, as the store that has it; the embedded store is for all threads and must outlive this.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/embedded_store.hpp"
#include "store/store.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::redis {

class Fallback {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `share`, above 0 and at most 1, is the part of each limit that this process may admit, where a limit does
  // not say another: its interval is that much longer, and its burst that much smaller, but one unit at
  // least. What a class keeps free is scaled like the burst, but leaves it one unit.
  Fallback(store::EmbeddedStore& embedded, double share) : embedded_(embedded), share_(share) {}

  // The hash of a check that needed no counting: nothing to give back.
  static constexpr std::uint64_t kUncounted = 1;

  // What needs no counting; nothing when it is to be counted.
  static std::optional<Decision> uncounted(const store::Limit& limit, Cost cost);
  // Counts all or none, looks, or charges by `terms`, with others_free; fills each check's decision and hash.
  // Returns whether nothing stops them.
  bool count(std::span<store::Check> checks, nanoseconds now, store::Verb verb = store::Verb::check,
             store::ChargeTerms* terms = nullptr);
  // Looks, by what each limit says; fills each check's decision.
  void look(std::span<store::Check> checks, nanoseconds now);
  // Reserves here: the id in `asked` is of this process, and dies with it. Fills the rest of `asked` too.
  struct Reserved {
    bool charged = false;
    std::uint8_t by = 0;
    Fault fault = Fault::none;
    std::string why{};
  };
  Reserved reserve(std::span<store::Check> checks, store::ReservationTerms& asked, nanoseconds now);
  // As much of it as there is here; the checks cost what the least costs, and then what was granted. Whether
  // it was charged.
  bool take(std::span<store::Check> checks, store::TakeTerms& asked, nanoseconds now);
  // What happened outside is owed here, by the share of its limit that counts here; where it `decides`, the
  // check has its decision.
  Charged charge(store::Check& check, Outside outside, bool decides, nanoseconds now);
  // Cancels or settles what reserve() has given the id of.
  void undo(store::Request& request, nanoseconds now);
  // What count() charged at `charged_at`: the checks with a hash of its.
  void give_back(std::span<const store::Check> charged, nanoseconds charged_at, nanoseconds now);

  // The shared store has just answered this by this rule, and the answer has come: the key owes here at least
  // as much. A share of the limit owes the same share of its debt, so that all processes together have left
  // what the store had. A key that finds no room in the embedded store is left out.
  void owe(const store::Limit& limit, const core::Rule& rule, std::string_view key, const Decision& answer,
           nanoseconds now);
  // What is here of a key: what was counted, reserved and owed, and its slots.
  struct Hashes {
    std::uint64_t rate;
    std::uint64_t slots;
  };
  Hashes hashes_of(const store::Limit& limit, std::string_view key) const;
  void forget(const Hashes& key, nanoseconds now);

 private:
  double share_of(const store::Limit& limit) const {
    return limit.local_share > 0 ? limit.local_share : share_;
  }
  const Quota& scaled(const Quota& quota, double share);
  core::Rule scaled(const store::Limit& limit);
  core::Rule scaled_slots(const store::Limit& limit) const;
  std::uint64_t hash_of(const store::Limit& limit, std::string_view key) const;
  struct Here;

  store::EmbeddedStore& embedded_;
  double share_;
  // The quotas that were scaled last.
  struct Scaled {
    Quota whole;
    double by;
    Quota share;
  };
  static constexpr std::size_t kScaled = 16;
  std::vector<Scaled> scaled_;
  std::size_t next_ = 0;
};

// What an answer says is owed, in the present T of the quota: all of it, what was booked ahead too; a
// window's used units, as GCRA counts them; and the units of a debt that drains at a former pace.
std::chrono::nanoseconds debt_of(const core::Rule& rule, const Decision& answer);

}  // namespace weir::redis
