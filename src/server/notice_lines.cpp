#include "server/notice_lines.hpp"

#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

#include "core/printable.hpp"

namespace weir::server {
namespace {

std::string_view what(core::Notice notice) {
  switch (notice) {
    case core::Notice::cannot_accept:
      return "cannot accept a connection";
    case core::Notice::too_many_connections:
      return "connection refused: --max-connections are open";
    case core::Notice::plain_client:
      return "connection closed: not TLS, at a listener that speaks TLS";
    case core::Notice::tls_refused:
      return "connection closed: TLS handshake failed";
    case core::Notice::wrong_password:
      return "wrong user or password";
    case core::Notice::malformed:
      return "connection closed: malformed bytes";
    case core::Notice::stalled:
      return "connection closed: half a command or unread replies for --stall-timeout";
    case core::Notice::client_memory:
      return "connection closed: it kept too much memory";
    case core::Notice::table_full:
      return "the table is full: --when-full decides about new keys";
    case core::Notice::kCount:
      break;
  }
  return "";
}

}  // namespace

void write_notice(const core::Notices::Told& told) {
  std::string line(what(told.notice));
  if (!told.detail.empty()) line += ": " + core::printable(told.detail);
  if (!told.client.empty()) line += "; client " + core::printable(told.client);
  if (told.times > 1) line += "; " + std::to_string(told.times) + " times since the last such line";
  spdlog::warn("{}", line);
}

}  // namespace weir::server
