// The seam between those that ask and those that count: may these keys spend this cost under these limits?
//
// A front end fills Requests and submits them; a Store (the embedded table, a Redis, a queue around either)
// answers each of them exactly once, in place. Nothing above this header knows which store it is, and nothing
// below it knows a protocol.
//
// One thread: a Store and the requests given to it belong to one event loop, except where a store says
// otherwise. The clock is handed in.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/overdraft.hpp"
#include "core/penalty.hpp"
#include "core/rule.hpp"
#include "weir/decision.hpp"
#include "weir/memory.hpp"
#include "weir/source.hpp"

namespace weir::inline v0_1::store {

// How a store that is shared keeps a limit; a store of this process needs none of it.
struct Sharing {
  std::uint64_t lease = 0;  // above 1: units taken ahead at a time
  std::chrono::nanoseconds lease_for = std::chrono::seconds{1};
  bool merge = false;  // checks of one key travel together: they wait for the one that is under way
  // A denial of its window that is remembered is so to the window's end, as no server resets its keys.
  bool remembers_to_the_end = false;
};

// As far as no limit says less, an open hold is extended by that at the longest.
constexpr std::chrono::nanoseconds kLongestExtension = std::chrono::hours{24};

// What of a limit can be settled: charged what a reservation turned out to cost.
struct Holding {
  bool settles = true;  // false: a settlement leaves this limit alone
  // A settlement that names no limit says what it cost here; where none is so, at all that settle.
  bool by_actual = true;
  // Of the units whose reservations may still be settled, at most that many at a time for each key.
  std::uint64_t at_most = ~std::uint64_t{0};
  std::chrono::nanoseconds longest = kLongestExtension;  // that an open hold may be extended to, from then on
};

// A rule, its identity, and what happens when the store fails.
struct Limit {
  core::Rule rule;
  // Hashed with the key, so that two limits never share a state. It comes from the limit's name and never
  // from its numbers: those may change without a debt being forgotten. 0: the limit has no name, and the key
  // alone says which state is meant; such a key is for one algorithm, as not every store tells them apart.
  std::uint64_t id = 0;  // below 2^56
  // With an id: the same for people and for shared stores, which put it before the key. It says which limit,
  // window and algorithm, and two limits with different ids have different names.
  std::string_view name{};
  OnStoreError on_store_error = OnStoreError::local;
  double local_share = 0;               // that OnStoreError::local counts of it; 0: the store's own share
  std::optional<WhenFull> when_full{};  // nothing: as the table has it
  Sharing sharing{};
  Holding holding{};
  // Of gcra, and of fixed windows where it is afresh then: for how long nobody acts under the key once it has
  // denied a request (store/penalty.hpp); up to 24 h; none: denials change nothing.
  core::PenaltyTerms penalty{};
};

// One limit that a request must meet, and what came of it.
struct Check {
  const Limit* limit = nullptr;
  std::string_view key{};
  Cost cost{};
  Decision decision{};     // the store's answer
  std::uint64_t hash = 0;  // the store's own
  // In a shared store the keys with equal text here lie together, so that one call can ask for all of them;
  // empty: those with an equal `key`. For limits with a name.
  std::string_view colocate{};
  // Counted and answered, never enforced: it stops no other and never decides. It is charged when it would
  // have allowed and the request passes.
  bool shadow = false;
  // The number of an earlier shadow check of the request, the state of a guarantee: while that one is
  // allowed, this one keeps nothing free (core::Rule::kept), whatever its class; beyond it, it borrows.
  std::uint8_t inside = kNoGuarantee;

  static constexpr std::uint8_t kNoGuarantee = 255;
  bool is_plain() const { return (unsigned{shadow} | (inside ^ unsigned{kNoGuarantee})) == 0; }
};

enum class Verb : std::uint8_t {
  check,  // charge all checks or none; a cost of 0 looks
  look,   // the verdict that `check` would come to now; nothing is charged, and what remains is what is there
  reset,  // forget what was charged to the keys
  charge,  // record what happened outside, whether there was room or not; it has a `charge`
  take,    // charge, of some units, as many as all checks admit, or look how many; it has a `take`
  // The next ones have a `reservation`. Of gcra's and of slots: any other algorithm is Fault::unsuitable.
  // Slots are taken by a reservation with a hold alone, and can be looked at and reset; any other verb that
  // meets them is Fault::unsuitable.
  reserve,  // charge all checks or none for the moment at which all allow; a cost of 0 looks
  moment,   // when a reservation acts, unless a pause lies over its moment; no checks
  cancel,   // take a reservation back before its moment; no checks
  settle,   // charge a reservation what it turned out to cost; no checks
  extend,   // give an open hold another end; no checks
  holds,    // which holds are open of the checks' keys; nothing changes
  // reserve, and the answer comes when the moment has: the one verb that cancel() takes back. Only for
  // waiting/acquiring_store.hpp, which asks another store; for that store itself it is Fault::unsuitable.
  acquire,
};

// The most checks that can be charged all or none. A reset may have any number of keys.
constexpr std::size_t kMostChecks = 16;

// What a reservation turned out to cost at one limit of the limits file.
struct Actual {
  std::string name;                   // for people
  std::vector<std::uint64_t> limits;  // Limit::id of its windows
  std::uint64_t units = 0;
};

// One that is open. Times are from now.
struct OpenHold {
  std::string id;
  std::uint64_t cost = 1;            // what it was charged; of slots alone: 1
  std::chrono::nanoseconds wait{0};  // until its moment; 0: that has come
  std::chrono::nanoseconds ends{0};
  std::string address{};  // whose it is; empty where nobody knows

  static constexpr std::size_t kMost = 1024;
};

// What a cancel or a settlement has changed at one limit.
struct ChangedCharge {
  std::uint64_t limit = 0;  // Limit::id
  std::uint64_t hash = 0;   // of the table's key; 0: it is not the table's
  std::string key{};        // else the asker's key
  std::int64_t units = 0;   // that it was charged more, or below 0 less
};

// Those who stand in line for a key, for one who acts after them: the first of them has a plan for `from`, or
// acted then, and all have acted at `end`, and owe all that they may, if nobody who is told a moment acts in
// between; each who does makes it later.
struct Line {
  std::chrono::nanoseconds from{0};
  std::chrono::nanoseconds end{0};  // 0: nobody stands there
};

// What the verbs about reservations ask beside the checks, and their answers. One or more that are enforced
// and of a class that keeps something free (core::may_wait): as with a max_wait of 0.
struct ReservationTerms {
  // Asked by reserve.
  std::chrono::nanoseconds max_wait{0};  // the furthest moment, from now
  // How long after its moment it can still be settled. Of extend: from now, or from its moment if that is
  // later.
  std::chrono::nanoseconds hold{0};
  bool bound = false;     // a restart ends the hold
  std::string address{};  // where it is asked from, for people
  // Of all verbs: on whose behalf, a connection or an address; each has a share of the memory for
  // reservations. 0: this program's own.
  std::uint64_t client = 0;
  // Asked by reserve, for an acquire: it takes no penalty, and what is to act later is a plan, which can be
  // cancelled until somebody asks for its moment when that has come. By cancel: it asks again, so nobody else
  // is told.
  bool stands_in_line = false;
  std::chrono::nanoseconds stood{
      0};  // then, for how long: one that stands longer goes first in a shared store
  // Asked by reserve, for an acquire that is not the first of its line: a shared store denies it where one
  // that has stood longer has a plan.
  bool follows = false;
  // Asked by reserve, by check; none: nobody stands in a line.
  std::vector<Line> lines{};
  // Asked by reserve: a reservation of the same keys whose moment has not come, which is cancelled as this is
  // decided.
  std::string instead_of{};
  // Asked by moment, cancel, settle and extend: which. Answered by reserve; empty when it was denied, and
  // when it acts now and has no hold: then there is nothing to cancel or to settle. At most 64 of A-Z, a-z,
  // 0-9, - and _; nobody can guess it. It dies with what it charged: by a reset of any of its keys, as far as
  // that key goes.
  std::string id{};
  // Asked by settle: the units that it cost, in each limit's own (Holding::by_actual), or by limit, and then
  // the others cost what they were charged, as all do when nothing is said.
  std::optional<std::uint64_t> actual{};
  std::vector<Actual> actuals{};
  bool tells_changes = false;  // cancel too
  std::chrono::nanoseconds overdraft =
      Outside{}.overdraft;  // what is owed beyond the burst drains within that
  // Asked by holds: that many, up to OpenHold::kMost. Answered: those with the earliest moments, in the order
  // of these, of the OpenHold::kMost of each key that end first.
  std::size_t most = 100;
  std::vector<OpenHold> open{};

  // Answered.
  // By reserve, allowed: until the moment to act; denied: the shortest time after which the same request
  // would be allowed if nobody else came and nothing were given back, and below 0 if no time helps. By
  // settle: until one more unit would be admitted; by moment: until its moment, 0 from then on until its
  // hold's end, without a hold for a minute; both below 0 when there is no such reservation. By extend: until
  // its hold's end, 0 when no such hold is open.
  std::chrono::nanoseconds wait{0};
  // By reserve, denied: how long its limits' open holds alone deny it, the longest, and by which check; below
  // 0 if no time helps.
  std::chrono::nanoseconds full_for{0};
  // By reserve, of one that stands in line and is told a moment: by how much, at most, that comes earlier if
  // what is held at its keys is settled for nothing. It may lie that much further than max_wait.
  std::chrono::nanoseconds sooner_by{0};
  std::uint8_t full_by = 0;
  // By cancel: units; 0 when there is no such reservation, or its moment has come.
  std::uint64_t given_back = 0;
  std::uint64_t dropped = 0;             // by settle: units that it cost and that nobody will owe
  std::vector<ChangedCharge> changes{};  // where they are asked for, of limits that are enforced
};

// Of a charge with Form::cost: where some of its checks are over, they are charged and no others; where none
// is, all are. A check is over when more would be owed than its limit admits; one that costs nothing, when
// more is owed already. That is found out of all before the first is charged, so two may have the same limit
// and key; then they are charged in their order. None is a shadow, is inside another, or keeps anything free.
//
// Each decision tells how its limit stands after its own charge and those before it: denied when more is owed
// than it admits. No denial is a breach.
struct OthersFree {
  // One bit for each check: it is charged and decided as by Verb::check, so that nothing is charged where it
  // does not fit.
  std::uint16_t if_it_fits = 0;
  // The same: it is over as soon as nothing would be left.
  std::uint16_t leaves_one = 0;
};

// What happened outside, and what came of telling it.
struct ChargeTerms {
  // Asked. With Form::remaining `units` are left at each limit; with Form::cost and Form::refund each check
  // has its own.
  Outside outside{};
  std::uint64_t client = 0;  // of a pause: an address. 0: this program's own
  std::optional<OthersFree> others_free{};
  // Of Form::cost and Form::refund: whether something may happen hangs on the answer, so that each decision
  // tells how its limit stands. A table that has no room for the key decides by the limit's when_full; what
  // is only reported is lost then. With others_free it is always so.
  bool decides = false;
  // Of Form::cost that asks: a denial by windows that a shared store remembers may be the answer, and then
  // nothing is charged. Not for reports, nor where what is denied may be given back: it would be a unit that
  // nobody was charged.
  bool recalls = false;

  bool asks() const { return decides || others_free; }

  // Answered, of the check `by`: of the one with the longest wait, of those the one with the most owed; of a
  // refund, of the one that gave back least. Where it asks() the decisions are the answer instead.
  Charged told{};  // what is dropped is of all of them
};

// As much as there is of some units, and what came of asking for it. A shadow check limits nothing.
struct TakeTerms {
  // Asked. At most and at least that many units, 1 <= least <= most, and what one of them costs at each
  // check.
  std::uint64_t most = 1;
  std::uint64_t least = 1;
  std::array<std::uint64_t, kMostChecks> unit{};
  bool looks = false;  // nothing is charged

  // Answered. The greatest number that every enforced check admits; 0 when that is less than the least, and
  // the decisions are then about the least. Each check's cost is what it was decided for.
  std::uint64_t granted = 0;
};

// One question and its answer. It stays where it is until it is answered or cancelled, and so do its checks;
// the keys' bytes and the limits are needed only until submit() returns, and again during give_back(). Once
// answered or cancelled it may be submitted again. Derive from it for what belongs to the asker.
struct Request {
  enum class State : std::uint8_t {
    idle,       // not submitted yet, or cancelled
    submitted,  // the store has it
    answered,
  };

  // Filled by the asker. No two checks of a request have the same limit (its id) and key: that is
  // Fault::unsuitable, but with OthersFree.
  std::span<Check> checks{};
  Verb verb = Verb::check;
  // Filled by the store, as are those at the end; here they take no room of their own.
  State state = State::idle;
  // A check that passes: what it costs was charged to all that allowed it, which are all but shadow checks.
  bool charged = false;
  std::uint8_t by = 0;  // the enforced check that decides: core's order of severity (core::deciding)
  Source source = Source::store;  // who decided
  Fault fault = Fault::none;      // why nobody could; the decisions say nothing then
  // Of the asker again.
  ReservationTerms* reservation = nullptr;  // of the verbs that have one, and the asker's as the checks are
  ChargeTerms* charge = nullptr;            // of the verb that has it, and the same
  TakeTerms* take = nullptr;                // of the verb that has it, and the same
  // The longest that the answer may take, from `when.now` of submit(); 0: as the store does otherwise.
  std::chrono::nanoseconds patience{0};
  // Called once, by the store's thread, when the answer comes after submit() has returned; never from inside
  // it, and not after cancel(). It may submit, cancel and destroy requests, this one too.
  void (*on_answer)(Request&) = nullptr;
  void* context = nullptr;  // the asker's own: on_answer finds it by that

  // Filled by the store.
  std::chrono::nanoseconds charged_at{0};  // on the store's clock, for give_back()
  std::string why{};                       // with a fault: a sentence for people
  void* ticket = nullptr;                  // the store's own while it has the request
  std::uint32_t forgotten = 0;             // of a reset: keys that had something to forget

  const Decision& decision() const { return checks[by].decision; }
  // It passes: no enforced check stops it.
  bool allowed() const { return fault == Fault::none && (decision().allowed() || checks[by].shadow); }
};

// When a batch of requests came and what time it is, on the clock of the store's owner.
struct Arrival {
  std::chrono::nanoseconds arrived;  // since when its requester has been waiting; at most `now`
  std::chrono::nanoseconds now;
};

class Store {
 public:
  virtual ~Store() = default;

  // Answers each request once: those whose state is `answered` when submit() returns at once, the others
  // later, by on_answer. Requests that have a key of a limit in common are decided in the order in which they
  // came, within a batch and from one batch to the next; they need not be answered in that order. Exceptions:
  // a remembered denial is told at once; requests of several checks, looks, takes and resets overtake checks
  // that wait to be merged. Each decision is what its check would have been told alone, but that one
  // which allows what others deny tells what is there without it; when the source is `remembered`, only the
  // one that decides is known. A whole read buffer is one call.
  virtual void submit(std::span<Request* const> batch, Arrival when) = 0;

  // The asker of a submitted request has gone: on_answer is not called, and the request is idle and the
  // asker's again when cancel() returns. What has been charged by then, or is being charged, stays charged.
  virtual void cancel(Request& pending) = 0;

  // Takes back what an answered request has charged, as far as it has not drained since: what drained
  // is what others were admitted for meanwhile. Nothing when the limit's numbers have changed since, or when
  // its algorithm cannot give back (core::can_give_back). At most once for each request, whose checks must
  // have their keys and limits again.
  virtual void give_back(const Request& charged, std::chrono::nanoseconds now) = 0;
};

}  // namespace weir::store
