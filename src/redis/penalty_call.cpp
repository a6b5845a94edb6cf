// The rest after a breach: each key that has denied a request is asked for by a call of its own, which
// decides once more, so that the denial and the rest are of one moment. The request has its answer when all
// have theirs; where the store does not answer, the denial stands without a rest.
#include <algorithm>
#include <vector>

#include "core/severity.hpp"
#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/slot.hpp"
#include "redis/store_calls.hpp"
#include "store/check_rules.hpp"
#include "store/penalty.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Request;

namespace {

struct OpenPenalty {
  Ticket ticket;
  std::size_t open = 0;  // calls
  bool rests = false;    // one of them
  std::array<Decision, store::kMostChecks> told{};
  std::uint16_t denied = 0;  // of those told, a bit for each check
};

class RestCall final : public StoreCall {
 public:
  RestCall(StoreParts& in, std::shared_ptr<OpenPenalty> penalty, KeptCheck check, std::size_t which)
      : StoreCall(in), penalty_(std::move(penalty)), check_(std::move(check)), which_(which) {}

  void send(std::unique_ptr<Call> self, nanoseconds deadline, nanoseconds now) {
    asked_ = now;
    in_.known.leaves(check_, check_.cost);
    std::string command;
    append_rest(command, in_.endpoint.prefix, check_.ask(),
                reservation_id(in_.ids.next(), slot_of(check_.name)), check_.limit.penalty);
    in_.client.call(std::move(self), in_.slot(check_.name), std::move(command), deadline, now);
  }

 private:
  void heard(std::unique_ptr<Call>, const Result& result, nanoseconds now) override {
    Knowledge::Answered answered{.rule = check_.limit.rule, .charged = false, .rests = true};
    Decision told;
    if (result.cause != Cause::none) {
      in_.tally.refused(result.cause, result.error, now);
    } else if (const auto read = read_rest(*result.value, check_.ask(), penalty_->rests); !read) {
      in_.tally.refused(Cause::other, read.error(), now);
    } else {
      in_.known.hear_clock(*result.value, asked_, now);
      in_.tally.decided(now);
      told = *read;
      answered.last = &told;
      // What has drained since denies no more: the request was denied all the same.
      penalty_->told[which_] = told;
      if (!told.allowed()) penalty_->denied |= static_cast<std::uint16_t>(1U << which_);
    }
    in_.known.learn(answered, check_, check_.cost, asked_, now);
    if (--penalty_->open == 0) conclude();
  }

  void conclude() {
    Request* const request = penalty_->ticket.take();
    if (request == nullptr) return;  // cancelled
    if (penalty_->rests) {
      for (std::size_t i = 0; i < request->checks.size(); ++i)
        if ((penalty_->denied >> i & 1U) != 0) request->checks[i].decision = penalty_->told[i];
      store::tell_rest(*request);
    }
    finish(*request);
  }

  std::shared_ptr<OpenPenalty> penalty_;
  KeptCheck check_;
  std::size_t which_;
  nanoseconds asked_{0};
};

}  // namespace

void finish_with_penalties(StoreParts& in, Request& request, std::span<const KeptCheck* const> checks,
                           nanoseconds deadline, nanoseconds now) {
  std::vector<std::size_t> breached;
  for (std::size_t i = 0; i < checks.size() && !request.allowed() && store::may_breach(request); ++i) {
    if (checks[i] != nullptr &&
        store::may_be_breached(checks[i]->limit, checks[i]->shadow, request.checks[i].decision))
      breached.push_back(i);
  }
  if (breached.empty()) return finish(request);
  const auto penalty = std::make_shared<OpenPenalty>(OpenPenalty{Ticket(request), breached.size()});
  for (const std::size_t i : breached) {
    KeptCheck check = *checks[i];
    if (check.inside != store::Check::kNoGuarantee && request.checks[check.inside].decision.allowed())
      check.limit.rule = check.at_best();
    auto call = std::make_unique<RestCall>(in, penalty, std::move(check), i);
    call->send(std::move(call), deadline, now);
  }
}

}  // namespace weir::redis
