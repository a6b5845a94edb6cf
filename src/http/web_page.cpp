#include "http/web_page.hpp"

#include <algorithm>

#include "core/address.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::http {
namespace {

// localhost, an address, or one of the names; with a port or without. No name leads to an address by itself.
bool is_our_host(std::string_view host, const PageJudge& judge) {
  if (judge.peer.address == "unix") return true;
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  std::string name(host.substr(0, has_port ? colon : host.size()));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return lower(c); });
  if (name == "localhost" || std::find(judge.names.begin(), judge.names.end(), name) != judge.names.end())
    return true;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return core::parse_address(name).has_value();
}

std::string quoted(std::string_view host) { return "'" + core::printable(host.substr(0, 64)) + "'"; }

}  // namespace

std::string PageJudge::why_not(const Message& message) const {
  const std::string_view host = message.value("Host");
  const Field* const origin = message.find("Origin");
  if (origin == nullptr) return {};
  if (message.find("Origin", origin) != nullptr) return "a request has one Origin, and this one has several";
  if (origin->value != "http://" + std::string(host) && origin->value != "https://" + std::string(host))
    return "a request with Origin comes from a web page, and this one is not of this listener";
  if (is_our_host(host, *this)) return {};
  return "a page at " + quoted(host) + " may ask only where --admin-name is that name";
}

std::string PageJudge::why_not_by_name(const Message& message) const {
  const std::string_view host = message.value("Host");
  if (asks_who || host.empty() || message.find("Origin") != nullptr || is_our_host(host, *this)) return {};
  return "the name " + quoted(host) +
         " is not known to lead here: use an address or localhost, or start weir with --admin-name";
}

}  // namespace weir::http
