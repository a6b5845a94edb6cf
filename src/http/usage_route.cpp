#include "http/usage_route.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/json_writer.hpp"
#include "core/utc_text.hpp"
#include "http/json.hpp"
#include "service/ask.hpp"
#include "service/counting.hpp"

namespace weir::inline v0_1::http {
namespace {

using service::Counting;
using simdjson::dom::element;
using simdjson::dom::object;

struct UsageBody {
  std::string_view limit{};
  std::vector<limits::Attribute> attributes{};
};

void read_usage_attributes(element from, UsageBody& into, Faults& faults) {
  object all;
  if (from.get(all) != simdjson::SUCCESS) return faults.add("/attributes", "must be an object");
  if (all.size() > limits::kMostAttributes)
    return faults.add("/attributes", "has more than " + std::to_string(limits::kMostAttributes) + " members");
  for (const auto& [name, value] : all) {
    std::string_view text;
    if (name.empty()) {
      faults.add(pointer_to("/attributes", name), "an attribute's name is empty");
    } else if (value.get(text) != simdjson::SUCCESS) {
      faults.add(pointer_to("/attributes", name), "must be a string");
    } else {
      into.attributes.push_back({name, text});
    }
  }
}

void read_usage_body(element root, UsageBody& into, Faults& faults) {
  object all;
  if (root.get(all) != simdjson::SUCCESS) return faults.add("", "must be an object");
  bool attributes = false;
  for (const auto& [name, value] : all) {
    const std::string at = pointer_to("", name);
    if (name == "limit" && into.limit.empty()) {
      if (value.get(into.limit) != simdjson::SUCCESS || into.limit.empty())
        faults.add(at, "must be the name of a limit");
    } else if (name == "attributes" && !std::exchange(attributes, true)) {
      read_usage_attributes(value, into, faults);
    } else if (name == "limit" || name == "attributes") {
      faults.add(at, "is given twice");
    } else {
      faults.add(at, "unknown member; known are limit, attributes");
    }
  }
  if (!faults.empty()) return;
  if (into.limit.empty()) faults.add("/limit", "missing");
  if (!attributes) faults.add("/attributes", "missing");
}

void write_usage(Reply& reply, const Counting::UsageAnswer& told) {
  if (!told) {
    const bool is_store = told.error().starts_with("the store: ");
    return write_problem(reply, is_store ? 503 : 409, told.error());
  }
  reply.type = kJson;
  core::JsonWriter json(reply.body);
  json.begin_object();
  json.member("limit", told->limit);
  json.member("key", told->key);
  json.begin_array("windows");
  for (const auto& [window, its] : told->windows) {
    json.begin_object();
    json.member("window", window);
    json.member("used", its.used);
    json.member("last", its.last);
    json.member("began", core::utc_ms_text(its.period.began.count()));
    json.member("ends", core::utc_ms_text(its.period.ends.count()));
    json.end_object();
  }
  json.end_array();
  json.array("hours", told->hours);
  json.end_object();
}

}  // namespace

void run_usage(const Message& message, Exchange& exchange) {
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  Faults faults;
  element root;
  UsageBody body;
  if (parse_body(message.body, *exchange.loop.json, root, faults)) read_usage_body(root, body, faults);
  if (!faults.empty())
    return write_problem(exchange.reply, 400, "the request's body is not what it should be", faults);
  service::Asker& asker = exchange.loop.asker;
  if (asker.limits() == nullptr || !exchange.deferred->possible())
    return write_problem(exchange.reply, 400, service::kNoLimitsFile);
  auto asked = exchange.service.counting.usage_asked(asker.shared_limits(), body.limit, body.attributes,
                                                     asker.match_memory());
  if (!asked) return write_problem(exchange.reply, 400, asked.error());
  exchange.service.counting.usage(*std::move(asked), [done = exchange.deferred->begin()](auto told) {
    const auto kept = std::make_shared<decltype(told)>(std::move(told));
    done([kept](Reply& reply) { write_usage(reply, *kept); });
  });
}

}  // namespace weir::http
