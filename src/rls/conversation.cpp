#include "rls/conversation.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::inline v0_1::rls {
namespace {

enum Method : std::uint8_t { kShouldRateLimit };
constexpr std::array<std::string_view, 1> kPaths = {
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"};

}  // namespace

Conversation::Conversation(service::Service& service, RlsLoop& loop, net::Peer peer,
                           std::function<void()> resume)
    : service_(service), loop_(loop), peer_(std::move(peer)), resume_(std::move(resume)) {}

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

void Conversation::run(grpc::Call& call) {
  last_ = call.method;
  service_.counters.count(&service::Counters::commands);
  if (taking_ == nullptr) {
    taking_ = &fresh();
    taking_->begin(when_);
  }
  taking_->take(call);
  if (taking_->full()) std::exchange(taking_, nullptr)->settle();
}

void Conversation::gone(grpc::Call&) {}

Batch& Conversation::fresh() {
  const auto idle =
      std::find_if(batches_.begin(), batches_.end(), [](const auto& each) { return !each->waiting(); });
  if (idle != batches_.end()) return **idle;
  return *batches_.emplace_back(
      std::make_unique<Batch>(loop_, connection_, std::hash<std::string>{}(peer_.address), resume_));
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
