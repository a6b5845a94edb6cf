// Decisions that many machines share: asks Redis by a Client, and decides anyway when Redis does not answer.
//
// Every check has a decision by its deadline. What decides when the store cannot is `on_error`: the embedded
// store (each machine then counts alone), or always yes, or always no; each is counted by its cause. What the
// store itself refused for the key's sake (a foreign value under it, WRONGTYPE) is not decided by anybody: it
// is the caller's error.
//
// A denial is remembered until its retry_after, and the key denied without asking: exact, because a debt
// never falls faster than time, whoever else uses the key. Not seen from here are another machine's reset of
// the key and another's raised limit: then a denial lasts at most as long as it said. The memory is bounded,
// and forgets when it is full, which only costs a question.
//
// One thread, that of the Client. No sockets; the clock is handed in.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/rule.hpp"
#include "core/siphash.hpp"
#include "redis/client.hpp"
#include "redis/leases.hpp"
#include "store/table.hpp"
#include "weir/decision.hpp"
#include "weir/redis.hpp"

namespace weir::redis {

// How often keys have been reset through this process, so that no event loop remembers what another one has
// had forgotten. Keys share counters: one more question, never a wrong answer. Any thread.
class Resets {
 public:
  std::atomic<std::uint32_t>& of(std::uint64_t key) { return counts_[key % counts_.size()]; }

 private:
  std::array<std::atomic<std::uint32_t>, 1024> counts_{};
};

// Denials that need not be asked for again.
class DenialMemory {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kEntries = std::size_t{1} << 14;  // of some 100 bytes

  // `asked` and `answered` are when the question went out and its answer came, on our clock.
  void remember(std::uint64_t key, const Quota& quota, Cost cost, const Decision& denial, nanoseconds asked,
                nanoseconds answered, std::uint32_t resets);
  void forget(std::uint64_t key);
  std::optional<Decision> recall(std::uint64_t key, const Quota& quota, Cost cost, nanoseconds now,
                                 std::uint32_t resets) const;

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::optional<Quota> quota;
    std::uint64_t ahead = 0;  // of the tat, when the store decided
    nanoseconds asked{0};
    nanoseconds answered{0};
    nanoseconds until{0};
    std::uint32_t resets = 0;
  };
  std::vector<Entry> entries_;  // made with the first denial
};

class SharedStore {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Policy {
    OnStoreError on_error = OnStoreError::local;
    nanoseconds deadline = std::chrono::milliseconds{50};
    bool remember_denials = true;
    double local_share = 1;  // of the limit, when the embedded store decides
  };
  // What one limit wants otherwise than the policy has it.
  struct Wishes {
    std::uint64_t lease = 0;
    std::optional<OnStoreError> on_error{};
    std::optional<nanoseconds> deadline{};
  };
  // What a check came to. With a cause, Redis did not decide: the policy did, or for WRONGTYPE nobody.
  struct Outcome {
    Decision decision;
    Cause cause = Cause::none;
    std::string error;  // when nobody may decide: what to tell the caller
  };
  using OnOutcome = std::function<void(std::uint64_t token, const Outcome&)>;
  using OnReset =
      std::function<void(std::uint64_t token, std::optional<std::int64_t> removed, std::string_view error)>;

  // `local` decides while the store cannot, by GCRA whatever the algorithm; it and `resets`, which all stores
  // of a process share, must outlive this.
  SharedStore(Endpoint endpoint, Policy policy, Table& local, Resets& resets, nanoseconds (*clock)(),
              OnOutcome on_outcome, OnReset on_reset);

  // Decides at once, or later: then on_outcome is called with the token, by deadline. With a `lease`
  // above 1 so many units are taken from the store at a time (leases.hpp); checks of a key that come while a
  // lease is being asked for share it out, first come, first served.
  std::optional<Outcome> check(const Rule& rule, std::string_view key, Cost cost, std::uint64_t token,
                               Wishes wishes);
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
    std::array<std::atomic<std::uint64_t>, kCauseNames.size()>
        failures{};  // by cause: not decided by the store
    std::atomic<bool> ready{false};
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Asked {
    std::uint64_t token = 0;
    std::optional<Rule> rule;  // nothing: a reset
    std::string key;
    std::uint64_t hash = 0;
    Cost cost;
    nanoseconds at{0};
    std::uint32_t resets = 0;  // before it was asked
    nanoseconds deadline{0};
    OnStoreError on_error = OnStoreError::local;
    std::uint64_t lease = 0;  // units asked for instead of the cost; 0: the cost
  };

  void answered(std::uint64_t tag, const Client::Result& result);
  Outcome without_store(const Rule& rule, const Asked& asked, Cause cause, nanoseconds now);
  std::uint32_t keep(Asked asked);
  Asked take_back(std::uint32_t index);
  void send(std::uint32_t index);
  void share_out(const Asked& asked, nanoseconds now);

  Endpoint endpoint_;
  Policy policy_;
  Table& local_;
  Resets& resets_;
  nanoseconds (*clock_)();
  OnOutcome on_outcome_;
  OnReset on_reset_;
  std::function<void()> wake_ = [] {};
  DenialMemory denials_;
  Leases leases_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>
      lease_waiters_;  // by key, while one is asked for
  std::vector<Asked> asked_;
  std::vector<std::uint32_t> free_;
  std::size_t open_ = 0;
  Counters counters_;
  Client client_;  // last: its end must not call what is gone
};

}  // namespace weir::redis
