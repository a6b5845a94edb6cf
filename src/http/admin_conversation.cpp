#include "http/admin_conversation.hpp"

#include <utility>

#include "http/authorization.hpp"
#include "http/problem.hpp"

namespace weir::inline v0_1::http {
namespace {

using Format = service::Exposition::Format;

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kMethods = "GET, HEAD";

// Prometheus asks for OpenMetrics by name; a client that takes everything gets plain text.
Format format_for(const Message& message) {
  for (const Field* each = message.find("Accept"); each != nullptr; each = message.find("Accept", each)) {
    if (each->value.find("application/openmetrics-text") != std::string_view::npos)
      return Format::openmetrics;
  }
  return Format::prometheus;
}

}  // namespace

AdminConversation::AdminConversation(service::Service& service, const Readiness& readiness, FieldRoom& room,
                                     net::Peer peer)
    : service_(service), readiness_(readiness), room_(room), peer_(std::move(peer)) {}

std::size_t AdminConversation::feed(std::string_view input, std::string& out, net::Arrival) {
  busy_ = late_ = false;
  const RequestParser::Status status = parser_.next(input, room_);
  if (status == RequestParser::Status::incomplete) return 0;
  Reply reply;
  if (status == RequestParser::Status::refused) {
    write_problem(reply, parser_.refusal().status, parser_.refusal().detail);
    write(reply, {.keep_alive = false}, out);
    return input.size();
  }
  has_asked_ = true;
  const Message& message = parser_.message();
  // Nothing here takes a body, so none is waited for.
  const bool whole = status == RequestParser::Status::whole;
  answer(message, reply);
  write(reply,
        {.minor = message.minor, .keep_alive = message.keep_alive && whole, .head = message.method == "HEAD"},
        out);
  if (closing_) return input.size();
  // The next one in a turn of its own: a scrape is long.
  busy_ = late_ || parser_.consumed() < input.size();
  return parser_.consumed();
}

void AdminConversation::answer(const Message& message, Reply& reply) {
  append_field(reply.fields, "Cache-Control", "no-store");
  const bool metrics = message.path == "/metrics";
  const bool ready = message.path == "/readyz";
  if (metrics && !judge_caller(message, reply)) return;
  if (!metrics && !ready && message.path != "/healthz")
    return write_problem(reply, 404, "here are /metrics, /healthz and /readyz");
  if (message.method != "GET" && message.method != "HEAD") {
    append_field(reply.fields, "Allow", kMethods);
    return write_problem(reply, 405, "allowed methods: " + std::string(kMethods));
  }
  reply.type = kText;
  if (metrics && readiness_.started()) {
    const Format format = format_for(message);
    reply.type = service::Exposition::content_type(format);
    reply.body = service_.metrics.expose(format);
    return;
  }
  if (metrics) return write_problem(reply, 503, "starting");
  const std::string why = ready ? readiness_.why_not() : readiness_.why_ill();
  reply.status = why.empty() ? 200 : 503;
  reply.body = (why.empty() ? "ok" : why) + "\n";
}

// From this machine anybody may read metrics.
bool AdminConversation::judge_caller(const Message& message, Reply& reply) {
  if (peer_.local || !asks_who(service_)) return true;
  const Authorized authorized = admit(service_, message, peer_.address, known_, reply);
  known_ = known_ || authorized == Authorized::yes;
  late_ = authorized == Authorized::wrong;
  return authorized == Authorized::yes;
}

void AdminConversation::write(const Reply& reply, const Framing& framing, std::string& out) {
  append_reply(out, reply, framing);
  closing_ = reply.closes || !framing.keep_alive;
}

void AdminConversation::describe(net::ClientInfo& client) const { client.command = "admin"; }

}  // namespace weir::http
