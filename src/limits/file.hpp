// What a limits file says, once it has been read and found right: plain data, in the order of the file.
//
// Immutable after reading, so any thread may look at it. It owns everything; things name each other by their
// index. Whatever the file leaves out has its default here, except where a field says that it may be unsaid.
// docs/limits.md is the reference. Not for: deciding quickly (that is compiled from this).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.hpp"
#include "core/penalty.hpp"
#include "core/rule.hpp"
#include "weir/quota.hpp"
#include "weir/source.hpp"

namespace weir::inline v0_1::limits {

// A line and a column, in characters, both from 1. Line 0: it stands nowhere.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend constexpr auto operator<=>(const Position&, const Position&) = default;
};

using Index = std::uint32_t;
constexpr std::size_t kMostClasses = 6;
constexpr Index kNone = std::numeric_limits<Index>::max();
constexpr std::uint64_t kMostUnits = std::numeric_limits<std::int64_t>::max();  // of a cost or a burst

using Time = std::chrono::sys_time<std::chrono::nanoseconds>;
constexpr Time kNever = Time::max();    // of an end: there is none
constexpr Time kLongAgo = Time::min();  // of an end: it has always been past

// A part of the whole, exact: "12.5%" is 125,000 millionths.
struct Share {
  static constexpr std::uint32_t kWhole = 1'000'000;
  std::uint32_t millionths = 0;

  friend constexpr auto operator<=>(const Share&, const Share&) = default;
};

// The part of burst x T that a share of it is, rounded up.
inline std::chrono::nanoseconds part_of(const Quota& quota, std::uint64_t millionths) {
  const std::uint64_t full = static_cast<std::uint64_t>(quota.burst()) *
                             static_cast<std::uint64_t>(quota.emission_interval().count());
  const std::uint64_t whole = full / Share::kWhole * millionths;
  const std::uint64_t rest = (full % Share::kWhole * millionths + Share::kWhole - 1) / Share::kWhole;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(full, whole + rest))};
}

// What an attribute's value is compared with.
struct ListEntry {
  enum class Kind : std::uint8_t {
    text,     // equal, byte for byte
    pattern,  // `*` stands for any run of characters, none too
    network,  // an address or a CIDR, whose matches are addresses in any spelling
  };
  Kind kind = Kind::text;
  std::string text;         // as written
  core::Network network{};  // of Kind::network
  Position place{};         // in the limits file, or in the list's own file
};

struct List {
  std::string name;
  std::vector<ListEntry> entries;  // of a list from a file it may be empty, and then matches nothing
  std::string file;  // where it was read from, as one can open it; empty: the entries are in the limits file
  Position place{};
};

// That an attribute has one of several values: one of the entries, or of those of one of the lists.
struct Condition {
  std::string attribute;
  std::vector<ListEntry> entries;
  std::vector<Index> lists;  // File::lists
  Position place{};
};

// All of them hold. An empty one holds always; where that would be no use (deny, allow) empty means none.
using When = std::vector<Condition>;

// One attribute of a limit's key.
struct By {
  std::string attribute;
  core::Prefixes group{};  // of a value that is an address: how many bits of it count
};

// One rate of a limit, with a state of its own: (limit id, period, algorithm); or its slots, last of all.
struct Window {
  core::Rule rule;
  Position place{};

  std::chrono::nanoseconds period() const { return rule.quota.rate().period; }
  bool is_slots() const { return core::counts_slots(rule.algorithm); }
};

// How much one unit of a request costs under a limit.
struct CostCase {
  When when;
  std::uint64_t cost = 1;
  Position place{};
};
struct CostRule {
  std::vector<CostCase> cases;  // the first that matches; when none does: 1
  std::string from;             // or the attribute that is the cost; then there are no cases
  Position place{};             // line 0: unsaid, so 1
};

// What a child may count on from its `within`: unsaid when its line is 0.
struct Guarantee {
  core::Rule rule{Quota::per_second(1)};  // of gcra
  Position place{};
};

// The shares of the burst that less important classes leave, one for each of File::classes; empty: unsaid.
// They never shrink, and the first is 0.
struct Leave {
  std::vector<Share> shares;
  Position place{};
};

// The share of the burst that only requests inside a guarantee may use: unsaid when its line is 0.
struct Reserve {
  Share share{};
  Position place{};
};

// How long a key rests once it has denied a request: unsaid when its line is 0.
struct Penalty {
  core::PenaltyTerms rest{};
  Position place{};
};

// Other numbers for one window, or none at all.
struct WindowChange {
  Index window = 0;                       // NamedLimit::windows
  bool lifted = false;                    // `unlimited`: this window is not charged
  core::Rule rule{Quota::per_second(1)};  // unless lifted; of the window's period and algorithm
  Position place{};
};

// Other numbers for some keys. For each window, and for each other thing, the last override that matches and
// names it wins.
struct Override {
  When when;
  Time until = kNever;  // it applies before this moment
  std::string reason;
  std::vector<WindowChange> windows;  // empty: it names none
  Leave leave;
  Reserve reserve;
  Guarantee guarantee;
  CostRule cost;
  Penalty penalty;
  WindowChange slots;  // one of `windows` too, once all is read; line 0: unsaid
  Position place{};
};

// What decides while the store does not; of a table that is full.
struct StoreError {
  OnStoreError what = OnStoreError::local;
  Share share{Share::kWhole};  // of local: the share of the numbers that this process hands out alone
  Position place{};            // line 0: unsaid, so the server's flag holds
};
enum class FileWhenFull : std::uint8_t { unsaid, deny, allow };

// RESERVE without a cost takes an estimate, and is settled later.
struct Hold {
  std::uint64_t estimate = 0;  // 0: the limit has no hold
  bool says_estimate = false;  // else it is 1
  std::chrono::nanoseconds ttl{0};
  Share at_most{Share::kWhole};  // of the burst
  Position place{};
  Position ttl_place{};
  Position at_most_place{};  // line 0: unsaid

  static constexpr std::chrono::nanoseconds kLongest = std::chrono::hours{24};
};

// Units that a server takes from a shared store ahead of time.
struct LeaseTerms {
  std::uint64_t units = 0;  // 0: the limit has no lease
  std::chrono::nanoseconds time = std::chrono::seconds{1};
  Position place{};
};

struct NamedLimit {
  std::string name;
  std::string id;               // its identity in every store; the name unless `id:` says otherwise
  std::vector<By> by;           // in the order of the file; empty: one counter for everybody
  bool required = false;        // a request without an attribute of `by` is an error
  bool refunds = false;         // what was charged may be taken back by those that have no id
  bool track = false;           // what its keys use is kept, and told to those who may ask
  bool charged_after = false;   // what descriptors report is charged though it is more than is left
  std::vector<Window> windows;  // empty: only deny and allow
  Window slots{core::Rule{Quota::per_second(1)}};  // one of `windows` too, once all is read; line 0: none
  Index within = kNone;                            // File::limits; never in a circle
  std::vector<Override> overrides;
  When deny;   // empty: nobody
  When allow;  // empty: nobody is exempt
  Leave leave;
  Reserve reserve;
  Guarantee guarantee;
  CostRule cost;
  Penalty penalty;
  // Before this moment the limit is counted and reported, never enforced. kLongAgo: it is enforced.
  Time shadow_until = kLongAgo;
  StoreError on_store_error;
  FileWhenFull when_full = FileWhenFull::unsaid;
  std::chrono::nanoseconds max_wait{-1};  // below 0: unsaid
  // Clients are told its numbers: unless `show:` says otherwise, those of a limit with a `by`. Nobody should
  // be told a service's whole traffic.
  bool show = false;
  Hold hold;
  LeaseTerms lease;
  Position place{};
  Position within_place{};
  Position shadow_place{};
  Position max_wait_place{};

  bool shadow(Time now) const { return now < shadow_until; }
  // Where a part of its burst is first reserved for guarantees; line 0: nowhere.
  Position reserve_place() const {
    Position first = reserve.place;
    for (const Override& each : overrides)
      if (first.line == 0) first = each.reserve.place;
    return first;
  }
};

struct Route {
  When when;                  // empty: every request
  Index least_class = kNone;  // File::classes: what its requests have unless they say so, and never exceed
  std::vector<Index> limits;  // File::limits, as named
  // What its requests meet: those, and all that they are within, each once; an ancestor stands before its
  // first child.
  std::vector<Index> meets;
  Position place{};  // line 0: the file has no routes, and this one stands for them: every limit
};

// How a gateway asks: which headers carry what it knows of the client's request, and who is believed.
struct Gateway {
  enum class From : std::uint8_t {
    x_forwarded,  // X-Forwarded-Method, -Uri, -Host and -For
    x_original,   // X-Original-Method, -URI and -Host, X-Real-IP
    path,         // the request's own method, path (after the profile) and Host, X-Forwarded-For
  };
  // An attribute that a header carries.
  struct Mapped {
    std::string attribute;
    std::string header;
  };

  std::string name;
  From from = From::x_forwarded;
  std::vector<core::Network> trusted;  // proxies, whose word for where a request came from is taken
  std::vector<Mapped> attributes;
  std::string address;        // the header of the client's address
  std::string token_header;   // empty: no token is asked for
  std::string token_env;      // the environment variable that has it
  int deny_status = 0;        // 0: as Answers has it
  bool deny_missing = false;  // a request that lacks `ip`, `path`, or what a limit that it meets counts by
  bool keep_odd_paths = false;
  bool holds = false;  // where a limit has a hold, what is allowed is a reservation that acts now
  Position place{};
};

// What descriptors of Envoy's rate limit service say, of one domain: each is a request, its entries are
// attributes.
struct RlsDomain {
  struct Mapped {
    std::string key;  // of an entry
    std::string attribute;
  };

  std::string name;
  std::vector<Mapped> attributes;
  bool drops_unmapped = false;  // else other keys are attributes by their own names
  Position place{};

  // What an entry's key is called; empty: it is dropped.
  std::string_view attribute_of(std::string_view key) const {
    for (const Mapped& each : attributes)
      if (each.key == key) return each.attribute;
    return drops_unmapped ? std::string_view() : key;
  }
};

struct Answers {
  int status = 429;
  std::vector<std::string> headers;  // empty: unsaid
};

struct File {
  std::string name;                  // how messages call it
  std::string text;                  // all of it
  std::vector<std::string> classes;  // the most important first; empty: the file has none
  Index default_class = kNone;       // the one called `default`
  Index ceiling = kNone;             // no request is more important than this where its route has no class
  std::string hash_tag;              // an attribute; empty: none
  // All that a request may have, what gateways give it too; empty: any.
  std::vector<std::string> attributes;
  std::vector<List> lists;
  std::vector<NamedLimit> limits;
  std::vector<Route> routes;  // the first that matches; never empty
  std::vector<Gateway> gateways;
  std::vector<RlsDomain> rls;
  Answers answers;
};

}  // namespace weir::limits
