#include "http/overrides_routes.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json_writer.hpp"
#include "core/number.hpp"
#include "core/utc_text.hpp"
#include "http/json.hpp"
#include "http/problem.hpp"
#include "http/query.hpp"
#include "limits/scalars.hpp"
#include "service/ask.hpp"
#include "service/overrides.hpp"

namespace weir::inline v0_1::http {
namespace {

using service::NotSteered;
using service::Overrides;
using service::ToldOverride;
using service::WantedOverride;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kNone = "there is no override of this number";

std::string utc(limits::Time time) { return core::utc_ms_text(time.time_since_epoch().count()); }

void write_override(core::JsonWriter& json, const ToldOverride& told) {
  const steering::OperatorOverride& its = *told.it;
  json.begin_object();
  json.member("number", its.number);
  json.member("kind", steering::name_of(its.what));
  json.member("limit", told.limit);
  if (its.when.empty()) {
    json.member("when", "all");
  } else {
    json.begin_object("when");
    for (const auto& [name, value] : its.when) {
      json.unknown_name(name);
      json.value(value);
    }
    json.end_object();
  }
  if (its.rates.empty()) {
    json.member("rate", nullptr);
  } else {
    json.array("rate", its.rates);
  }
  json.member("until", utc(its.until));
  json.member("reason", its.reason);
  json.member("user", its.user);
  json.member("set_at", utc(its.set_at));
  json.member("durable", told.durable);
  json.end_object();
}

void reply_with(const ToldOverride& told, Reply& reply) {
  reply.type = kJson;
  core::JsonWriter json(reply.body);
  write_override(json, told);
  reply.body += '\n';
}

void refuse(const NotSteered& why, Reply& reply) {
  using Why = NotSteered::Why;
  switch (why.why) {
    case Why::words:
      if (why.field.empty()) return write_problem(reply, 400, why.sentence);
      break;
    case Why::full:
      return write_problem(reply, 400, why.sentence);
    case Why::changed:
      return write_problem(reply, 409, why.sentence);
    case Why::not_kept:
    case Why::unaudited:
      return write_problem(reply, 503, why.sentence);
  }
  Faults faults;
  faults.add("/" + std::string(why.field), why.sentence);
  write_problem(reply, 400, "the request's body is not what it should be", faults);
}

// What the body of a POST says.
class BodyReader {
 public:
  BodyReader(WantedOverride& into, Faults& faults) : into_(into), faults_(faults) {}

  void read(element root) {
    object all;
    if (root.get(all) != simdjson::SUCCESS) return faults_.add("", "must be an object");
    for (const auto& [name, value] : all) take(name, value);
    if (!has_kind_) missing("kind");
    if (into_.limit.empty() && !has_limit_) missing("limit");
    if (!has_reason_) missing("reason");
    if (!has_for_ && !has_until_) faults_.add("", "missing 'for' or 'until'");
    if (has_for_ && has_until_) faults_.add("/until", "cannot stand beside 'for'");
    const bool shadow = into_.what == limits::Steer::shadow_on || into_.what == limits::Steer::shadow_off;
    if (!has_when_ && !shadow) faults_.add("", "missing 'when': attributes with their values, or \"all\"");
  }

 private:
  void missing(std::string_view name) { faults_.add("", "missing '" + std::string(name) + "'"); }

  void take(std::string_view name, element value) {
    const std::string at = pointer_to("", name);
    if (name == "kind") {
      read_kind(value, once(has_kind_, at));
    } else if (name == "limit") {
      read_text(value, once(has_limit_, at), into_.limit);
    } else if (name == "when") {
      read_when(value, once(has_when_, at));
    } else if (name == "rate") {
      read_rates(value, once(has_rate_, at));
    } else if (name == "for") {
      read_span(value, once(has_for_, at));
    } else if (name == "until") {
      read_end(value, once(has_until_, at));
    } else if (name == "reason") {
      read_text(value, once(has_reason_, at), into_.reason);
    } else {
      faults_.add(at, "unknown; known: kind, limit, when, rate, for, until, reason");
    }
  }

  const std::string& once(bool& has, const std::string& at) {
    if (std::exchange(has, true)) faults_.add(at, "is given twice");
    return at;
  }

  void read_text(element value, const std::string& at, std::string& into) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) return faults_.add(at, "must be a text");
    into = text;
  }

  void read_kind(element value, const std::string& at) {
    std::string name;
    read_text(value, at, name);
    const auto what = steering::read_steer(name);
    if (!what) return faults_.add(at, "is none of: ban, raise, lower, shadow_on, shadow_off");
    into_.what = *what;
  }

  void read_when(element value, const std::string& at) {
    std::string_view all;
    if (value.get(all) == simdjson::SUCCESS && all == "all") return;
    object named;
    if (value.get(named) != simdjson::SUCCESS) return faults_.add(at, "must be an object, or \"all\"");
    if (named.size() == 0) faults_.add(at, "names no attribute; \"all\" is everybody");
    for (const auto& [name, text] : named) {
      auto& one = into_.when.emplace_back(std::string(name), "");
      read_text(text, pointer_to(at, name), one.second);
    }
  }

  void read_rates(element value, const std::string& at) {
    if (value.is_null()) return;
    array all;
    if (value.get(all) != simdjson::SUCCESS) return faults_.add(at, "must be a list of texts");
    for (const element each : all)
      read_text(each, at + "/" + std::to_string(into_.rates.size()), into_.rates.emplace_back());
  }

  void read_span(element value, const std::string& at) {
    constexpr auto kMost = std::chrono::duration<double>(Overrides::kLongest).count();
    double seconds = 0;
    if (value.get(seconds) != simdjson::SUCCESS || !(seconds >= 1) || seconds > kMost)
      return faults_.add(at, "is not a number of seconds from 1 to 31622400");
    into_.lasts = std::chrono::nanoseconds{std::llround(seconds * 1000) * 1'000'000};
  }

  void read_end(element value, const std::string& at) {
    std::string text;
    read_text(value, at, text);
    const auto time = limits::read_time(text);
    if (!time) return faults_.add(at, time.error());
    into_.until = *time;
  }

  WantedOverride& into_;
  Faults& faults_;
  bool has_kind_ = false;
  bool has_limit_ = false;
  bool has_when_ = false;
  bool has_rate_ = false;
  bool has_for_ = false;
  bool has_until_ = false;
  bool has_reason_ = false;
};

bool can_steer(Exchange& exchange) {
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  if (exchange.service.overrides && exchange.deferred->possible()) return true;
  write_problem(exchange.reply, 400, service::kNoLimitsFile);
  return false;
}

// "HASH" of the limits file, with or without its quotes.
std::string hash_asked(const Message& message) {
  std::string_view hash = message.value("If-Match");
  if (hash.size() >= 2 && hash.front() == '"' && hash.back() == '"') hash = hash.substr(1, hash.size() - 2);
  return hash == "*" ? std::string() : std::string(hash);
}

void set(const Message& message, Exchange& exchange) {
  WantedOverride wanted;
  Faults faults;
  element root;
  if (!message.query.empty()) faults.add("", "takes no query");
  if (parse_body(message.body, *exchange.loop.json, root, faults)) BodyReader(wanted, faults).read(root);
  if (!faults.empty())
    return write_problem(exchange.reply, 400, "the request's body is not what it should be", faults);
  wanted.file_hash = hash_asked(message);
  service::Service& service = exchange.service;
  service.steer([&service, wanted = std::move(wanted), by = *exchange.actor,
                 tell = exchange.deferred->begin()] {
    tell([done = service.overrides->set(wanted, by)](Reply& reply) {
      if (!done) return refuse(done.error(), reply);
      reply.status = 201;
      append_field(reply.fields, "Location", std::string(kOneOverride) + std::to_string(done->it->number));
      reply_with(*done, reply);
    });
  });
}

void list(const Message& message, Exchange& exchange) {
  static constexpr std::array<std::string_view, 3> kKnown = {"limit", "count", "after"};
  Faults faults;
  const Query query(message.query, kKnown, faults);
  const std::uint64_t count = query.number("count", 100, 1, Overrides::kMostListed, faults);
  const std::uint64_t after = query.number("after", 0, 0, std::numeric_limits<std::int64_t>::max(), faults);
  if (!faults.empty())
    return write_problem(exchange.reply, 400, "the query is not what it should be", faults);
  const std::string* const limit = query.find("limit");
  auto found = exchange.service.overrides->list(limit != nullptr ? *limit : std::string(), after, count + 1);
  const bool more = found.size() > count;
  if (more) found.pop_back();
  exchange.reply.type = kJson;
  core::JsonWriter json(exchange.reply.body);
  json.begin_object();
  json.begin_array("overrides");
  for (const ToldOverride& each : found) write_override(json, each);
  json.end_array();
  json.member("more", more);
  json.end_object();
  exchange.reply.body += '\n';
}

void end(std::uint64_t number, const std::string& reason, Exchange& exchange) {
  service::Service& service = exchange.service;
  service.steer([&service, number, reason, by = *exchange.actor, tell = exchange.deferred->begin()] {
    tell([done = service.overrides->lift(number, reason, by)](Reply& reply) {
      if (!done) return refuse(done.error(), reply);
      if (!*done) return write_problem(reply, 404, kNone);
      reply.status = 204;
    });
  });
}

}  // namespace

void run_overrides(const Message& message, Exchange& exchange) {
  if (!can_steer(exchange)) return;
  message.method == "POST" ? set(message, exchange) : list(message, exchange);
}

void run_one_override(const Message& message, Exchange& exchange) {
  if (!can_steer(exchange)) return;
  const std::uint64_t number =
      static_cast<std::uint64_t>(core::parse_integer(message.path.substr(kOneOverride.size())).value_or(0));
  if (message.method == "DELETE") {
    static constexpr std::array<std::string_view, 1> kKnown = {"reason"};
    Faults faults;
    const Query query(message.query, kKnown, faults);
    if (!faults.empty())
      return write_problem(exchange.reply, 400, "the query is not what it should be", faults);
    const std::string* const reason = query.find("reason");
    return end(number, reason != nullptr ? *reason : std::string(), exchange);
  }
  const auto found = exchange.service.overrides->find(number);
  if (!found) return write_problem(exchange.reply, 404, kNone);
  reply_with(*found, exchange.reply);
}

}  // namespace weir::http
