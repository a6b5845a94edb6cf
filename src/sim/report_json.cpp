
#include "core/utc_text.hpp"
#include "sim/log_words.hpp"
#include "sim/report.hpp"
#include "trial/tree_json.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::sim {
namespace {

using nlohmann::ordered_json;

std::int64_t floor_to_second(std::int64_t ns) { return ns / 1'000'000'000; }

double part_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

ordered_json time_or_null(bool there, std::int64_t ns) {
  return there ? ordered_json(core::utc_text(ns)) : ordered_json(nullptr);
}

ordered_json log_of(const LogReport& log, const char* kind) {
  ordered_json json{{"kind", kind}, {"weir", WEIR_VERSION}};
  json.update(json_of(log));
  return json;
}

ordered_json worst_of(const LimitReport& limit) {
  ordered_json all = ordered_json::array();
  for (const WorstClient& each : limit.worst) {
    ordered_json timeline = nullptr;
    if (each.timeline) {
      timeline = {{"from_s", each.timeline->from_s},
                  {"bin_s", each.timeline->bin_s},
                  {"requests", each.timeline->requests},
                  {"denied", each.timeline->denied}};
    }
    all.push_back({{"client", each.client},
                   {"requests", each.requests},
                   {"denied", each.denied},
                   {"first_denied", core::utc_text(each.first_denied_ns)},
                   {"first_denied_s", floor_to_second(each.first_denied_ns)},
                   {"timeline", std::move(timeline)}});
  }
  return all;
}

ordered_json figures_of(const Figures& limit, std::uint64_t requests) {
  return {{"limit", limit.limit},
          {"count", limit.count},
          {"burst", limit.burst},
          {"per_second", limit.per_second},
          {"denied_requests", limit.denied},
          {"denied_share", part_of(limit.denied, requests)},
          {"clients_denied", limit.clients_denied},
          {"bad_clients_denied", limit.bad_denied}};
}

ordered_json suggestion_of(const Suggestion& suggestion, std::uint64_t requests) {
  ordered_json json{{"period", suggestion.period}};
  json.update(figures_of(suggestion.exact, requests));
  json["rounded"] = figures_of(suggestion.rounded, requests);
  json["beyond_the_log"] = suggestion.beyond_the_log;
  return json;
}

ordered_json top_of(const LimitReport& limit) {
  ordered_json all = ordered_json::object();
  for (const Top& top : limit.top) {
    ordered_json values = ordered_json::array();
    for (const Top::Value& each : top.values)
      values.push_back({{"value", each.value}, {"requests", each.requests}, {"denied", each.denied}});
    all[top.field] = std::move(values);
  }
  return all;
}

}  // namespace

ordered_json json_of(const LogReport& log) {
  ordered_json examples = ordered_json::array();
  for (const logs::Unreadable& each : log.stats.examples) {
    examples.push_back({{"file", each.file}, {"line", each.line}, {"why", each.why}, {"text", each.text}});
  }
  ordered_json asked = ordered_json::array();
  for (const LogReport::Asked& each : log.asked) asked.push_back(each.what + each.value);
  const bool any = log.stats.requests > 0;
  return {{"warnings", log.warnings},
          {"interrupted", log.interrupted},
          {"files", log.files},
          {"key", log.key},
          {"cost", log.cost},
          {"reorder", log.reorder},
          {"asked", std::move(asked)},
          {"lines",
           {{"read", log.stats.read},
            {"requests", log.stats.requests},
            {"left_out", log.stats.left_out},
            {"reordered", log.stats.reordered},
            {"clamped", log.stats.clamped},
            {"unreadable", log.stats.unreadable},
            {"unreadable_examples", std::move(examples)},
            {"broken", log.stats.broken}}},
          {"from", time_or_null(any, log.first_ns)},
          {"to", time_or_null(any, log.last_ns)},
          {"clients", log.clients},
          {"units", log.units}};
}

std::string json_of(const ReplayReport& report) {
  ordered_json json = log_of(report.log, "replay");
  json["series"] = {
      {"from_s", report.from_s}, {"bin_s", report.bin_s}, {"requests", report.requests_over_time}};
  ordered_json sizes = ordered_json::array();
  for (std::size_t i = 0; i < report.clients_by_size.size(); ++i) sizes.push_back(std::uint64_t{1} << i);
  json["distribution"] = {{"requests_from", std::move(sizes)}, {"clients", report.clients_by_size}};
  if (const auto& file = report.file) {
    json["file"] = {
        {"name", file->name},
        {"unlimited", file->unlimited},
        {"errors", file->errors},
        {"first_error", file->errors > 0 ? ordered_json(file->first_error) : ordered_json(nullptr)}};
  }
  json["limits"] = ordered_json::array();
  for (const LimitReport& limit : report.limits) {
    const std::uint64_t requests = limit.allowed + limit.denied;
    json["limits"].push_back(
        {{"limit", limit.limit},
         {"algorithm", limit.algorithm},
         {"requests", requests},
         {"allowed", limit.allowed},
         {"denied", limit.denied},
         {"never", limit.never},
         {"denied_share", part_of(limit.denied, requests)},
         {"units_admitted", limit.units_admitted},
         {"clients_denied", limit.clients_denied},
         {"longest_locked_out_s", static_cast<double>(limit.longest_locked_out_ns) / 1e9},
         {"longest_locked_out_client", limit.longest_locked_out_client
                                           ? ordered_json(*limit.longest_locked_out_client)
                                           : ordered_json(nullptr)},
         {"peak_admitted_second", limit.peak_second},
         {"peak_admitted_minute", limit.peak_minute},
         {"series_denied", limit.denied_over_time},
         {"distribution_denied", limit.denied_clients_by_size},
         {"worst", worst_of(limit)}});
    if (!limit.top.empty()) json["limits"].back()["top"] = top_of(limit);
    if (!report.file) continue;
    json["limits"].back()["decided"] = limit.decided;
    json["limits"].back()["would_deny"] = limit.would_deny;
  }
  return limits::one_line(json);
}

std::string json_of(const SuggestReport& report) {
  ordered_json json = log_of(report.log, "suggest");
  const std::uint64_t requests = report.requests;
  json["requests"] = requests;
  if (report.bad_clients) json["bad_clients"] = *report.bad_clients;
  if (report.count_of_clients) json["criterion"] = {{"clients", *report.count_of_clients}};
  if (report.deny_clients && !report.count_of_clients)
    json["criterion"] = {{"deny_clients", *report.deny_clients}};
  if (report.deny_requests) json["criterion"] = {{"deny_requests", *report.deny_requests}};
  if (report.good_clients) json["criterion"] = {{"good_clients", *report.good_clients}};
  json["allowed_denied_clients"] = report.clients_that_may_be_denied
                                       ? ordered_json(*report.clients_that_may_be_denied)
                                       : ordered_json(nullptr);
  json["suggestions"] = ordered_json::array();
  for (const Suggestion& each : report.suggestions)
    json["suggestions"].push_back(suggestion_of(each, requests));
  json["knee"] = report.knee.empty() ? ordered_json(nullptr) : suggestion_of(report.knee[0], requests);
  json["today"] = report.today.empty() ? ordered_json(nullptr) : figures_of(report.today[0], requests);
  json["tradeoff"] = ordered_json::array();
  for (const TradeOff& each : report.trade_off) {
    json["tradeoff"].push_back(
        {{"limit_rate", each.rate}, {"per_second", each.per_second}, {"burst", each.burst}});
  }
  json["curve"] = ordered_json::array();
  for (const CurvePoint& each : report.curve)
    json["curve"].push_back({{"interval_ns", each.interval_ns}, {"burst", each.burst}});
  json["greater_meets_it_too"] = report.greater_meets_it_too;
  return limits::one_line(json);
}

}  // namespace weir::sim
