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

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock_function.hpp"
#include "redis/call.hpp"
#include "redis/store_parts.hpp"
#include "redis/ticket.hpp"
#include "store/embedded_store.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::redis {

class SharedStore final : public store::Store {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  using Options = StoreOptions;
  using Counters = StoreCounters;

  // `local` counts for the fallback; it and `memory` are shared by all stores of a process and must outlive
  // this.
  SharedStore(Endpoint endpoint, Options options, store::EmbeddedStore& local, ProcessMemory& memory,
              core::ClockFunction clock);

  // The calls of a batch leave in one write. A reset of many keys is one call for each slot; of very many,
  // one after the other, each with the request's patience, so that Redis is held up by none of them.
  void submit(std::span<store::Request* const> batch, store::Arrival when) override;
  void cancel(store::Request& pending) override { Ticket::cancel(pending); }
  // Needs the keys and limits of the request again. Of a request that was charged partly in Redis and partly
  // by the fallback only the part of the one that `source` names goes back: charged_at is of its clock.
  void give_back(const store::Request& charged, nanoseconds now) override;

  // Gives back what is left of the leases that have ended, or of all. Whether there are others: then to be
  // called again soon.
  bool end_leases(bool all);
  bool has_leases() const { return parts_.known.has_leases(); }

  // Asks what does not decide, of the node of that key: `told` is called once, on this thread, with
  // the answer or why there is none by then.
  void ask(std::string_view key, std::string command, nanoseconds patience,
           std::function<void(const Call::Result&)> told);
  // Asks Redis something other than a decision, of that key; `command` is whole RESP. It stands in line with
  // the decisions and may wait for as long as `patience`.
  void call(std::unique_ptr<Call> call, std::string_view key, std::string command, nanoseconds patience);

  Client& client() { return parts_.client; }
  const Client& client() const { return parts_.client; }
  // Nothing waits for an answer.
  bool empty() const { return parts_.client.open_calls() == 0 && parts_.merging.waiting() == 0; }

  // For the owner of the sockets: called when calls, as many as it says, wait to be sent.
  void on_work(std::function<void(std::size_t calls)> wake) { parts_.on_work = std::move(wake); }
  // Tells health() and the counters how the connection is; to be called when something may have changed, and
  // every second or so.
  void note_state();
  const Health& health() const { return parts_.tally.health; }
  // Whether a key was found whose reservations a former build has written: they are forgotten.
  bool found_former_state() const { return parts_.found_former_state; }

  // Written by our thread, read by any.
  const Counters& counters() const { return parts_.tally.counters; }

 private:
  void begin(store::Request& request, nanoseconds now);

  StoreParts parts_;
};

}  // namespace weir::redis
