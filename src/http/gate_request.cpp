#include "http/gate_request.hpp"

#include "core/client_address.hpp"
#include "core/path.hpp"

namespace weir::inline v0_1::http {
namespace {

using From = limits::Gateway::From;
using Wrong = GateRequest::Wrong;

void add(GateRequest& into, std::string_view name, std::string_view value) {
  into.attributes[into.count++] = {name, value};
}

// The one field of that name; null when there is none, or two, which is wrong.
const Field* only(const Message& message, std::string_view name, GateRequest& into) {
  const Field* const found = message.find(name);
  if (found != nullptr && message.find(name, found) != nullptr) {
    into.wrong = Wrong::header_twice;
    return nullptr;
  }
  return found;
}

void add_header(const Message& message, std::string_view header, std::string_view attribute,
                GateRequest& into) {
  const Field* const found = only(message, header, into);
  if (found != nullptr && !found->value.empty()) add(into, attribute, found->value);
}

void add_target(std::string_view target, const limits::Gateway& gateway, GateRequest& into) {
  const auto odd = gateway.keep_odd_paths ? core::OddPath::keep : core::OddPath::refuse;
  if (!core::append_path(target, odd, into.path)) {
    into.wrong = Wrong::odd_path;
    return;
  }
  into.has_path = true;
  add(into, "path", into.path);
  add(into, "raw_path", target);
}

void add_header_target(const Message& message, std::string_view header, const limits::Gateway& gateway,
                       GateRequest& into) {
  if (const Field* const found = only(message, header, into)) add_target(found->value, gateway, into);
}

void add_address(std::string_view address, GateRequest& into) {
  into.has_ip = true;
  add(into, "ip", address);
}

// One address, in a header that the gateway writes afresh.
void add_single_address(const Message& message, const limits::Gateway& gateway, GateRequest& into) {
  const Field* const found = only(message, gateway.address, into);
  if (found == nullptr || found->value.empty()) return;
  const std::string_view address = core::without_port(found->value);
  if (address.empty()) {
    into.wrong = Wrong::odd_address;
  } else {
    add_address(address, into);
  }
}

// Addresses that each proxy has appended one to: all fields of that name are one list.
void add_listed_address(const Message& message, const limits::Gateway& gateway, GateRequest& into) {
  core::ClientAddress client(gateway.trusted);
  bool ends = false;
  for (std::size_t i = message.fields.size(); i > 0; --i) {
    const Field& field = message.fields[i - 1];
    if (!same(field.name, gateway.address)) continue;
    if (ends) {
      client.pass(field.value);
    } else {
      ends = client.take(field.value);
    }
  }
  if (client.may_be_a_proxys()) into.proxy = client.text();
  if (client.outcome() == core::ClientAddress::Outcome::odd) {
    into.wrong = Wrong::odd_address;
  } else if (client.outcome() == core::ClientAddress::Outcome::found) {
    add_address(client.text(), into);
  }
}

}  // namespace

void read_gate_request(const limits::Gateway& gateway, const Message& message, std::string_view target,
                       GateRequest& into) {
  into.wrong = Wrong::nothing;
  into.has_ip = into.has_path = false;
  into.count = 0;
  into.path.clear();
  into.proxy = {};
  switch (gateway.from) {
    case From::x_forwarded:
      add_header(message, "X-Forwarded-Method", "method", into);
      add_header(message, "X-Forwarded-Host", "host", into);
      add_header_target(message, "X-Forwarded-Uri", gateway, into);
      add_listed_address(message, gateway, into);
      break;
    case From::x_original:
      add_header(message, "X-Original-Method", "method", into);
      add_header(message, "X-Original-Host", "host", into);
      add_header_target(message, "X-Original-URI", gateway, into);
      add_single_address(message, gateway, into);
      break;
    case From::path:
      add(into, "method", message.method);
      add_header(message, "Host", "host", into);
      add_target(target.starts_with('/') ? target : "/", gateway, into);
      add_listed_address(message, gateway, into);
      break;
  }
  for (const limits::Gateway::Mapped& each : gateway.attributes) {
    if (const Field* const found = only(message, each.header, into)) add(into, each.attribute, found->value);
  }
}

}  // namespace weir::http
