#include "logs/known_names.hpp"

#include <algorithm>
#include <utility>

namespace weir::inline v0_1::logs {
namespace {

using Names = std::vector<std::string_view>;

// A request's beginning is better than its end, and what a proxy was told better than who the proxy is.
const Names kTime = {"start_time",
                     "StartUTC",
                     "EdgeStartTimestamp",
                     "started_at",
                     "time",
                     "timestamp",
                     "@timestamp",
                     "ts",
                     "time_iso8601",
                     "time_local",
                     "msec",
                     "date",
                     "datetime",
                     "requestTimeEpoch",
                     "requestTime",
                     "cri.time",
                     "docker.time",
                     "syslog.time"};
// A client may be an application; an ip is an address.
const Names kClient = {"ip",
                       "client",
                       "client_ip",
                       "remote_addr",
                       "remote_ip",
                       "clientip",
                       "request.client_ip",
                       "request.remote_ip",
                       "request.remote_addr",
                       "remote_host",
                       "ClientHost",
                       "ClientIP",
                       "c-ip",
                       "id.orig_h",
                       "httpRequest.remoteIp",
                       "httpRequest.clientIp",
                       "downstream_remote_address"};

const std::vector<std::pair<std::string_view, Names>> kOtherNames = {
    {"user", {"remote_user", "user_id", "username", "ClientUsername", "cs-username"}},
    {"method",
     {"request_method", "request.method", "RequestMethod", "cs-method", "ClientRequestMethod", "httpMethod",
      "httpRequest.requestMethod", "httpRequest.httpMethod"}},
    {"path",
     {"uri", "request_uri", "request.uri", "url", "request.path", "RequestPath", "cs-uri-stem",
      "ClientRequestPath", "ClientRequestURI", "resourcePath", "httpRequest.requestUrl", "httpRequest.uri"}},
    {"protocol",
     {"server_protocol", "request.proto", "RequestProtocol", "cs-protocol-version", "cs-version",
      "ClientRequestProtocol", "httpRequest.protocol"}},
    {"host",
     {"vhost", "http_host", "request.host", "server_name", "authority", "RequestHost", "x-host-header",
      "cs-host", "cs(Host)", "ClientRequestHost", "domain_name"}},
    {"status",
     {"status_code", "response_code", "response.status", "sc-status", "DownstreamStatus",
      "EdgeResponseStatus", "elb_status_code", "httpRequest.status"}},
    {"bytes",
     {"body_bytes_sent", "bytes_sent", "size", "response.size", "sc-bytes", "DownstreamContentSize",
      "EdgeResponseBytes", "sent_bytes", "response_body_len", "responseLength", "httpRequest.responseSize"}},
    {"referer",
     {"http_referer", "referrer", "cs(Referer)", "request.headers.Referer[0]", "request_Referer",
      "ClientRequestReferer", "httpRequest.referer"}},
    {"agent",
     {"user_agent", "http_user_agent", "cs(User-Agent)", "request.headers.User-Agent[0]",
      "request.headers.user-agent", "request_User-Agent", "ClientRequestUserAgent", "httpRequest.userAgent",
      "userAgent"}},
    {"xff",
     {"x_forwarded_for", "http_x_forwarded_for", "x-forwarded-for", "X-Forwarded-For",
      "request.headers.X-Forwarded-For[0]", "request.headers.x-forwarded-for", "request_X-Forwarded-For",
      "x-forwarded-for", "cs(X-Forwarded-For)"}},
};

std::vector<std::string> texts(const Names& names, std::string_view element) {
  std::vector<std::string> all;
  for (const std::string_view name : names) all.push_back(std::string(name) + std::string(element));
  return all;
}

}  // namespace

std::vector<std::string> names_of(std::string_view asked) {
  if (asked.empty() || asked == "ip") return texts(kClient, "");
  if (asked == "time") return texts(kTime, "");
  const std::size_t bracket = std::min(asked.find('['), asked.size());
  const std::string_view list = asked.substr(0, bracket);
  std::vector<std::string> names{std::string(asked)};
  for (const auto& [name, others] : kOtherNames) {
    if (name != list) continue;
    const std::vector<std::string> more = texts(others, asked.substr(bracket));
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

}  // namespace weir::logs
