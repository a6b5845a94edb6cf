#include "http/top_route.hpp"

#include <array>
#include <chrono>

#include "core/json_writer.hpp"
#include "core/printable.hpp"
#include "http/query.hpp"
#include "steering/top.hpp"

namespace weir::inline v0_1::http {

using steering::TopKeys;

void run_top(const Message& message, Exchange& exchange) {
  constexpr std::array<std::string_view, 3> kKnown = {"limit", "by", "count"};
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  Faults faults;
  const Query query(message.query, kKnown, faults);
  const std::uint64_t count = query.number("count", 10, 1, TopKeys::kMostAsked, faults);
  TopKeys::By by = TopKeys::By::denied;
  if (const std::string* const word = query.find("by")) {
    const auto read = steering::read_by(*word);
    if (!read)
      faults.add("", "query 'by': '" + core::printable(std::string_view(*word).substr(0, 32)) +
                         "' is none of: denied, cost");
    by = read.value_or(by);
  }
  const std::string* const limit = query.find("limit");
  if (!faults.empty())
    return write_problem(exchange.reply, 400, "the query is not what it should be", faults);
  const auto answer =
      exchange.service.top({by, limit != nullptr ? *limit : "", static_cast<std::size_t>(count)});
  if (!answer) return write_problem(exchange.reply, 400, answer.error());
  exchange.reply.type = kJson;
  core::JsonWriter json(exchange.reply.body);
  json.begin_object();
  json.member("by", TopKeys::kNames[static_cast<std::size_t>(answer->by)]);
  json.member("seconds",
              std::chrono::nanoseconds(std::chrono::floor<std::chrono::milliseconds>(answer->time)));
  json.member("total", answer->total);
  json.member("keys", answer->keys);
  json.member("banned", answer->banned);
  json.begin_array("top");
  for (const TopKeys::Row& row : answer->rows) {
    json.begin_object();
    json.member("limit", row.limit);
    json.member("key", row.key);
    json.member("count", row.count);
    json.member("error", row.error);
    json.member("banned", row.banned);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace weir::http
