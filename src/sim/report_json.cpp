#include <algorithm>

#include "core/json_writer.hpp"
#include "core/utc_text.hpp"
#include "sim/log_report.hpp"
#include "sim/report.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::sim {
namespace {

using core::JsonWriter;

std::int64_t floor_to_second(std::int64_t ns) { return ns / 1'000'000'000; }

double part_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<std::string> time_or_null(bool there, std::int64_t ns) {
  return there ? std::optional(core::utc_text(ns)) : std::nullopt;
}

// Of a report that is an object of its own; its end is the caller's.
void begin(JsonWriter& json, const LogReport& log, const char* kind) {
  json.begin_object();
  json.member("kind", kind);
  json.member("weir", WEIR_VERSION);
  write_log(json, log);
  json.member("clients", log.clients);
  json.member("units", log.units);
}

void write(JsonWriter& json, const WorstClient& client) {
  json.begin_object();
  json.member("client", client.client);
  json.member("requests", client.requests);
  json.member("denied", client.denied);
  json.member("first_denied", core::utc_text(client.first_denied_ns));
  json.member("first_denied_s", floor_to_second(client.first_denied_ns));
  if (const auto& timeline = client.timeline) {
    json.begin_object("timeline");
    json.member("from_s", timeline->from_s);
    json.member("bin_s", timeline->bin_s);
    json.array("requests", timeline->requests);
    json.array("denied", timeline->denied);
    json.end_object();
  } else {
    json.member("timeline", nullptr);
  }
  json.end_object();
}

// Without their braces.
void write_figures(JsonWriter& json, const Figures& limit, std::uint64_t requests) {
  json.member("limit", limit.limit);
  json.member("count", limit.count);
  json.member("burst", limit.burst);
  json.member("per_second", limit.per_second);
  json.member("denied_requests", limit.denied);
  json.member("denied_share", part_of(limit.denied, requests));
  json.member("clients_denied", limit.clients_denied);
  json.member("bad_clients_denied", limit.bad_denied);
}

void write(JsonWriter& json, const std::vector<AtOnce>& clients) {
  json.begin_array("at_once");
  for (const AtOnce& each : clients) {
    json.begin_object();
    json.member("client", each.client);
    json.member("most", each.most);
    json.member("first_at", core::utc_text(each.first_ns));
    json.member("first_at_ns", each.first_ns);
    json.end_object();
  }
  json.end_array();
}

void write(JsonWriter& json, const std::vector<SuggestedSlots>& rows, std::uint64_t requests) {
  json.begin_array("in_flight");
  for (const SuggestedSlots& each : rows) {
    json.begin_object();
    json.member("denies_at_most", each.when);
    json.member("in_flight", each.slots);
    json.member("denied_requests", each.denied);
    json.member("denied_share", part_of(each.denied, requests));
    json.member("clients_denied", each.clients_denied);
    json.end_object();
  }
  json.end_array();
}

void write(JsonWriter& json, const Suggestion& suggestion, std::uint64_t requests) {
  json.begin_object();
  json.member("period", suggestion.period);
  write_figures(json, suggestion.exact, requests);
  json.begin_object("rounded");
  write_figures(json, suggestion.rounded, requests);
  json.end_object();
  json.member("beyond_the_log", suggestion.beyond_the_log);
  json.end_object();
}

void write_top(JsonWriter& json, const LimitReport& limit) {
  json.begin_object("top");
  for (const Top& top : limit.top) {
    // A field that was asked for twice.
    if (&top != &*std::find_if(limit.top.begin(), limit.top.end(),
                               [&](const Top& first) { return first.field == top.field; }))
      continue;
    json.unknown_name(top.field);
    json.begin_array();
    for (const Top::Value& each : top.values) {
      json.begin_object();
      json.member("value", each.value);
      json.member("requests", each.requests);
      json.member("denied", each.denied);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

void write(JsonWriter& json, const LimitReport& limit, bool of_file) {
  const std::uint64_t requests = limit.allowed + limit.denied;
  json.begin_object();
  json.member("limit", limit.limit);
  json.member("algorithm", limit.algorithm);
  json.member("requests", requests);
  json.member("allowed", limit.allowed);
  json.member("denied", limit.denied);
  json.member("never", limit.never);
  json.member("denied_share", part_of(limit.denied, requests));
  json.member("units_admitted", limit.units_admitted);
  json.member("clients_denied", limit.clients_denied);
  json.member("longest_locked_out_s", static_cast<double>(limit.longest_locked_out_ns) / 1e9);
  json.member("longest_locked_out_client", limit.longest_locked_out_client);
  json.member("peak_admitted_second", limit.peak_second);
  json.member("peak_admitted_minute", limit.peak_minute);
  json.array("series_denied", limit.denied_over_time);
  json.array("distribution_denied", limit.denied_clients_by_size);
  json.begin_array("worst");
  for (const WorstClient& each : limit.worst) write(json, each);
  json.end_array();
  if (!limit.top.empty()) write_top(json, limit);
  if (of_file) {
    json.member("decided", limit.decided);
    json.member("would_deny", limit.would_deny);
  }
  json.end_object();
}

void write_lines(JsonWriter& json, const logs::LogStats& stats) {
  json.begin_object("lines");
  json.member("read", stats.read);
  json.member("requests", stats.requests);
  json.member("left_out", stats.left_out);
  json.member("reordered", stats.reordered);
  json.member("clamped", stats.clamped);
  json.member("unreadable", stats.unreadable);
  json.begin_array("unreadable_examples");
  for (const logs::Unreadable& each : stats.examples) {
    json.begin_object();
    json.member("file", each.file);
    json.member("line", each.line);
    json.member("why", each.why);
    json.member("text", each.text);
    json.end_object();
  }
  json.end_array();
  json.array("broken", stats.broken);
  json.end_object();
}

void write_criterion(JsonWriter& json, const SuggestReport& report) {
  json.begin_object("criterion");
  if (report.good_clients) {
    json.member("good_clients", *report.good_clients);
  } else if (report.deny_requests) {
    json.member("deny_requests", *report.deny_requests);
  } else if (report.count_of_clients) {
    json.member("clients", *report.count_of_clients);
  } else if (report.deny_clients) {
    json.member("deny_clients", *report.deny_clients);
  }
  json.end_object();
}

}  // namespace

void write_log(JsonWriter& json, const LogReport& log) {
  json.array("warnings", log.warnings);
  json.member("interrupted", log.interrupted);
  json.array("files", log.files);
  json.member("key", log.key);
  json.member("cost", log.cost);
  json.member("reorder", log.reorder);
  json.begin_array("asked");
  for (const LogReport::FilterText& each : log.asked) json.value(each.what + each.value);
  json.end_array();
  write_lines(json, log.stats);
  const bool any = log.stats.requests > 0;
  json.member("from", time_or_null(any, log.first_ns));
  json.member("to", time_or_null(any, log.last_ns));
}

std::string json_of(const ReplayReport& report) {
  std::string out;
  JsonWriter json(out, JsonWriter::Spelling::shortest);
  begin(json, report.log, "replay");
  json.begin_object("series");
  json.member("from_s", report.from_s);
  json.member("bin_s", report.bin_s);
  json.array("requests", report.requests_over_time);
  json.end_object();
  json.begin_object("distribution");
  json.begin_array("requests_from");
  for (std::size_t i = 0; i < report.clients_by_size.size(); ++i) json.value(std::uint64_t{1} << i);
  json.end_array();
  json.array("clients", report.clients_by_size);
  json.end_object();
  if (const auto& file = report.file) {
    json.begin_object("file");
    json.member("name", file->name);
    json.member("unlimited", file->unlimited);
    json.member("errors", file->errors);
    json.member("first_error", file->errors > 0 ? std::optional(file->first_error) : std::nullopt);
    json.end_object();
  }
  json.begin_array("limits");
  for (const LimitReport& limit : report.limits) write(json, limit, report.file.has_value());
  json.end_array();
  if (report.log.spans) write(json, report.at_once);
  json.end_object();
  return out;
}

std::string json_of(const SuggestReport& report) {
  std::string out;
  JsonWriter json(out, JsonWriter::Spelling::shortest);
  const std::uint64_t requests = report.requests;
  begin(json, report.log, "suggest");
  json.member("requests", requests);
  if (report.bad_clients) json.member("bad_clients", *report.bad_clients);
  if (report.count_of_clients || report.deny_clients || report.deny_requests || report.good_clients)
    write_criterion(json, report);
  json.member("allowed_denied_clients", report.clients_that_may_be_denied);
  if (report.log.spans) {
    write(json, report.in_flight, requests);
    write(json, report.at_once);
    json.end_object();
    return out;
  }
  json.begin_array("suggestions");
  for (const Suggestion& each : report.suggestions) write(json, each, requests);
  json.end_array();
  json.name("knee");
  report.knee.empty() ? json.value(nullptr) : write(json, report.knee[0], requests);
  if (report.today.empty()) {
    json.member("today", nullptr);
  } else {
    json.begin_object("today");
    write_figures(json, report.today[0], requests);
    json.end_object();
  }
  json.begin_array("tradeoff");
  for (const TradeOff& each : report.trade_off) {
    json.begin_object();
    json.member("limit_rate", each.rate);
    json.member("per_second", each.per_second);
    json.member("burst", each.burst);
    json.end_object();
  }
  json.end_array();
  json.begin_array("curve");
  for (const CurvePoint& each : report.curve) {
    json.begin_object();
    json.member("interval_ns", each.interval_ns);
    json.member("burst", each.burst);
    json.end_object();
  }
  json.end_array();
  json.member("greater_meets_it_too", report.greater_meets_it_too);
  json.end_object();
  return out;
}

}  // namespace weir::sim
