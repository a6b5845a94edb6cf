#include "server/limits_file.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "core/printable.hpp"
#include "limits/set.hpp"
#include "redis/script.hpp"
#include "server/log.hpp"

namespace weir::server {

std::unique_ptr<service::LimitsInForce> open_limits(const Settings& settings,
                                                    const service::Service& service) {
  if (settings.limits.empty()) return nullptr;
  limits::Setting setting{.on_store_error = settings.on_store_error,
                          .sharing = service.options().sharing,
                          .wall = service.wall_ahead(),
                          .unsuitable = [](const core::Rule& rule) -> std::optional<std::string> {
                            if (core::kept_in_two_words(rule.algorithm)) return std::nullopt;
                            return core::name_of(rule.algorithm) +
                                   " cannot be counted by the table of this process; it needs --store";
                          }};
  if (settings.store) {
    setting.unsuitable = [format = settings.store->format](const core::Rule& rule) {
      return redis::unsuitable(rule, format);
    };
  }
  auto limits = std::make_unique<service::LimitsInForce>(service::LimitsInForce::Options{
      .path = settings.limits,
      .setting = std::move(setting),
      .shared = settings.store.has_value(),
      .wall_clock = service.options().wall_clock,
      .log = [](bool warns, const std::string& line) {
        log(warns ? LogLevel::warning : LogLevel::info, core::printable(line));
      }});
  const std::vector<std::string> errors = limits->reload();
  if (errors.empty()) return limits;
  std::string text = "limits: '" + settings.limits + "' cannot be used";
  for (const std::string& each : errors) text += "\n" + each;
  throw std::runtime_error(text);
}

}  // namespace weir::server
