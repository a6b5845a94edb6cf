#include "http/conversation.hpp"

#include <string>
#include <utility>

#include "http/authorization.hpp"
#include "http/problem.hpp"

namespace weir::inline v0_1::http {

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// What tells an address from the number of a connection, which is what reserves over RESP.
constexpr std::uint64_t kAddress = std::uint64_t{1} << 63;

// What clients are told of limits that the request brings.
void keep(service::Question& question) {
  if (!question.by_file) question.keep_limits();
}

}  // namespace

Conversation::Conversation(service::Service& service, HttpLoop& loop, net::Peer peer,
                           std::function<void()> resume)
    : service_(service),
      loop_(loop),
      peer_(std::move(peer)),
      asking_(loop.asker, std::hash<std::string>{}(peer_.address) | kAddress, &keep, std::move(resume)),
      parser_([](const Message& head) {
        const Handler* const route = find_route(head.path);
        return route != nullptr && route->open();
      }),
      trusted_(!asks_who(service)) {}

Conversation::~Conversation() {
  if (exchange_) loop_.put_back(std::move(exchange_));
}

std::size_t Conversation::feed(std::string_view input, std::string& out, net::Arrival when) {
  if (waiting()) return 0;
  late_ = busy_ = false;
  if (exchange_) {
    settle(*exchange_);
    write(exchange_->reply, out);
    loop_.put_back(std::move(exchange_));
  }
  std::size_t used = 0;
  while (!closing_ && !late_ && !waiting() && used < input.size()) {
    if (out.size() >= kOutputCap) {
      busy_ = true;
      break;
    }
    const RequestParser::Status status = parser_.next(input.substr(used), loop_.fields);
    if (status == RequestParser::Status::incomplete) break;
    if (status == RequestParser::Status::head) {
      refuse_by_head(out);
      break;
    }
    if (status == RequestParser::Status::refused) {
      fail(out);
      break;
    }
    used += parser_.consumed();
    if (status == RequestParser::Status::skipped) {
      if (parser_.consumed() == 0) break;
      continue;
    }
    if (parser_.skipping() && parser_.expects_continue() && used == input.size()) out += kContinue;
    told_to_continue_ = false;
    take(out, when);
    parser_.drop_body();
    when.arrived = std::max(when.arrived, when.now);
  }
  busy_ = busy_ || late_;
  return closing_ ? input.size() : used;
}

// A request that is whole.
void Conversation::take(std::string& out, net::Arrival when) {
  const Message& message = parser_.message();
  framing_ = {.minor = message.minor, .keep_alive = message.keep_alive, .head = message.method == "HEAD"};
  service_.counters.count(&service::Counters::commands);
  std::unique_ptr<Exchange> exchange = loop_.take();
  const Handler* route = nullptr;
  if (!judge(message, route, exchange->reply)) {
    write(exchange->reply, out);
    return loop_.put_back(std::move(exchange));
  }
  exchange->peer = &peer_;
  exchange->asking = &asking_;
  asking_.begin({when.arrived, when.now});
  route->run(message, *exchange);
  trusted_ = trusted_ || exchange->trusted;
  if (!settle(*exchange)) {
    exchange_ = std::move(exchange);
    return;
  }
  write(exchange->reply, out);
  loop_.put_back(std::move(exchange));
}

// What its head says is enough to refuse it. True: it may run.
bool Conversation::judge(const Message& message, const Handler*& route, Reply& reply) {
  const auto refuse = [&reply](int status, std::string_view detail) {
    write_problem(reply, status, detail);
    return false;
  };
  last_ = route = find_route(message.path);
  if (route != nullptr && route->open()) return true;
  if (message.find("Origin") != nullptr)
    return refuse(403, "a request with Origin comes from a web page, and none may ask");
  if (!judge_caller(message, reply)) return false;
  if (message.method == "OPTIONS" && message.target == "*") {
    reply.status = 204;
    append_field(reply.fields, "Allow", "GET, HEAD, POST, OPTIONS");
    return false;
  }
  if (route == nullptr) return refuse(404, "nothing answers at this path; /openapi.json lists those that do");
  const bool post = route->takes_json;
  if (message.method == "OPTIONS") {
    reply.status = 204;
    append_field(reply.fields, "Allow", route->methods);
    return false;
  }
  if (post ? message.method != "POST" : message.method != "GET" && message.method != "HEAD") {
    append_field(reply.fields, "Allow", route->methods);
    return refuse(405, "allowed methods: " + std::string(route->methods));
  }
  if (!post) return true;
  for (const Field* each = message.find("Content-Encoding"); each != nullptr;
       each = message.find("Content-Encoding", each)) {
    if (each->value.empty() || same(each->value, "identity")) continue;
    append_field(reply.fields, "Accept-Encoding", "identity");
    return refuse(415, "the body must be sent as it is, without a Content-Encoding");
  }
  const Field* const type = message.find("Content-Type");
  if (type == nullptr) return true;
  const std::string_view name = type->value.substr(0, type->value.find_first_of("; \t"));
  if (message.find("Content-Type", type) == nullptr && same(name, kJson)) return true;
  append_field(reply.fields, "Accept-Post", kJson);
  return refuse(415, "the body must be application/json, as `curl --json` says it");
}

bool Conversation::judge_caller(const Message& message, Reply& reply) {
  if (!asks_who(service_)) return true;
  const Authorized authorized = admit(service_, message, peer_.address, known_, reply);
  known_ = known_ || authorized == Authorized::yes;
  trusted_ = trusted_ || known_;
  late_ = late_ || authorized == Authorized::wrong;
  return authorized == Authorized::yes;
}

// The head is there and its body is not. Without this a client that may not ask could still send 1 MiB.
void Conversation::refuse_by_head(std::string& out) {
  const Message& message = parser_.message();
  if (message.method.empty()) return;  // it has been judged
  framing_ = {.minor = message.minor, .keep_alive = false, .head = message.method == "HEAD"};
  Reply reply;
  const Handler* route = nullptr;
  // What is answered without being refused, as OPTIONS is, waits for its body and leaves the connection open.
  if (!judge(message, route, reply) && reply.status >= 400) {
    closing_ = true;
    return write(reply, out);
  }
  if (parser_.expects_continue() && !std::exchange(told_to_continue_, true)) out += kContinue;
}

// Where the next request begins cannot be known.
void Conversation::fail(std::string& out) {
  const RequestParser::ParseError& refusal = parser_.refusal();
  // One whose body is thrown away has its answer already.
  if (!parser_.skipping()) {
    framing_ = {.keep_alive = false};
    Reply reply;
    write_problem(reply, refusal.status, refusal.detail);
    write(reply, out);
  }
  service_.counters.count(&service::Counters::protocol_errors);
  service_.notices.tell(core::Notice::malformed, peer_.address, refusal.detail);
  closing_ = true;
}

// False: some of it waits for its answer.
bool Conversation::settle(Exchange& exchange) {
  return asking_.settle([&exchange](const service::Question& each) { exchange.tell(exchange, each); });
}

void Conversation::write(const Reply& reply, std::string& out) {
  framing_.date = loop_.date();  // the loop's text is another each second, and an answer may have waited
  append_reply(out, reply, framing_);
  if (reply.closes || !framing_.keep_alive) closing_ = true;
}

void Conversation::describe(net::ClientInfo& client) const {
  client.user = trusted_ ? service_.options().user : "";
  client.waits = asking_.acquiring();
  client.command = last_ != nullptr ? std::string(last_->path) : "NULL";
}

// All that it knows of a peer between two requests: whether that has shown what it is asked for.
std::optional<std::string> Conversation::hand_over() const {
  if (closing_ || late_ || exchange_) return std::nullopt;
  return std::string{trusted_ ? 't' : '-', known_ ? 'k' : '-', told_to_continue_ ? 'c' : '-'};
}

bool Conversation::take_over(std::string_view state) {
  if (state.size() != 3) return false;
  trusted_ = trusted_ || state[0] == 't';
  known_ = known_ || state[1] == 'k';
  told_to_continue_ = state[2] == 'c';
  return true;
}

}  // namespace weir::http
