#include "http/admin_conversation.hpp"

#include <algorithm>
#include <utility>

#include "http/admin_page.hpp"
#include "http/handlers.hpp"
#include "http/problem.hpp"
#include "http/query.hpp"

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

// "here are /metrics, /healthz and /readyz".
std::string here_are(const AdminPages& pages) {
  std::string text = pages.size() == 1 ? "here is " : "here are ";
  for (std::size_t i = 0; i < pages.size(); ++i)
    text += (i == 0 ? "" : i + 1 == pages.size() ? " and " : ", ") + pages[i].path;
  return text;
}

// What operators ask and change, which a loop that decides answers. Nothing is charged here.
bool is_forwarded(const Message& message) {
  const Handler* const route = find_route(message.path);
  return route != nullptr && (route->role >= steering::Role::operate || route->path == "/v1/look");
}

}  // namespace

AdminPage metrics_page(std::string path, service::Service& service, const Readiness& readiness) {
  const auto write = [&service, &readiness](const Message& message, Reply& reply) {
    if (!readiness.started()) return write_problem(reply, 503, "starting");
    const Format format = format_for(message);
    reply.type = service::Exposition::content_type(format);
    reply.body = service.metrics.expose(format);
  };
  return {std::move(path), write, true};
}

AdminPages admin_pages(service::Service& service, const Readiness& readiness) {
  const auto told = [](const std::function<std::string()>& trouble) {
    return [&trouble](const Message&, Reply& reply) {
      const std::string why = trouble();
      reply.status = why.empty() ? 200 : 503;
      reply.body = (why.empty() ? "ok" : why) + "\n";
    };
  };
  return {metrics_page("/metrics", service, readiness),
          {"/healthz", told(readiness.why_ill)},
          {"/readyz", told(readiness.why_not)},
          {"/", [](const Message&, Reply& reply) { write_admin_page(reply); }}};
}

AdminConversation::AdminConversation(service::Service& service, const AdminPages& pages, const AdminApi& api,
                                     Loop& loop, net::Peer peer, const std::function<void()>& resume,
                                     steering::Role most)
    : pages_(pages),
      api_(api),
      loop_(loop),
      peer_(std::move(peer)),
      page_judge_{peer_, service.options().host_names, service.logins.required()},
      most_(most),
      door_(service, peer_, most, loop.post, resume),
      forwarded_(loop.post, resume) {}

std::size_t AdminConversation::feed(std::string_view input, std::string& out, net::Arrival) {
  if (waiting()) return 0;
  busy_ = late_ = false;
  if (const auto forwarded = forwarded_.take()) {
    out += forwarded->reply;
    late_ = forwarded->late;
    closing_ = forwarded->closes;
    if (closing_) return input.size();
    if (late_) {
      busy_ = true;
      return 0;
    }
  }
  const RequestParser::Status status = parser_.next(input, loop_.room);
  if (status == RequestParser::Status::incomplete || (status == RequestParser::Status::head && has_head_))
    return 0;
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
  has_head_ = false;
  const bool is_api = api_.forward && is_forwarded(message);
  const bool may_ask = judge_page(message, is_api, reply);
  if (may_ask && is_api) {
    has_head_ = !whole;
    if (!whole) return 0;
    // Answered by another loop, and then by the next call of feed().
    api_.forward(std::string(input.substr(0, parser_.consumed())), peer_, most_, forwarded_.begin());
    return parser_.consumed();
  }
  if (may_ask) answer(message, reply);
  if (waiting()) {
    parser_.find_again();
    return 0;
  }
  write(reply,
        {.minor = message.minor, .keep_alive = message.keep_alive && whole, .head = message.method == "HEAD"},
        out);
  if (closing_) return input.size();
  // The next one in a turn of its own: a scrape is long.
  busy_ = late_ || parser_.consumed() < input.size();
  return parser_.consumed();
}

// What is not of /v1 steers nothing and tells no key, and scrapers may know it by any name.
bool AdminConversation::judge_page(const Message& message, bool is_api, Reply& reply) const {
  std::string why = page_judge_.why_not(message);
  if (why.empty() && is_api) why = page_judge_.why_not_by_name(message);
  if (!why.empty()) write_problem(reply, 403, why);
  return why.empty();
}

void AdminConversation::answer(const Message& message, Reply& reply) {
  append_field(reply.fields, "Cache-Control", "no-store");
  const auto page = std::find_if(pages_.begin(), pages_.end(),
                                 [&message](const AdminPage& each) { return each.path == message.path; });
  if (page == pages_.end()) return write_problem(reply, 404, here_are(pages_));
  if (has_credential(message.query)) return write_problem(reply, 400, kCredentialInUrl);
  // From this machine anybody may read metrics.
  if (page->asks_who && !peer_.local) {
    const Doorkeeper::Verdict verdict = door_.judge(message, reply);
    late_ = verdict == Doorkeeper::Verdict::late;
    if (verdict != Doorkeeper::Verdict::in) return;
  }
  if (message.method != "GET" && message.method != "HEAD") {
    append_field(reply.fields, "Allow", kMethods);
    return write_problem(reply, 405, "allowed methods: " + std::string(kMethods));
  }
  reply.type = kText;
  page->write(message, reply);
}

void AdminConversation::write(const Reply& reply, const Framing& framing, std::string& out) {
  append_reply(out, reply, framing);
  closing_ = reply.closes || !framing.keep_alive;
}

void AdminConversation::describe(net::ClientInfo& client) const { client.command = "admin"; }

}  // namespace weir::http
