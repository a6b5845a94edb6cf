#include "simulation/dialect.hpp"

#include <simdjson.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "redis/wire_test.hpp"

namespace weir::inline v0_1::simulation {
namespace {

using Kind = Event::Kind;

std::int64_t ms_of(nanoseconds time) { return std::chrono::ceil<std::chrono::milliseconds>(time).count(); }

Reply broken(const std::string& how) {
  Reply reply;
  reply.kind = Reply::Kind::error;
  reply.text = "a reply of another form: " + how;
  return reply;
}

// ------------------------------------------------------------------------------------------------- RESP

class Words {
 public:
  Words(const Plan& plan, const Event& event, std::string_view id) : plan_(plan), event_(event), id_(id) {}

  redis::Strings make() {
    switch (event_.kind) {
      case Kind::check:
      case Kind::look:
        words_ = {plan_.by_file ? "WEIR.CHECK" : "WEIR.THROTTLE"};
        number("COST", event_.kind == Kind::look ? 0 : static_cast<std::int64_t>(event_.units));
        if (event_.least > 0) number("ATLEAST", static_cast<std::int64_t>(event_.least));
        keys();
        break;
      case Kind::reserve:
      case Kind::acquire:
        words_ = {event_.kind == Kind::reserve ? "WEIR.RESERVE" : "WEIR.ACQUIRE"};
        number("COST", static_cast<std::int64_t>(event_.units));
        number("MAXWAIT", event_.time.count() / 1'000'000);
        if (event_.bound) words_.emplace_back("BOUND");
        if (event_.hold > 0ns) number("HOLD", event_.hold.count() / 1'000'000);
        keys();
        break;
      case Kind::cancel:
        words_ = {"WEIR.CANCEL", id_};
        break;
      case Kind::settle:
        words_ = {"WEIR.SETTLE", id_};
        if (!event_.as_charged) words_.push_back(std::to_string(event_.units));
        break;
      case Kind::charge:
        words_ = {"WEIR.CHARGE"};
        outside();
        keys();
        break;
      case Kind::refund:
        words_ = {"WEIR.REFUND"};
        number("COST", static_cast<std::int64_t>(event_.units));
        keys();
        break;
      case Kind::moment:
        words_ = {"WEIR.MOMENT", id_};
        break;
      case Kind::extend:
        words_ = {"WEIR.EXTEND", id_, std::to_string(event_.time.count() / 1'000'000)};
        break;
      default:
        words_ = {"WEIR.RESET"};
        plan_.by_file ? keys() : words_.push_back(plan_.keys[event_.keys[0]].name);
    }
    return std::move(words_);
  }

 private:
  void number(const char* name, std::int64_t value) {
    words_.emplace_back(name);
    words_.push_back(std::to_string(value));
  }
  void outside() {
    if (event_.form == Event::Form::cost) number("COST", static_cast<std::int64_t>(event_.units));
    if (event_.form == Event::Form::remaining) number("REMAINING", static_cast<std::int64_t>(event_.units));
    if (event_.form == Event::Form::pause) number("PAUSE", event_.time.count() / 1'000'000);
    if (event_.afresh) words_.emplace_back("AFRESH");
  }
  void keys() {
    if (!plan_.by_file) words_.emplace_back("KEYS");
    if (plan_.by_file && event_.bulk) words_.insert(words_.end(), {"CLASS", "bulk"});
    if (plan_.by_file && event_.kind != Kind::check && event_.kind != Kind::look) words_.emplace_back("AS");
    for (const std::uint32_t key : event_.keys) {
      words_.push_back(plan_.keys[key].name + (plan_.by_file ? "=x" : ""));
      if (!plan_.by_file) words_.push_back(plan_.keys[key].rule(event_.slower && plan_.keys[key].changes));
    }
  }

  const Plan& plan_;
  const Event& event_;
  const std::string id_;
  redis::Strings words_{};
};

Reply read_reply(const resp::Value& value) {
  using Type = resp::Value::Type;
  Reply reply;
  if (value.type == Type::error) {
    reply.kind = Reply::Kind::error;
    reply.text = value.text;
  } else if (value.type == Type::integer) {
    reply.kind = Reply::Kind::integer;
    reply.integer = value.integer;
  } else if (value.type == Type::array && value.items.size() >= 5) {
    reply.kind = Reply::Kind::values;
    for (std::size_t i = 0; i < 5; ++i) reply.values[i] = value.items[i].integer;
    const bool takes = value.items.size() == 7 && value.items[6].type == Type::integer;
    if (takes) reply.granted = value.items[6].integer;
    if (value.items.size() == 7 && !takes && value.items[5].type == Type::string)
      reply.id = value.items[5].text;
    // Of a charge.
    if (value.items.size() == 5 && value.items[4].type == Type::string) reply.text = value.items[4].text;
    if (value.items.size() > 5) reply.text = takes ? value.items[5].text : value.items.back().text;
  } else {
    return broken("no list of five");
  }
  return reply;
}

// ------------------------------------------------------------------------------------------------- HTTP

std::string seconds_of(nanoseconds time) {
  return std::to_string(time.count() / 1'000'000'000) + "." +
         std::to_string(1'000'000'000 + time.count() % 1'000'000'000).substr(1);
}

std::string post(const char* path, const std::string& body) {
  return std::string("POST /v1/") + path +
         " HTTP/1.1\r\nHost: weir\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string body_of(const Plan& plan, const Event& event) {
  const std::string cost = "\"cost\":" + std::to_string(event.kind == Kind::look ? 0 : event.units);
  const std::string least = ",\"at_least\":" + std::to_string(event.least);
  std::string body;
  for (const std::uint32_t each : event.keys) {
    const Key& key = plan.keys[each];
    body += body.empty() ? "" : ",";
    body += plan.by_file
                ? "\"" + key.name + "\":\"x\""
                : "{\"key\":\"" + key.name + "\",\"limit\":\"" + key.rule(event.slower && key.changes) +
                      "\"" + (event.least > 0 ? "" : "," + cost) + "}";
  }
  if (event.kind == Kind::reset) {
    return plan.by_file ? "{\"attributes\":{" + body + "}}"
                        : "{\"key\":\"" + plan.keys[event.keys[0]].name + "\"}";
  }
  body = plan.by_file ? "{\"attributes\":{" + body + "}," + cost : "{\"checks\":[" + body + "]";
  if (event.least > 0) body += (plan.by_file ? "" : "," + cost) + least;
  if (plan.by_file && event.bulk) body += ",\"class\":\"bulk\"";
  if (event.kind == Kind::reserve || event.kind == Kind::acquire)
    body += ",\"max_wait\":" + seconds_of(event.time);
  if (event.hold > 0ns) body += ",\"hold\":" + seconds_of(event.hold);
  return body + "}";
}

// A member of the body that says what happened outside, or what of it did not.
std::string outside_of(const Event& event) {
  if (event.form == Event::Form::pause)
    return "\"pause\":" + seconds_of(event.time) + (event.afresh ? ",\"afresh\":true" : "");
  return (event.form == Event::Form::remaining ? "\"remaining\":" : "\"cost\":") +
         std::to_string(event.units);
}
std::string body_of_charge(const Plan& plan, const Event& event) {
  const Key& key = plan.keys[event.keys[0]];
  const std::string where = plan.by_file ? "\"attributes\":{\"" + key.name + "\":\"x\"}"
                                         : "\"key\":\"" + key.name + "\",\"limit\":\"" + key.rule() + "\"";
  return "{" + where + "," + outside_of(event) + "}";
}

// What is asked of an id.
std::string body_of_id(const Event& event, std::string_view id) {
  std::string body = "{\"id\":\"" + std::string(id) + "\"";
  if (event.kind == Kind::settle && !event.as_charged) body += ",\"actual\":" + std::to_string(event.units);
  if (event.kind == Kind::extend) body += ",\"hold\":" + seconds_of(event.time);
  return body + "}";
}

// A number of seconds, in whole milliseconds, rounded up as RESP tells it; what is null is -1.
std::int64_t ms_at(const simdjson::dom::element& all, const char* member) {
  double seconds = 0;
  if (all[member].get(seconds) != simdjson::SUCCESS) return -1;
  return ms_of(nanoseconds{std::llround(seconds * 1e9)});
}

Reply read_decision(const Plan& plan, const Event& event, int status, const simdjson::dom::element& all) {
  bool allowed = false;
  std::string_view by, id;
  Reply reply;
  reply.kind = Reply::Kind::values;
  if (all["allowed"].get(allowed) != simdjson::SUCCESS || all["by"].get(by) != simdjson::SUCCESS ||
      all["limit"].get(reply.values[1]) != simdjson::SUCCESS ||
      all["remaining"].get(reply.values[2]) != simdjson::SUCCESS)
    return broken("a member is missing");
  if (status != (allowed || event.kind == Kind::look ? 200 : 429))
    return broken("status " + std::to_string(status));
  const bool reserves = event.kind == Kind::reserve || event.kind == Kind::acquire;
  reply.values[0] = allowed ? 0 : 1;
  reply.values[3] = ms_at(all, reserves && allowed ? "wait" : "retry_after");
  reply.values[4] = ms_at(all, "reset_after");
  if (reserves && all["id"].get(id) == simdjson::SUCCESS) reply.id = id;
  if (event.least > 0 && all["granted"].get(reply.granted) != simdjson::SUCCESS) return broken("no granted");
  // Limits that a request brings are called limit, limit-2 and so on.
  reply.text = by;
  if (!plan.by_file && by.substr(0, 5) == "limit") {
    const std::size_t number = by.size() < 7 ? 1 : std::strtoul(reply.text.c_str() + 6, nullptr, 10);
    if (number >= 1 && number <= event.keys.size()) reply.text = plan.keys[event.keys[number - 1]].name;
  }
  return reply;
}

Reply read_charged(const Plan& plan, const Event& event, const simdjson::dom::element& all) {
  std::string_view by;
  Reply reply;
  reply.kind = Reply::Kind::values;
  if (all["charged"].get(reply.values[0]) != simdjson::SUCCESS ||
      all["owed"].get(reply.values[1]) != simdjson::SUCCESS || all["by"].get(by) != simdjson::SUCCESS)
    return broken("a member is missing");
  reply.values[2] = ms_at(all, "wait");
  reply.values[3] = ms_at(all, "reset_after");
  reply.text = !plan.by_file && by == "limit" ? plan.keys[event.keys[0]].name : by;
  return reply;
}

Reply read_body(const Plan& plan, const Event& event, int status, const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element all;
  if (parser.parse(body).get(all) != simdjson::SUCCESS) return broken("no JSON");
  if (status != 200 && status != 429) {
    std::string_view detail;
    if (all["detail"].get(detail) != simdjson::SUCCESS) return broken("no detail");
    Reply reply;
    reply.kind = Reply::Kind::error;
    reply.text = std::to_string(status) + " " + std::string(detail) + " " + body;
    return reply;
  }
  if (event.kind <= Kind::acquire) return read_decision(plan, event, status, all);
  if (event.kind == Kind::charge) return read_charged(plan, event, all);
  Reply reply;
  reply.kind = Reply::Kind::integer;
  const bool is_time = event.kind == Kind::settle || event.kind == Kind::moment || event.kind == Kind::extend;
  const char* const member = event.kind == Kind::cancel || event.kind == Kind::refund ? "given_back"
                             : event.kind == Kind::extend                             ? "hold"
                             : is_time                                                ? "wait"
                                                                                      : "reset";
  if (is_time) {
    double wait = 0;
    if (all[member].get(wait) != simdjson::SUCCESS) return broken(std::string("no ") + member);
    reply.integer = wait < 0 ? -1 : ms_at(all, member);
  } else if (all[member].get(reply.integer) != simdjson::SUCCESS) {
    return broken(std::string("no ") + member);
  }
  return reply;
}

}  // namespace

std::string request_of(const Plan& plan, const Event& event, Protocol protocol, std::string_view id) {
  const bool by_id = event.is_by_id();
  if (event.kind > Kind::reset || (by_id && id.empty())) return "";
  if (protocol == Protocol::resp) return redis::array(Words(plan, event, id).make());
  const bool charges = event.kind == Kind::charge || event.kind == Kind::refund;
  return post(name_of(event.kind), by_id     ? body_of_id(event, id)
                                   : charges ? body_of_charge(plan, event)
                                             : body_of(plan, event));
}

std::optional<Reply> Replies::next(const Plan& plan, const Event* event, std::string& bytes) {
  if (protocol_ == Protocol::resp) return next_of_resp(bytes);
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  const std::size_t length_at = bytes.find("Content-Length: ");
  if (!bytes.starts_with("HTTP/1.1 ") || length_at > end) return broken(std::exchange(bytes, ""));
  const std::size_t length = std::strtoul(bytes.c_str() + length_at + 16, nullptr, 10);
  if (bytes.size() < end + 4 + length) return std::nullopt;
  const int status = std::atoi(bytes.c_str() + 9);
  const std::string body = bytes.substr(end + 4, length);
  bytes.erase(0, end + 4 + length);
  return event != nullptr ? read_body(plan, *event, status, body) : Reply{};
}

std::optional<Reply> Replies::next_of_resp(std::string& bytes) {
  const resp::Parsed parsed = parser_.parse(bytes);
  if (parsed.status == resp::Parsed::Status::broken) return broken(std::exchange(bytes, ""));
  if (parsed.status != resp::Parsed::Status::value) return std::nullopt;
  Reply reply = read_reply(parsed.value);
  bytes.erase(0, parsed.used);
  return reply;
}

}  // namespace weir::simulation
