// The messages of xDS's aggregated discovery service, state of the world: what a server says, and what it is
// asked and answered.
//
// Pure, any thread. Not for: what a resource means (rate_limit_config.hpp), and when which is sent
// (subscription.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::inline v0_1::xds {

constexpr std::string_view kMethod =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

// A google.protobuf.Any.
struct Resource {
  std::string_view type_url;
  std::string_view value;
};

// A DiscoveryResponse. It views the message.
struct DiscoveryResponse {
  std::string version;
  std::string nonce;
  std::string type_url;
  std::vector<Resource> resources;
};

// Nothing: it is malformed.
std::optional<DiscoveryResponse> read_response(std::string_view message);

// Who asks: what a server chooses by.
struct XdsNode {
  std::string id;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// A DiscoveryRequest.
struct DiscoveryRequest {
  std::string type_url;
  std::string version{};  // the last that was accepted
  std::string nonce{};    // of the response that it answers
  std::string refusal{};  // why that response is refused; empty: it is not
};

std::string write_request(const XdsNode& node, const DiscoveryRequest& request);

}  // namespace weir::xds
