#include "cli/filter_flags.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <stdexcept>

#include "cli/attribute_flags.hpp"
#include "core/duration.hpp"
#include "logs/log_time.hpp"
#include "logs/splitter.hpp"

namespace weir::inline v0_1::cli {
namespace {

// A day without a time is its midnight; "-3h" is three hours ago.
std::int64_t read_time(const char* flag, const std::string& text, const logs::Zone& zone) {
  using namespace std::chrono;
  if (text.starts_with('-')) {
    if (const auto ago = core::parse_duration(text.substr(1)))
      return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count() - ago->count();
  }
  constexpr std::size_t kDay = 10;
  std::int64_t ns = 0;
  const std::string whole = text.size() == kDay && text[4] == '-' ? text + "T00:00:00" : text;
  if (logs::TimeReader(zone).read(whole, ns) != nullptr) {
    throw std::runtime_error(std::string(flag) + ": '" + text +
                             "' is not a time such as 2026-11-21, 2026-11-21T05:49:47Z or -3h");
  }
  return ns;
}

}  // namespace

void FilterFlags::add_to(CLI::App& app) {
  app.add_option("--where", where, "only requests with such a value: status!=429, path=/v1/*; several: all")
      ->type_name("CONDITION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--since", since, "requests from this time on: 2026-11-21, 2026-11-21T05:49:47Z, -3h")
      ->type_name("TIME");
  app.add_option("--until", until, "requests before this time")->type_name("TIME");
}

void FilterFlags::add_to(logs::LogReaderOptions& options) const {
  for (const std::string& text : where) {
    options.filter.where.push_back(logs::FieldCondition::parse(text));
    options.wanted.also.push_back(part_of(options.filter.where.back().field));
  }
  if (!since.empty()) options.filter.since_ns = read_time("since", since, options.wanted.zone);
  if (!until.empty()) options.filter.until_ns = read_time("until", until, options.wanted.zone);
  if (options.filter.since_ns >= options.filter.until_ns)
    throw std::runtime_error("since: '" + since + "' is not before --until '" + until + "'");
}

void FilterFlags::check(const logs::LogStats& stats) const {
  for (std::size_t i = 0; i < stats.with_value.size(); ++i) {
    if (stats.with_value[i] == 0 && stats.requests + stats.left_out > 0)
      throw std::runtime_error("where: '" + where[i] +
                               "': no line has a value in that field; the fields are " +
                               logs::listed_fields(stats.fields));
  }
}

std::vector<sim::LogReport::FilterText> FilterFlags::asked() const {
  std::vector<sim::LogReport::FilterText> all;
  for (const std::string& text : where) {
    const std::size_t field = logs::FieldCondition::parse(text).field.size();
    all.push_back({"--where " + text.substr(0, field), text.substr(field)});
  }
  if (!since.empty()) all.push_back({"--since " + since, ""});
  if (!until.empty()) all.push_back({"--until " + until, ""});
  return all;
}

}  // namespace weir::cli
