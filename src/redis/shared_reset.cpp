// Keys that are to be forgotten.
#include "redis/shared_store.hpp"

#include <algorithm>

#include "redis/script.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

void SharedStore::reset(Request& request, nanoseconds now) {
  std::map<std::uint16_t, ResetCall> calls;  // by slot
  const auto reset = std::make_shared<Reset>(
      Reset{.ticket = Ticket(request), .patience = deadline_of(request, nanoseconds{0})});
  for (const Check& check : request.checks) {
    const std::uint64_t hash = hash_of(check.limit->id, check.key);
    // What is asked from now on is asked after it, and what is left of a lease is not to be spent after it.
    known_.forget(hash);
    std::string name = key_in_redis(endpoint_.prefix, check);
    ResetCall& call = calls.try_emplace(slot(name), ResetCall{reset}).first->second;
    call.hashes.push_back(hash);
    call.local.push_back(fallback_.hash_of(*check.limit, check.key));
    call.names.push_back(std::move(name));
  }
  if (calls.empty()) return finish(request);
  reset->open = calls.size();
  for (auto& [slot, call] : calls) send(std::move(call), now);
}

void SharedStore::answered(ResetCall call, const Client::Result& result, nanoseconds now) {
  // And again: what was asked meanwhile may have been answered from what is forgotten now.
  const std::size_t left = call.names.size() - call.asked;
  const bool foreign = result.cause == Cause::wrongtype;
  for (std::size_t i = left; i < call.hashes.size(); ++i) {
    known_.forget(call.hashes[i]);
    if (result.cause == Cause::none || foreign) fallback_.forget(call.local[i], now);
  }
  call.hashes.resize(left);
  call.local.resize(left);
  call.names.resize(left);
  Reset& reset = *call.reset;
  if (result.cause == Cause::none) {
    reset.forgotten += static_cast<std::uint64_t>(result.value->integer);
  } else {
    count(result.cause);
    if (reset.fault == Fault::none) reset.why = result.error;
    if (reset.fault != Fault::store_down) reset.fault = foreign ? Fault::foreign_value : Fault::store_down;
  }
  if (left > 0 && (result.cause == Cause::none || foreign)) return send(std::move(call), now);
  if (--reset.open > 0) return;
  Request* const request = reset.ticket.take();
  if (request == nullptr) return;  // cancelled
  request->forgotten = reset.forgotten;
  request->fault = reset.fault;
  request->why = std::move(reset.why);
  finish(*request);
}

void SharedStore::send(ResetCall call, nanoseconds now) {
  call.asked = std::min(call.names.size(), kMostReset);
  const std::span<const std::string> names = std::span(call.names).last(call.asked);
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (endpoint_.format == Format::weir) lines.push_back(line_of(name));
  }
  std::string command;
  append_reset(command, names, lines, endpoint_.format);
  const std::uint16_t its_slot = slot(call.names[0]);
  const nanoseconds deadline = now + call.reset->patience;
  ask(std::move(call), its_slot, std::move(command), deadline, now, Rank::kept);
}

}  // namespace weir::redis
