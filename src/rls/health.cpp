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

char HealthService::state() const { return ended_ ? kNotServing : kServing; }

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
  connection_.stream(call, said(*known ? state() : kUnknown));
  watching_.push_back(&call);
}

void HealthService::gone(grpc::GrpcCall& call) { std::erase(watching_, &call); }

void HealthService::end() {
  if (std::exchange(ended_, true)) return;
  for (grpc::GrpcCall* each : watching_) {
    connection_.stream(*each, said(kNotServing));
    connection_.end(*each, grpc::Code::unavailable, "the server ends");
  }
}

}  // namespace weir::rls
