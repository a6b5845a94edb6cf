#include "steering/event_line.hpp"

#include "core/json_writer.hpp"
#include "core/utc_text.hpp"

namespace weir::inline v0_1::steering {

std::string event_line(const OperatorEvent& event, std::chrono::nanoseconds now, std::string_view server) {
  std::string line;
  core::JsonWriter json(line);
  json.begin_object();
  json.member("time", core::utc_ms_text(now.count()));
  json.member("event", name_of(event.what));
  json.member("server", server);
  if (!event.limit.empty()) json.member("limit", event.limit);
  if (!event.key.empty()) json.member("key", event.key);
  if (!event.window.empty()) json.member("window", event.window);
  if (event.until) json.member("until", core::utc_ms_text(event.until->count()));
  if (!event.reason.empty()) json.member("reason", event.reason);
  if (event.count != 0) json.member("count", event.count);
  json.end_object();
  return line + "\n";
}

}  // namespace weir::steering
