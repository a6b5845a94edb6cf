#include "rls/conversation.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::inline v0_1::rls {

using std::chrono::nanoseconds;

namespace {

enum Method : std::uint8_t {
  kShouldRateLimit,
  kCheckRateLimit,
  kReport,
  kReserve,
  kCommit,
  kHealthCheck,
  kHealthWatch
};
constexpr std::array<std::string_view, 7> kPaths = {
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
    "/kuadrant.service.ratelimit.v1.RateLimitService/CheckRateLimit",
    "/kuadrant.service.ratelimit.v1.RateLimitService/Report",
    "/kuadrant.service.ratelimit.v1.RateLimitService/Reserve",
    "/kuadrant.service.ratelimit.v1.RateLimitService/Commit",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch"};

Asks asks_of(int method) {
  constexpr std::array<Asks, 5> kAsks = {Asks::may_pass, Asks::whether, Asks::report, Asks::reserve,
                                         Asks::commit};
  return kAsks[static_cast<std::size_t>(method)];
}

// How long a client may take to say that it has understood that it is to go elsewhere.
constexpr std::chrono::seconds kUnderstands{1};

// Of connections that came together not all end together: one earlier or later by up to a tenth.
nanoseconds spread(nanoseconds age, std::uint64_t id) {
  constexpr std::int64_t kSteps = 201;
  const auto step = static_cast<std::int64_t>(std::hash<std::string>{}(std::to_string(id)) % kSteps) - 100;
  return age + age / 1000 * step;
}

}  // namespace

Conversation::Conversation(service::Service& service, RlsLoop& loop, net::Peer peer,
                           std::function<void()> resume)
    : service_(service),
      loop_(loop),
      peer_(std::move(peer)),
      resume_(std::move(resume)),
      leaves_at_(service.now() + spread(loop.options.max_age, peer_.id)) {}

Conversation::~Conversation() = default;

std::size_t Conversation::feed(std::string_view input, std::string& out, net::Arrival when) {
  // Before anything is gathered: what is asked and what has come are the same loop's.
  for (const auto& each : batches_)
    if (each->answered()) each->settle();
  when_ = {when.arrived, when.now};
  if (!connection_.receive(input, when.arrived) && !connection_.wrong().empty()) {
    service_.counters.count(&service::Counters::protocol_errors);
    service_.notices.tell(core::Notice::malformed, peer_.address, connection_.wrong());
  }
  if (taking_ != nullptr) std::exchange(taking_, nullptr)->settle();
  more_ = !connection_.send(out);
  return input.size();
}

int Conversation::find(std::string_view path) const {
  const auto found = std::find(kPaths.begin(), kPaths.end(), path);
  return found == kPaths.end() ? -1 : static_cast<int>(found - kPaths.begin());
}

void Conversation::run(grpc::GrpcCall& call) {
  last_ = call.method;
  service_.counters.count(&service::Counters::commands);
  if (call.method == kHealthCheck) return health_.check(call);
  if (call.method == kHealthWatch) return health_.watch(call);
  if (taking_ == nullptr) {
    taking_ = &fresh();
    taking_->begin(when_);
  }
  taking_->take(call, asks_of(call.method));
  if (taking_->full()) std::exchange(taking_, nullptr)->settle();
}

void Conversation::gone(grpc::GrpcCall& call) { health_.gone(call); }

void Conversation::look_at_time(nanoseconds now) {
  if (!connection_.leaving() && now >= leaves_at_) {
    go_away(now);
    ends_at_ = now + loop_.options.grace;
  }
  if (connection_.leaving() && now - told_to_leave_at_ >= kUnderstands) take_no_more();
  if (now >= ends_at_) over_ = more_ = true;
  if (health_.look()) more_ = true;
}

bool Conversation::say_goodbye() {
  health_.end();
  go_away(service_.now());
  return true;
}

void Conversation::take_no_more() {
  connection_.take_no_more();
  more_ = true;
}

void Conversation::go_away(nanoseconds now) {
  connection_.go_away();
  told_to_leave_at_ = now;
  more_ = true;
}

Batch& Conversation::fresh() {
  const auto idle =
      std::find_if(batches_.begin(), batches_.end(), [](const auto& each) { return !each->waiting(); });
  if (idle != batches_.end()) return **idle;
  return *batches_.emplace_back(std::make_unique<Batch>(loop_, connection_, peer_.address, resume_));
}

bool Conversation::busy() const {
  return more_ ||
         std::any_of(batches_.begin(), batches_.end(), [](const auto& each) { return each->answered(); });
}

std::size_t Conversation::kept() const {
  std::size_t bytes = connection_.kept();
  for (const auto& each : batches_) bytes += each->kept();
  return bytes;
}

void Conversation::describe(net::ClientInfo& client) const {
  client.user = service_.options().user;
  client.command = last_ >= 0 ? std::string(kPaths[static_cast<std::size_t>(last_)]) : "NULL";
}

}  // namespace weir::rls
