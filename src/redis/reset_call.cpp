// Keys that are to be forgotten.
#include <algorithm>
#include <map>
#include <span>

#include "redis/reservation_id.hpp"
#include "redis/script.hpp"
#include "redis/store_calls.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

namespace {

// A reset while its keys are being forgotten, slot by slot.
struct Reset {
  Ticket ticket;
  nanoseconds patience;
  std::size_t open = 0;  // slots
  std::uint32_t forgotten = 0;
  Fault fault = Fault::none;
  std::string why{};
};

// The keys of one slot; the last `asked_` of them are in the call under way.
class ResetCall final : public StoreCall {
 public:
  ResetCall(StoreParts& in, std::shared_ptr<Reset> reset) : StoreCall(in), reset_(std::move(reset)) {}

  void add(std::uint64_t hash, Fallback::Hashes local, std::string name, bool grows) {
    keys_.push_back({hash, local, grows});
    names_.push_back(std::move(name));
  }
  void send(std::unique_ptr<Call> self, nanoseconds now) {
    asked_ = std::min(names_.size(), kMostReset);
    const std::span<const std::string> names = std::span(names_).last(asked_);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < asked_; ++i) {
      lines.push_back(in_.line_of(names[i]));
      if (keys_[keys_.size() - asked_ + i].grows)
        lines.push_back(breaches_in_redis(in_.endpoint.prefix, names[i]));
    }
    std::string command;
    append_reset(command, names, lines);
    in_.client.call(std::move(self), in_.slot(names_[0]), std::move(command), now + reset_->patience, now,
                    Rank::kept);
  }

 private:
  void heard(std::unique_ptr<Call> self, const Result& result, nanoseconds now) override {
    // And again: what was asked meanwhile may have been answered from what is forgotten now.
    const bool foreign = result.cause == Cause::wrongtype;
    const bool goes_on = result.cause == Cause::none || foreign;
    for (; asked_ > 0; --asked_) {
      in_.known.forget(keys_.back().hash);
      if (goes_on) in_.fallback.forget(keys_.back().local, now);
      if (goes_on) in_.options.owed_changed(keys_.back().hash);
      keys_.pop_back();
      names_.pop_back();
    }
    Reset& reset = *reset_;
    if (result.cause == Cause::none) {
      reset.forgotten += static_cast<std::uint32_t>(result.value->integer);
    } else {
      in_.tally.failed(result.cause);
      if (reset.fault == Fault::none) reset.why = result.error;
      if (reset.fault != Fault::store_down) reset.fault = foreign ? Fault::foreign_value : Fault::store_down;
    }
    if (!keys_.empty() && goes_on) return send(std::move(self), now);
    if (--reset.open > 0) return;
    Request* const request = reset.ticket.take();
    if (request == nullptr) return;  // cancelled
    request->forgotten = reset.forgotten;
    request->fault = reset.fault;
    request->why = std::move(reset.why);
    finish(*request);
  }

  struct Key {
    std::uint64_t hash;
    Fallback::Hashes local;
    bool grows;  // its penalty does
  };
  std::shared_ptr<Reset> reset_;
  std::vector<Key> keys_;
  std::vector<std::string> names_;
  std::size_t asked_ = 0;
};

}  // namespace

void reset(StoreParts& in, Request& request, nanoseconds now) {
  const auto its =
      std::make_shared<Reset>(Reset{.ticket = Ticket(request), .patience = in.patience_of(request)});
  std::map<std::uint16_t, std::unique_ptr<ResetCall>> calls;  // by slot
  for (const Check& check : request.checks) {
    const std::uint64_t hash = in.known.hash_of(check.limit->id, check.key);
    // What is asked from now on is asked after it, and what is left of a lease is not to be spent after it.
    in.known.forget(hash);
    std::string name = key_in_redis(in.endpoint.prefix, check);
    auto& call = calls[in.slot(name)];
    if (!call) call = std::make_unique<ResetCall>(in, its);
    call->add(hash, in.fallback.hashes_of(*check.limit, check.key), std::move(name),
              check.limit->penalty.grows());
  }
  if (calls.empty()) return finish(request);
  its->open = calls.size();
  for (auto& [slot, call] : calls) call->send(std::move(call), now);
}

}  // namespace weir::redis
