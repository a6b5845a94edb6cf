// Decisions that many machines share: asks Redis by a Client, and decides anyway when Redis does not answer.
//
// Every check has a decision by its deadline. What decides when the store cannot is `on_error`: the embedded
// store (each machine then counts alone), or always yes, or always no; each is counted by its cause. What the
// store itself refused for the key's sake (a foreign value under it, WRONGTYPE) is not decided by anybody: it
// is the caller's error.
//
// Three things keep questions from the store: remembered denials (denial_memory.hpp), leases (leases.hpp),
// and merging. Where checks merge, a key has one call under way; checks of it that come meanwhile wait, and
// then leave together, those of one rule and cost that follow each other as one call. The script decides
// them one by one at one moment, so each is told what it would have been told alone.
//
// One thread, that of the Client. No sockets; the clock is handed in.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/rule.hpp"
#include "core/siphash.hpp"
#include "redis/client.hpp"
#include "redis/denial_memory.hpp"
#include "redis/leases.hpp"
#include "store/table.hpp"
#include "weir/decision.hpp"
#include "weir/redis.hpp"

namespace weir::redis {

class SharedStore {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Policy {
    OnStoreError on_error = OnStoreError::local;
    nanoseconds deadline = std::chrono::milliseconds{50};
    bool remember_denials = true;
    double local_share = 1;  // of the limit, when the embedded store decides
    bool merge = false;
  };
  // What one limit wants otherwise than the policy has it.
  struct Wishes {
    std::uint64_t lease = 0;
    std::optional<OnStoreError> on_error{};
    std::optional<nanoseconds> deadline{};
    nanoseconds lease_for = std::chrono::seconds{1};
    bool merge = false;  // or the policy's
  };
  // What a check came to. With a cause, Redis did not decide: the policy did, or for WRONGTYPE nobody.
  struct Outcome {
    Decision decision;
    Cause cause = Cause::none;
    std::string error;  // when nobody may decide: what to tell the caller; the decision is nothing then
  };
  using OnOutcome = std::function<void(std::uint64_t token, const Outcome&)>;
  using OnReset =
      std::function<void(std::uint64_t token, std::optional<std::int64_t> removed, std::string_view error)>;

  // `local` decides while the store cannot, by GCRA whatever the algorithm; it and `resets`, which all stores
  // of a process share, must outlive this.
  SharedStore(Endpoint endpoint, Policy policy, store::Table& local, Resets& resets, nanoseconds (*clock)(),
              OnOutcome on_outcome, OnReset on_reset);

  // Decides at once, or later: then on_outcome is called with the token, by deadline. With a `lease`
  // above 1 so many units are taken from the store at a time (leases.hpp); checks of a key that come while a
  // lease is being asked for share it out, first come, first served.
  std::optional<Outcome> check(const core::Rule& rule, std::string_view key, Cost cost, std::uint64_t token,
                               Wishes wishes);
  // Several limits of one request, at most Table::kMostTogether with a key each: charged all, or none when
  // any is not allowed. One call when the keys share a slot; else one for each slot, and when another
  // refuses, what was charged is given back: until that arrives others may be denied for it. So across slots
  // all have to be gcra.
  struct Limit {
    core::Rule rule;
    std::string key;
    Cost cost;
    OnStoreError on_error;
  };
  // The outcome of the limit that decides: the one denied for longest, or where all allow the one with the
  // least left; and which it was.
  using OnAll = std::function<void(const Outcome&, std::size_t by)>;
  // Calls `done` at once or by `deadline`, a time of our clock. The rules must be suitable() (script.hpp).
  // Denials are remembered and recalled; leases are not used.
  void check_all(std::vector<Limit> limits, nanoseconds deadline, OnAll done);

  const Policy& policy() const { return policy_; }

  // Gives back what is left of the leases that have ended, or of all. Whether there are others: then to be
  // called again soon.
  bool end_leases(bool all);

  // Deletes the key; on_reset is called with how many there were, or an error.
  void reset(std::string_view key, std::uint64_t token);

  Client& client() { return client_; }
  const Client& client() const { return client_; }
  bool empty() const { return open_ == 0; }

  // Whoever owns the sockets: called when a question waits to be sent.
  void on_work(std::function<void()> wake) { wake_ = std::move(wake); }
  // Tells the counters whether the store answers; to be called when something may have changed.
  void note_state() { counters_.ready.store(client_.ready(), std::memory_order_relaxed); }

  // Written by our thread, read by any.
  struct Counters {
    std::atomic<std::uint64_t> decided{0};     // by the store
    std::atomic<std::uint64_t> remembered{0};  // denied without asking
    std::atomic<std::uint64_t> leased{0};      // allowed without asking
    std::atomic<std::uint64_t> merged{0};      // decided by the store, in another check's call
    std::atomic<std::uint64_t> fallbacks{0};   // checks that the policy decided
    std::array<std::atomic<std::uint64_t>, kCauseNames.size()>
        failures{};  // by cause: what the store has not done
    std::atomic<bool> ready{false};
  };
  const Counters& counters() const { return counters_; }

 private:
  // One call to the store: a check, and those that travel with it; some limits of a check_all(); what such a
  // one or a lease gives back; or a reset.
  struct Together;
  struct Asked {
    enum class What : std::uint8_t { check, limits, give_back, reset } what;
    std::uint64_t token = 0;
    core::Rule rule{Quota::per_second(1)};  // of check and give_back
    std::string key{};
    std::uint64_t hash = 0;
    Cost cost{};
    nanoseconds at{0};         // the store is not asked before; of give_back, when it charged, by its clock
    std::uint32_t resets = 0;  // before it was asked
    nanoseconds deadline{0};
    OnStoreError on_error = OnStoreError::local;
    std::uint64_t lease = 0;  // units asked for instead of the cost; 0: the cost
    nanoseconds lease_for{0};
    bool first = false;                      // others of its key wait until it is answered
    std::vector<std::uint32_t> followers{};  // checks like it that travel with it
    std::shared_ptr<Together> together{};    // of limits
    std::size_t part = 0;                    // which of it
  };
  struct Queue {
    nanoseconds deadline;  // of the call under way
    std::vector<std::uint32_t> waiting;
  };

  void answered(std::uint64_t tag, const Client::Result& result);
  void answered_check(Asked asked, const Client::Result& result);
  void answered_limits(const Asked& asked, const Client::Result& result);
  void conclude(const Asked& asked, Cause cause, const Decision& decision, std::string_view error,
                nanoseconds now);
  void conclude(const std::shared_ptr<Together>& shared, nanoseconds now);
  void give_back(const std::string& key, std::uint64_t hash, const core::Rule& rule, Cost cost,
                 nanoseconds charged_at);
  void give_back(std::uint64_t hash, const Lease& lease);
  std::optional<Decision> recall(const core::Rule& rule, std::uint64_t hash, Cost cost, std::uint32_t resets,
                                 nanoseconds now) const;
  std::optional<Decision> without_asking(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                         std::uint32_t resets, bool may_spend, nanoseconds now);
  void learn(const Decision& decision, const core::Rule& rule, std::uint64_t hash, Cost cost,
             nanoseconds asked, nanoseconds now, std::uint32_t resets);
  void count(Cause cause) {
    counters_.failures[static_cast<std::size_t>(cause)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint16_t slot(std::string_view key) const;
  std::uint32_t keep(Asked asked);
  Asked take_back(std::uint32_t index);
  void send(std::uint32_t index);
  void release(std::uint64_t hash);

  Endpoint endpoint_;
  Policy policy_;
  store::Table& local_;
  Resets& resets_;
  nanoseconds (*clock_)();
  OnOutcome on_outcome_;
  OnReset on_reset_;
  std::function<void()> wake_ = [] {};
  DenialMemory denials_;
  Leases leases_;
  std::unordered_map<std::uint64_t, Queue> queues_;  // by key, while a call that others wait for is under way
  std::vector<Asked> asked_;
  std::vector<std::uint32_t> free_;
  std::size_t open_ = 0;
  Counters counters_;
  Client client_;  // last: its end must not call what is gone
};

}  // namespace weir::redis
