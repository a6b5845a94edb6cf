// What is given back: of requests, and of leases.
#include "redis/reservation_id.hpp"
#include "redis/script.hpp"
#include "redis/store_calls.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

namespace {

class GiveBackCall final : public StoreCall {
 public:
  GiveBackCall(StoreParts& in, std::uint64_t hash) : StoreCall(in), hash_(hash) {}

 private:
  // What was asked before it may have been denied for what is no longer owed.
  void heard(std::unique_ptr<Call>, const Result&, nanoseconds) override { in_.known.forget_denial(hash_); }

  std::uint64_t hash_;
};

void send(StoreParts& in, std::uint64_t hash, std::string_view name, std::string command, nanoseconds now) {
  in.client.call(std::make_unique<GiveBackCall>(in, hash), in.slot(name), std::move(command),
                 now + in.options.deadline, now, Rank::first);
}

void give_back(StoreParts& in, std::uint64_t hash, const ScriptCheck& ask, nanoseconds charged_at,
               nanoseconds now) {
  in.known.forget_denial(hash);
  std::string command;
  append_give_back(command, ask, charged_at);
  send(in, hash, ask.key, std::move(command), now);
}

}  // namespace

void give_back(StoreParts& in, const KeptCheck& check, nanoseconds charged_at, nanoseconds now) {
  give_back(in, check.hash, check.ask(), charged_at, now);
}

void give_back(StoreParts& in, std::uint64_t hash, const Lease& lease, nanoseconds now) {
  if (lease.spent >= lease.units || in.known.resets_of(hash) != lease.resets) return;
  const core::Rule rule{lease.quota};
  give_back(in, hash, {&rule, lease.key, Cost{lease.units - lease.spent}}, lease.charged_at, now);
}

bool mend(StoreParts& in, const KeptCheck& check, const core::Rule& rule, Cost cost, const resp::Value& state,
          std::span<Decision> told, nanoseconds now) {
  const auto most = tells_pause(state) ? std::nullopt : in.known.cut(check, rule, cost, state, told, now);
  if (!most) return false;
  std::string command;
  append_cap(command, check.ask(), line_in_redis(in.endpoint.prefix, check.name), *most);
  send(in, check.hash, check.name, std::move(command), now);
  return true;
}

}  // namespace weir::redis
