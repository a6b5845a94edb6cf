#include "cli/plan_flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <stdexcept>

#include "cli/values.hpp"
#include "core/printable.hpp"
#include "core/regular_file.hpp"
#include "core/rule.hpp"
#include "logs/line_parser.hpp"

namespace weir::inline v0_1::cli {
namespace {

// Of every plan that is not named.
constexpr std::string_view kRest = "*";

std::string_view unquoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"' ? text.substr(1, text.size() - 2)
                                                                       : text;
}

std::map<std::string, std::string, std::less<>> read_plans(const std::string& path) {
  const auto read = core::read_regular_file(path);
  if (!read) throw std::runtime_error("plans: '" + path + "' cannot be opened: " + read.error());
  std::istringstream file(*read);
  std::map<std::string, std::string, std::less<>> plans;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty()) continue;
    const std::size_t comma = text.rfind(',');
    if (comma == std::string_view::npos || comma == 0 || comma + 1 == text.size())
      throw std::runtime_error(
          fmt::format("plans: {}:{}: expected a client, a comma and its plan", path, number));
    const auto client = unquoted(trimmed(text.substr(0, comma)));
    const auto plan = unquoted(trimmed(text.substr(comma + 1)));
    if (!plans.emplace(client, plan).second)
      throw std::runtime_error(
          fmt::format("plans: {}:{}: '{}' a second time", path, number, core::printable(client)));
  }
  if (plans.empty()) throw std::runtime_error("plans: '" + path + "' contains no clients");
  return plans;
}

}  // namespace

void PlanFlags::add_to(CLI::App& app) {
  app.add_option("--limit-by", field, "field that holds a client's plan: --limit free=60/min,pro=600/min")
      ->type_name("FIELD");
  app.add_option("--plans", file, "CSV of clients and their plans, in place of --limit-by")
      ->type_name("FILE");
}

Plans::Plans(const PlanFlags& flags, const std::vector<std::string>& limits, const logs::ClientIndex& clients,
             std::size_t key_parts)
    : flags_(flags), clients_(clients), key_parts_(key_parts) {
  if (!flags.file.empty()) of_client_ = read_plans(flags.file);
  for (const std::string& text : limits) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view part = trimmed(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
      const std::size_t equals = part.find('=');
      const std::string_view plan = trimmed(part.substr(0, equals));
      if (equals == std::string_view::npos || plan.empty() || plan.find('/') != std::string_view::npos) {
        throw std::runtime_error("limit: '" + std::string(part) +
                                 "': expected a plan, = and its limit, as in free=60/min,pro=600/min");
      }
      const core::Rule rule = parse_rule("limit: plan " + std::string(plan), part.substr(equals + 1));
      if (!index_.emplace(plan, plans_.size()).second)
        throw std::runtime_error("limit: plan '" + std::string(plan) + "' a second time");
      plans_.push_back({std::string(plan), rule});
    }
  }
  if (plans_.size() > sim::Replay::kMostLimits) {
    throw std::runtime_error(
        fmt::format("limit: {} plans; the maximum is {}", plans_.size(), sim::Replay::kMostLimits));
  }
}

std::string Plans::name() const {
  return "by " + (flags_.field.empty() ? std::string("plan") : flags_.field);
}

std::string Plans::plan_name(std::uint32_t client) const {
  const std::string_view key = clients_.name(client);
  if (flags_.file.empty()) return std::string(logs::values_of(key, key_parts_).back());
  const auto found = of_client_.find(logs::shown(key, key_parts_));
  return found == of_client_.end() ? "" : found->second;
}

std::size_t Plans::of(std::uint32_t client) {
  constexpr std::size_t kUnknown = sim::Replay::kNoPlan - 1;
  if (client >= found_.size()) found_.resize(client + 1, kUnknown);
  std::size_t& plan = found_[client];
  if (plan != kUnknown) return plan;
  const std::string name = plan_name(client);
  auto found = index_.find(name);
  if (found == index_.end()) found = index_.find(kRest);
  if (found == index_.end()) ++others_[name];
  return plan = found == index_.end() ? sim::Replay::kNoPlan : found->second;
}

std::string Plans::about_others() const {
  if (others_.empty()) return "";
  constexpr std::size_t kNamed = 5;
  std::string names;
  std::uint64_t count = 0;
  std::size_t named = 0;
  for (const auto& [name, clients] : others_) {
    count += clients;
    if (named++ < kNamed)
      names += (names.empty() ? "" : ", ") + (name.empty() ? std::string("none") : core::printable(name));
  }
  if (others_.size() > kNamed) names += ", ...";
  return fmt::format(
      "{} {} a plan without a limit, which denies nothing ({}); --limit '*=...' limits the rest", count,
      count == 1 ? "client has" : "clients have", names);
}

}  // namespace weir::cli
