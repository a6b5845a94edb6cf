// The store that many machines share: asks Redis by a Client, and decides anyway when Redis does not answer.
//
// Every check is answered by its deadline. What decides when Redis cannot is the limit's on_store_error
// (fallback.hpp); each such answer is counted by its cause, whose name is in the request's `why`. What Redis
// itself refuses for the key's sake (a foreign value under it, WRONGTYPE) nothing decides: it is the asker's
// fault, and `why` is what Redis said.
//
// Three things keep questions from Redis: remembered denials (denial_memory.hpp), leases (leases.hpp), and
// merging (merge_queue.hpp). The script decides the checks of a merged call one by one at one moment, so each
// is answered as it would have been alone.
//
// Several checks of one request are charged all or none. It is one call when the keys share a slot; else one
// for each slot, and when another refuses, what was charged is given back: until that arrives others may be
// denied for it. So across slots all algorithms have to be such that can be given back. Denials are
// remembered and recalled for such requests; leases decide one when each of its checks has one.
//
// A check inside a guarantee that lies in another slot is asked for when that one has answered. So such a
// request takes a round trip more, others may be decided between the two, and the parent sees guaranteed
// requests up to that much later than the guarantee has: for none of them to be refused, the parent's reserve
// has to hold, beside the bursts of the guarantees, what they admit in that time. When the guarantee's slot
// does not answer the check is decided as one that borrows.
//
// One thread, that of the Client. No sockets; the clock is handed in.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "core/random.hpp"
#include "redis/client.hpp"
#include "redis/fallback.hpp"
#include "redis/health.hpp"
#include "redis/joint_check.hpp"
#include "redis/knowledge.hpp"
#include "redis/merge_queue.hpp"
#include "redis/reserving.hpp"
#include "store/embedded_store.hpp"
#include "store/reservation_id.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::redis {

class SharedStore final : public store::Store {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Options {
    nanoseconds deadline = std::chrono::milliseconds{50};  // of a request without a patience of its own
    bool remember_denials = true;
    double local_share = 1;  // of each limit, when the embedded store decides
    // The stores of this process that lease apart from each other: what a limit leases is divided among them.
    std::uint64_t lease_parts = 1;
    // The furthest moment that anybody reserves here or elsewhere: after a step of the store's clock, what is
    // further off is not owed.
    nanoseconds longest_wait = std::chrono::seconds{60};
    core::Random random = core::random_key;
  };

  // `local` counts for the fallback; it and `memory` are shared by all stores of a process and must outlive
  // this.
  SharedStore(Endpoint endpoint, Options options, store::EmbeddedStore& local, ProcessMemory& memory,
              core::Clock clock);

  // The calls of a batch leave in one write. A reset of many keys is one call for each slot; of very many,
  // one after the other, each with the request's patience, so that Redis is held up by none of them.
  void submit(std::span<store::Request* const> batch, store::Moment when) override;
  void cancel(store::Request& pending) override { Ticket::cancel(pending); }
  // Needs the keys and limits of the request again. Of a request that was charged partly in Redis and partly
  // by the fallback only the part of the one that `source` names goes back: charged_at is of its clock.
  void give_back(const store::Request& charged, nanoseconds now) override;

  // Gives back what is left of the leases that have ended, or of all. Whether there are others: then to be
  // called again soon.
  bool end_leases(bool all);
  bool has_leases() const { return known_.has_leases(); }

  Client& client() { return client_; }
  const Client& client() const { return client_; }
  // Nothing waits for an answer.
  bool empty() const { return calls_.size() == free_.size() && merging_.waiting() == 0; }

  // For the owner of the sockets: called when calls, as many as it says, wait to be sent.
  void on_work(std::function<void(std::size_t calls)> wake) { wake_ = std::move(wake); }
  // Tells health() and the counters how the connection is; to be called when something may have changed, and
  // every second or so.
  void note_state();
  const Health& health() const { return health_; }

  // Written by our thread, read by any.
  struct Counters {
    std::atomic<std::uint64_t> decided{0};     // by the store
    std::atomic<std::uint64_t> remembered{0};  // denied without asking
    std::atomic<std::uint64_t> leased{0};      // allowed without asking
    std::atomic<std::uint64_t> merged{0};      // decided by the store, in another check's call
    std::atomic<std::uint64_t> fallbacks{0};   // requests that the fallback decided
    std::array<std::atomic<std::uint64_t>, kCauseNames.size()>
        failures{};                           // by cause: what the store has not done
    std::atomic<std::uint64_t> under_way{0};  // now: answers that the store owes
    std::atomic<std::uint64_t> waiting{0};    // now: calls that wait for it to have room
    std::atomic<bool> ready{false};           // as health() says
  };
  const Counters& counters() const { return counters_; }

 private:
  // A reset while its keys are being forgotten, slot by slot.
  struct Reset {
    Ticket ticket;
    nanoseconds patience;
    std::size_t open = 0;  // slots
    std::uint64_t forgotten = 0;
    Fault fault = Fault::none;
    std::string why{};
  };
  struct PartCall {
    std::shared_ptr<JointCheck> joint;
    std::size_t part;
  };
  struct GiveBackCall {
    std::uint64_t hash;
  };
  // The keys of one slot; the last `asked` of them are in the call under way.
  struct ResetCall {
    std::shared_ptr<Reset> reset;
    std::vector<std::uint64_t> hashes{};
    std::vector<std::uint64_t> local{};  // the fallback's
    std::vector<std::string> names{};
    std::size_t asked = 0;
  };
  struct ReserveCall {
    std::unique_ptr<Reserving> its;
  };
  struct UndoCall {
    std::unique_ptr<Undoing> its;
  };
  using Call =
      std::variant<std::monostate, KeyCall, PartCall, GiveBackCall, ResetCall, ReserveCall, UndoCall>;

  // What a check came to.
  struct Answer {
    Decision decision{};
    Source source = Source::store;
    Fault fault = Fault::none;
    std::string_view why{};
    nanoseconds charged_at{0};
    std::uint64_t local = 0;  // the fallback's hash
  };

  static void refuse(store::Request& request, std::size_t by, Fault fault, std::string why);

  void begin(store::Request& request, nanoseconds now);
  void check_one(store::Request& request, nanoseconds now);
  void check_jointly(store::Request& request, nanoseconds now);
  void reset(store::Request& request, nanoseconds now);
  void reserve(store::Request& request, nanoseconds now);
  void undo(store::Request& request, nanoseconds now);

  void answered(std::uint64_t tag, const Client::Result& result);
  void answered(KeyCall call, const Client::Result& result, nanoseconds now);
  void answered(PartCall call, const Client::Result& result, nanoseconds now);
  void answered(GiveBackCall call, const Client::Result& result, nanoseconds now);
  void answered(ResetCall call, const Client::Result& result, nanoseconds now);
  void answered(ReserveCall call, const Client::Result& result, nanoseconds now);
  void answered(UndoCall call, const Client::Result& result, nanoseconds now);
  void answered(std::monostate, const Client::Result&, nanoseconds) {}

  void conclude(KeyCheck check, Cause cause, const Answer& answer, nanoseconds now);
  void conclude(JointCheck& joint, nanoseconds now);
  void release(std::uint64_t hash, std::optional<KeyCheck> foremost, nanoseconds now);

  std::optional<Answer> without_asking(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                       std::uint32_t resets, bool may_lease, nanoseconds now);
  bool mend(const KeptCheck& check, const core::Rule& rule, Cost cost, std::span<Decision> told,
            nanoseconds now);
  bool spend_jointly(store::Request& request, const JointCheck& joint, nanoseconds now);
  void lease_ahead(std::span<const store::Check> checks, const JointCheck& joint, nanoseconds now);
  void grant(const KeyCall& call, nanoseconds charged_at, nanoseconds now);
  void ask_ahead(const store::Check& check, std::uint64_t hash, std::uint32_t resets, nanoseconds deadline,
                 nanoseconds now, std::uint64_t turn = 0);
  void wait(KeyCheck check, nanoseconds now);
  bool wanted(std::uint64_t tag) const;
  Rank rank_of(KeyCall& call, std::uint16_t slot, nanoseconds now);
  void stand_in_line(std::uint64_t hash) { ++in_line_[hash]; }
  void leave_line(std::uint64_t hash);

  void send(KeyCall call, nanoseconds now);
  void send(ResetCall call, nanoseconds now);
  void send_stage(const std::shared_ptr<JointCheck>& joint, nanoseconds now);
  void send(const std::shared_ptr<JointCheck>& joint, std::size_t part, nanoseconds now);
  void give_back(const KeptCheck& check, Cost cost, nanoseconds charged_at, nanoseconds now);
  void give_back(std::uint64_t hash, const Lease& lease, nanoseconds now);
  void decide_here(Reserving& reserving, Cause cause, std::string_view error, nanoseconds now);
  void give_up(const Reserving& reserving, nanoseconds now);
  void send(std::unique_ptr<Undoing> undoing, nanoseconds now);
  void forget_denials(const Undoing& undoing);
  void fail(Undoing& undoing, Cause cause, std::string_view error);
  std::string line_of(std::string_view name) const;
  void ask(Call call, std::uint16_t slot, std::string command, nanoseconds deadline, nanoseconds now,
           Rank rank = Rank::usual);
  void wake();
  // The alarm is for the first check that has waited to be merged for long enough.
  void set_alarm();

  KeptCheck keep(const store::Check& check, std::uint64_t hash, std::uint32_t resets) const;
  std::uint16_t slot(std::string_view name) const;
  nanoseconds deadline_of(const store::Request& request, nanoseconds now) const;
  void count(Cause cause) {
    counters_.failures[static_cast<std::size_t>(cause)].fetch_add(1, std::memory_order_relaxed);
  }

  Endpoint endpoint_;
  Options options_;
  Fallback fallback_;
  Knowledge known_;
  core::Clock clock_;
  std::function<void(std::size_t)> wake_ = [](std::size_t) {};
  MergeQueue merging_;
  store::ReservationIds ids_;
  std::unordered_map<std::uint64_t, std::size_t> in_line_;  // calls by key, while the store is busy
  std::vector<Call> calls_;                                 // by their tag
  std::vector<std::uint32_t> free_;
  std::size_t unsent_ = 0;  // calls that wake_ has not been told of
  nanoseconds alarm_at_ = nanoseconds::max();
  bool alarm_changed_ = false;  // to earlier
  Counters counters_;
  Health health_;
  Client client_;  // last: its end must not call what is gone
};

}  // namespace weir::redis
