#include "rls/health.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace weir::inline v0_1::rls {
namespace {

constexpr char kServing = 1;
constexpr char kNotServing = 2;
constexpr char kUnknown = 3;

// The services that can be asked about; the first is the whole server.
constexpr std::array<std::string_view, 3> kServices = {"", "ratelimit",
                                                       "envoy.service.ratelimit.v3.RateLimitService"};

// Nothing: it is not a HealthCheckRequest.
std::optional<bool> knows(std::string_view message) {
  std::string_view service;
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (reader.tag_and_type() == protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited)) {
        const protozero::data_view view = reader.get_view();
        service = {view.data(), view.size()};
      } else {
        reader.skip();
      }
    }
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return std::find(kServices.begin(), kServices.end(), service) != kServices.end();
}

// A HealthCheckResponse.
std::string said(char state) { return {'\x08', state}; }

}  // namespace

char HealthService::state() const { return ended_ || (healthy_ && !healthy_()) ? kNotServing : kServing; }

void HealthService::check(grpc::GrpcCall& call) {
  const auto known = knows(call.message());
  if (!known)
    return connection_.refuse(call, grpc::Code::internal, "the message is not a HealthCheckRequest");
  if (!*known) return connection_.refuse(call, grpc::Code::not_found, "unknown service");
  call.answer() += said(state());
  connection_.reply(call);
}

void HealthService::watch(grpc::GrpcCall& call) {
  const auto known = knows(call.message());
  if (!known)
    return connection_.refuse(call, grpc::Code::internal, "the message is not a HealthCheckRequest");
  const char told = *known ? state() : kUnknown;
  connection_.stream(call, said(told));
  watching_.push_back({&call, told});
}

void HealthService::gone(grpc::GrpcCall& call) {
  std::erase_if(watching_, [&call](const Watching& each) { return each.call == &call; });
}

bool HealthService::look() {
  if (watching_.empty()) return false;
  const char now = state();
  bool changed = false;
  for (Watching& each : watching_) {
    if (each.told == now || each.told == kUnknown) continue;
    each.told = now;
    connection_.stream(*each.call, said(now));
    changed = true;
  }
  return changed;
}

void HealthService::end() {
  if (std::exchange(ended_, true)) return;
  look();
  for (const Watching& each : watching_)
    connection_.end(*each.call, grpc::Code::unavailable, "the server ends");
}

}  // namespace weir::rls
