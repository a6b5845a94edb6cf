#include "server/notice_lines.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "server/log.hpp"

namespace weir::inline v0_1::server {
namespace {

struct NoticeText {
  std::string_view name;  // for programs that read the log
  std::string_view what;
};

// In the order of core::Notice.
constexpr std::array<NoticeText, static_cast<std::size_t>(core::Notice::kCount)> kTexts = {{
    {"cannot_accept", "cannot accept a connection"},
    {"too_many_connections", "connection refused: --max-connections are open"},
    {"plain_client", "connection closed: not TLS, at a listener that speaks TLS"},
    {"tls_refused", "connection closed: TLS handshake failed"},
    {"wrong_password", "wrong user or password"},
    {"malformed", "connection closed: malformed bytes"},
    {"stalled", "connection closed: half a command or unread replies for --stall-timeout"},
    {"client_memory", "connection closed: it kept too much memory"},
    {"table_full", "the table is full: --when-full decides about new keys"},
    {"wrong_gate_token", "a gateway's token is wrong or missing"},
    {"gate_without_address",
     "the gate was asked without a client's address, so limits by ip do not apply; gateway"},
    {"gate_untrusted_proxy",
     "of X-Forwarded-For an address of a private network counts as the client, though others stand to its "
     "left; if it is a proxy, put it into the gateway's 'trusted'; gateway"},
    {"gate_refused", "the gate denied a request that no limit decided; gateway"},
    {"rls_refused", "a message of Envoy's could not be asked about"},
    {"two_rules",
     "a key is asked about by two rules in turn, under which it has one debt; each needs its own key"},
}};

}  // namespace

void write_notice(const core::Notices::Report& told) {
  const NoticeText& words = kTexts[static_cast<std::size_t>(told.notice)];
  std::string line(words.what);
  if (!told.detail.empty()) line += ": " + std::string(told.detail);
  if (!told.client.empty()) line += "; client " + std::string(told.client);
  if (told.times > 1) line += "; " + std::to_string(told.times) + " times since the last such line";
  const std::array<LogField, 3> fields = {
      {{"notice", words.name}, {"times", told.times}, {"client", told.client}}};
  log(LogLevel::warning, line, std::span(fields).first(told.client.empty() ? 2 : 3));
}

}  // namespace weir::server
