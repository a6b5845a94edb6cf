#include "http/conversation.hpp"

#include <string>
#include <utility>

#include "http/problem.hpp"
#include "http/query.hpp"
#include "http/web_page.hpp"

namespace weir::inline v0_1::http {

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// What clients are told of limits that the request brings.
void keep(service::Question& question) {
  if (!question.by_file) question.keep_limits();
}

}  // namespace

Conversation::Conversation(service::Service& service, HttpLoop& loop, net::Peer peer,
                           std::function<void()> resume, steering::Role most)
    : service_(service),
      loop_(loop),
      peer_(std::move(peer)),
      asking_(loop.asker, 0, peer_.address, &keep, resume),
      deferred_(loop.post, resume),
      door_(service, peer_, most, loop.post, std::move(resume)),
      parser_([](const Message& head) {
        const Handler* const route = find_route(head.path);
        return route != nullptr && route->open();
      }),
      trusted_(door_.who().role != steering::Role::none) {
  asking_.come_from(peer_.address);
}

Conversation::~Conversation() {
  if (exchange_) loop_.put_back(std::move(exchange_));
}

std::size_t Conversation::feed(std::string_view input, std::string& out, net::Arrival when) {
  if (waiting()) return 0;
  late_ = busy_ = false;
  if (exchange_) {
    if (const auto write_answer = deferred_.take()) {
      (*write_answer)(exchange_->reply);
      if (recorded_) {
        run_recorded(*exchange_, when);
        if (!settle(*exchange_)) return 0;
      }
    } else {
      settle(*exchange_);
    }
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
    const std::size_t consumed = parser_.consumed();
    if (status == RequestParser::Status::skipped) {
      used += consumed;
      if (consumed == 0) break;
      continue;
    }
    if (parser_.skipping() && parser_.expects_continue() && used + consumed == input.size()) out += kContinue;
    if (!take(out, when, used + consumed == input.size())) break;
    used += consumed;
    told_to_continue_ = false;
    parser_.drop_body();
    when.arrived = std::max(when.arrived, when.now);
  }
  busy_ = busy_ || late_;
  return closing_ ? input.size() : used;
}

// A request that is whole; the last of those that have come. One that leaves tells the client not to ask here
// again, and drops nothing that it has sent. False: it is to be taken later, when its sender is known.
bool Conversation::take(std::string& out, net::Arrival when, bool last) {
  const Message& message = parser_.message();
  const bool leaves = last && service_.process.leaving.load(std::memory_order_relaxed);
  framing_ = {
      .minor = message.minor, .keep_alive = message.keep_alive && !leaves, .head = message.method == "HEAD"};
  std::unique_ptr<Exchange> exchange = loop_.take();
  const Handler* route = nullptr;
  const Head head = judge(message, route, exchange->reply);
  if (head != Head::waits) service_.counters.count(&service::Counters::commands);
  if (head != Head::runs) {
    if (head == Head::replied) write(exchange->reply, out);
    loop_.put_back(std::move(exchange));
    return head == Head::replied;
  }
  exchange->peer = &peer_;
  exchange->asking = &asking_;
  exchange->deferred = &deferred_;
  exchange->actor = &door_.who();
  if (route->change != nullptr && records_first(message, *route, *exchange)) {
    exchange_ = std::move(exchange);
    return true;
  }
  asking_.begin({when.arrived, when.now});
  route->run(message, *exchange);
  trusted_ = trusted_ || exchange->trusted;
  if (deferred_.waiting() || !settle(*exchange)) {
    exchange_ = std::move(exchange);
    return true;
  }
  write(exchange->reply, out);
  loop_.put_back(std::move(exchange));
  return true;
}

// What is changed is written down first: true, that is under way.
bool Conversation::records_first(const Message& message, const Handler& route, Exchange& exchange) {
  std::optional<steering::OperatorChange> change = route.change(message, exchange);
  if (!change) return false;
  if (!service_.operators.records_later || !deferred_.possible()) {
    service_.operators.record(*std::move(change), [](bool) {});
    return false;
  }
  recorded_ = std::make_unique<Recorded>(Recorded{&route, std::string(message.body)});
  service_.operators.record(*std::move(change), [this, answer = deferred_.begin()](bool written) {
    answer([this, written](Reply&) { recorded_->written = written; });
  });
  return true;
}

void Conversation::run_recorded(Exchange& exchange, net::Arrival when) {
  const std::unique_ptr<Recorded> recorded = std::move(recorded_);
  if (!recorded->written) return write_problem(exchange.reply, 503, steering::kNotWritten);
  asking_.begin({when.arrived, when.now});
  Message message;
  message.method = "POST";
  message.path = recorded->route->path;
  message.body = recorded->body;
  recorded->route->run(message, exchange);
}

// What its head says is enough to reply to it, or it may run.
Conversation::Head Conversation::judge(const Message& message, const Handler*& route, Reply& reply) {
  const auto refuse = [&reply](int status, std::string_view detail) {
    write_problem(reply, status, detail);
    return Head::replied;
  };
  const auto tell_methods = [&reply](std::string_view methods) {
    reply.status = 204;
    append_field(reply.fields, "Allow", methods);
    return Head::replied;
  };
  last_ = route = find_route(message.path);
  if (route != nullptr && route->open()) {
    door_.is_nobody(steering::Role::decide);
    return Head::runs;
  }
  if (!lets_pages_ask_ && message.find("Origin") != nullptr)
    return refuse(403, "a request with Origin comes from a web page, and none may ask");
  // A browser sends no Origin with a GET to the host of its own page.
  const bool tells = route != nullptr && route->role >= steering::Role::operate;
  if (!lets_pages_ask_ && tells && (message.method == "GET" || message.method == "HEAD")) {
    const PageJudge judge{peer_, service_.options().host_names, service_.logins.required()};
    if (const std::string why = judge.why_not_by_name(message); !why.empty()) return refuse(403, why);
  }
  if (has_credential(message.query)) return refuse(400, kCredentialInUrl);
  if (const Head caller = judge_caller(message, reply); caller != Head::runs) return caller;
  if (message.method == "OPTIONS" && message.target == "*") return tell_methods("GET, HEAD, POST, OPTIONS");
  if (route == nullptr) return refuse(404, "nothing answers at this path; /openapi.json lists those that do");
  if (!door_.allow(route->role, route->path, reply)) return Head::replied;
  if (message.method == "OPTIONS") return tell_methods(route->methods);
  if (!route->takes(message.method)) {
    append_field(reply.fields, "Allow", route->methods);
    return refuse(405, "allowed methods: " + std::string(route->methods));
  }
  if (!route->takes_json || message.method != "POST") return Head::runs;
  for (const Field* each = message.find("Content-Encoding"); each != nullptr;
       each = message.find("Content-Encoding", each)) {
    if (each->value.empty() || same(each->value, "identity")) continue;
    append_field(reply.fields, "Accept-Encoding", "identity");
    return refuse(415, "the body must be sent as it is, without a Content-Encoding");
  }
  const Field* const type = message.find("Content-Type");
  if (type == nullptr) return Head::runs;
  const std::string_view name = type->value.substr(0, type->value.find_first_of("; \t"));
  if (message.find("Content-Type", type) == nullptr && same(name, kJson)) return Head::runs;
  append_field(reply.fields, "Accept-Post", kJson);
  return refuse(415, "the body must be application/json, as `curl --json` says it");
}

Conversation::Head Conversation::judge_caller(const Message& message, Reply& reply) {
  using Verdict = Doorkeeper::Verdict;
  const Verdict verdict = door_.judge(message, reply);
  trusted_ = trusted_ || verdict == Verdict::in;
  late_ = late_ || verdict == Verdict::late;
  if (verdict == Verdict::waits) {
    parser_.find_again();
    return Head::waits;
  }
  return verdict == Verdict::in ? Head::runs : Head::replied;
}

// The head is there and its body is not. Without this a client that may not ask could still send 1 MiB.
void Conversation::refuse_by_head(std::string& out) {
  const Message& message = parser_.message();
  if (message.method.empty()) return;  // it has been judged
  framing_ = {.minor = message.minor, .keep_alive = false, .head = message.method == "HEAD"};
  Reply reply;
  const Handler* route = nullptr;
  const Head head = judge(message, route, reply);
  if (head == Head::waits) return;
  // What is answered without being refused, as OPTIONS is, waits for its body and leaves the connection open.
  if (head == Head::replied && reply.status >= 400) {
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
  const std::string& user = door_.who().user;
  client.user = !trusted_ ? "" : user == "-" ? service_.options().user : user;
  client.waits = asking_.acquiring();
  client.command = last_ != nullptr ? std::string(last_->path) : "NULL";
}

// All that it knows of a peer between two requests: whether that has shown what it is asked for. What a
// request may is asked for each.
std::optional<std::string> Conversation::hand_over() const {
  if (closing_ || late_ || exchange_) return std::nullopt;
  return std::string{trusted_ ? 't' : '-', static_cast<char>('0' + static_cast<int>(door_.most())),
                     told_to_continue_ ? 'c' : '-'};
}

bool Conversation::take_over(std::string_view state) {
  if (state.size() != 3) return false;
  trusted_ = trusted_ || state[0] == 't';
  told_to_continue_ = state[2] == 'c';
  return true;
}

}  // namespace weir::http
