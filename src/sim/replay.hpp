// Several limits decide the same events side by side, each as if it were alone.
//
// One thread at a time. Events come in order of time. Memory grows with the clients, not with the events,
// except under sliding_window_log, which remembers the requests of a period.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/growing_log.hpp"
#include "core/rule.hpp"
#include "logs/client_index.hpp"
#include "logs/log_reader.hpp"
#include "sim/exact_gcra.hpp"
#include "sim/first_fit.hpp"
#include "sim/report.hpp"
#include "sim/series.hpp"
#include "sim/tally.hpp"

namespace weir::inline v0_1::sim {

// The greatest sum in any half-open span of a second and of a minute, for each of several limits.
class Peaks {
 public:
  explicit Peaks(std::size_t limits) : second_(limits), minute_(limits) {}
  // `admitted` has a bit for each limit that admitted the units.
  void add(std::int64_t ns, std::uint64_t units, std::uint32_t admitted);
  std::uint64_t second(std::size_t limit) const { return printable(second_[limit].most); }
  std::uint64_t minute(std::size_t limit) const { return printable(minute_[limit].most); }

 private:
  using Wide = unsigned __int128;  // a cost may be 2^63 - 1
  struct Sum {
    Wide now = 0;
    Wide most = 0;
  };
  struct Admission {
    std::int64_t ns;
    std::uint64_t units;
    std::uint32_t admitted;
  };
  static std::uint64_t printable(Wide sum) {
    return sum > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(sum);
  }
  Admission& at(std::uint64_t i) { return ring_[i & (ring_.size() - 1)]; }
  void expire(std::int64_t ns, std::int64_t span, std::uint64_t& oldest, std::vector<Sum>& sums);

  std::vector<Sum> second_;
  std::vector<Sum> minute_;
  std::vector<Admission> ring_ = std::vector<Admission>(64);  // a power of two; the last minute
  std::uint64_t oldest_of_second_ = 0;
  std::uint64_t oldest_ = 0;
  std::uint64_t end_ = 0;
};

class Replay {
 public:
  static constexpr std::size_t kMostLimits = 16;

  // `worst`: how many of the worst clients of each limit the report lists.
  Replay(std::vector<core::Rule> rules, std::size_t worst);

  // Of limits that count how many requests are under way at once. A client's events say when each began and
  // ended (Wanted::span); whatever it costs, it takes one slot.
  struct InFlight {
    std::uint32_t most;
  };
  Replay(const std::vector<InFlight>& slots, std::size_t worst);

  // Each client is decided by the limit of its plan. The report's first limit is all of them together, called
  // `name`, and the others are the plans; a client without one of them is always allowed.
  struct Plan {
    std::string name;
    core::Rule rule;
  };
  static constexpr std::size_t kNoPlan = ~std::size_t{0};
  using PlanOf = std::function<std::size_t(std::uint32_t client)>;
  Replay(std::string name, const std::vector<Plan>& plans, PlanOf plan_of, std::size_t worst);

  // Returns one bit for each limit, set if it denied the request.
  std::uint32_t take(const logs::Event& event);

  struct Answer {
    Verdict verdict = Verdict::allowed;
    std::uint64_t retry_after = 0;  // ns
  };
  // Of the last request, for each limit that answered() names; of plans one.
  std::span<const Answer> answers() const {
    return std::span(answers_).first(plan_of_ ? 1 : answers_.size());
  }
  std::vector<std::string> answered() const {
    return plan_of_ ? std::vector<std::string>{names_[0]} : names_;
  }

  // What was found so far, without the `log` part.
  ReplayReport report(const logs::ClientIndex& clients, std::size_t key_parts) const;

  struct Denials {
    std::uint64_t requests;
    std::uint64_t clients;
    std::uint64_t good_clients;  // clients for which `good` is true
  };
  Denials denials(std::size_t limit, const std::vector<bool>& good) const;

 private:
  // What is remembered of one client under one limit.
  struct Client : Standing {
    std::uint32_t log = 0;  // under sliding_window_log: its place in PerLimit::logs, from 1
    core::TwoWords state;   // of gcra: the tat, in_words()
  };
  static_assert(sizeof(Client) == 40);  // there may be millions
  struct PerLimit {
    Tally tally;
    logs::Pieces<Client> clients;
    logs::Pieces<core::GrowingLog> logs;
  };

  Answer decide(std::size_t limit, Client& client, const logs::Event& event);
  Answer decide_slots(std::size_t limit, std::size_t place, const logs::Event& event) const;
  std::vector<AtOnce> most_at_once(const logs::ClientIndex& clients, std::size_t key_parts) const;
  void watch(const logs::Event& event, std::uint32_t refused);
  void forget_the_least();
  LimitReport report_of(std::size_t limit, const logs::ClientIndex& clients, std::size_t key_parts) const;

  struct Account {
    std::uint32_t requests = 0;
    std::uint32_t watched = 0;  // its place in watched_, from 1
  };
  // A client's requests over time, and those that each limit denied: kept from its kWorthWatching-th request,
  // or from the first that is denied.
  struct Watched {
    std::uint32_t client;
    std::uint64_t denied;
    Series series;
  };
  static constexpr std::uint32_t kWorthWatching = 16;
  // The most clients watched; at that number the half with the fewest denials is forgotten.
  static constexpr std::size_t kMostWatched = 4096;

  // Without its limits, `limits` of them.
  Replay(std::size_t limits, std::size_t worst);

  std::vector<core::Rule> rules_;
  std::vector<InFlight> slots_;       // in place of the rules
  logs::Pieces<FirstFit> under_way_;  // of each client, where there are slots
  std::vector<ExactGcra> exact_;      // of each rule, for those that are gcra
  std::vector<std::string> names_;    // as the report has them
  PlanOf plan_of_;                    // if limits are by plan: then the first of rules_ decides nothing
  std::size_t worst_;
  std::vector<Answer> answers_;
  std::vector<PerLimit> limits_;
  logs::Pieces<Account> accounts_;
  Series over_time_;
  Peaks peaks_;
  std::vector<Watched> watched_;
};

}  // namespace weir::sim
