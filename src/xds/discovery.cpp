#include "xds/discovery.hpp"

#include <exception>
#include <protozero/pbf_writer.hpp>

#include "xds/wire.hpp"

namespace weir::inline v0_1::xds {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr int kInvalidArgument = 3;  // of google.rpc.Code

Resource read_any(std::string_view message) {
  Resource any;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case field(1, kBytes):
        any.type_url = view_of(reader);
        break;
      case field(2, kBytes):
        any.value = view_of(reader);
        break;
      default:
        reader.skip();
    }
  }
  return any;
}

std::string struct_of(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string out;
  for (const auto& [name, text] : texts) {
    std::string value;
    pbf_writer(value).add_string(3, text);
    std::string entry;
    pbf_writer(entry).add_string(1, name);
    pbf_writer(entry).add_message(2, value);
    pbf_writer(out).add_message(1, entry);
  }
  return out;
}

std::string node_of(const XdsNode& node) {
  std::string out;
  pbf_writer to(out);
  to.add_string(1, node.id);
  if (!node.metadata.empty()) to.add_message(3, struct_of(node.metadata));
  to.add_string(6, "weir");
  return out;
}

}  // namespace

std::optional<DiscoveryResponse> read_response(std::string_view message) {
  DiscoveryResponse response;
  try {
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case field(1, kBytes):
          response.version = text_of(reader);
          break;
        case field(2, kBytes):
          response.resources.push_back(read_any(view_of(reader)));
          break;
        case field(4, kBytes):
          response.type_url = text_of(reader);
          break;
        case field(5, kBytes):
          response.nonce = text_of(reader);
          break;
        default:
          reader.skip();
      }
    }
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return response;
}

std::string write_request(const XdsNode& node, const DiscoveryRequest& request) {
  std::string out;
  pbf_writer to(out);
  if (!request.version.empty()) to.add_string(1, request.version);
  to.add_message(2, node_of(node));
  to.add_string(4, request.type_url);
  if (!request.nonce.empty()) to.add_string(5, request.nonce);
  if (request.refusal.empty()) return out;
  std::string detail;
  pbf_writer(detail).add_int32(1, kInvalidArgument);
  pbf_writer(detail).add_string(2, request.refusal);
  to.add_message(6, detail);
  return out;
}

}  // namespace weir::xds
