#include "service/limits_in_force.hpp"

#include "core/plural.hpp"
#include "service/decision_metrics.hpp"

namespace weir::inline v0_1::service {

void RulingInForce::publish(std::shared_ptr<const limits::Steered> made) {
  {
    const detail::Held lock(mutex_);
    made_ = std::move(made);
    version_.fetch_add(1, std::memory_order_release);
  }
  changed();
}

std::shared_ptr<const limits::Steered> RulingInForce::current() const {
  const detail::Held lock(mutex_);
  return made_;
}

void LimitsInForce::came_in_force() {
  if (renew_) return renew_();
  ruling.publish(std::make_shared<const limits::Steered>(current()));
}

LimitsInForce::Compiled LimitsInForce::compile(const std::shared_ptr<const void>& before) const {
  Compiled compiled;
  compiled.stamps.emplace(path(), stamp_of(path()));
  limits::ReadOptions options;
  options.now = now();
  options.open = [this, &compiled](const std::string& path, std::size_t most) {
    compiled.stamps.emplace(path, stamp_of(path));
    return options_.open(path, most);
  };
  options.given_up = &given_up();
  limits::ReadResult reading = limits::read_file(path(), std::move(options));
  if (given_up().load(std::memory_order_relaxed)) {
    compiled.errors.emplace_back(kGivenUp);
    return compiled;
  }
  for (const limits::Finding& each : reading.findings) {
    if (each.severity == limits::Severity::error) compiled.errors.push_back(to_text(each));
    if (each.severity == limits::Severity::warning) compiled.warnings.push_back(to_text(each));
  }
  if (!reading.file) return compiled;
  warn(*reading.file, compiled);
  auto set = limits::Set::make(std::move(reading.file), options_.setting);
  if (!set) {
    for (const limits::Finding& each : set.error()) compiled.errors.push_back(to_text(each));
    return compiled;
  }
  const limits::Set& made = **set;
  if (before) compiled.notes = made.begins_empty_after(*static_cast<const limits::Set*>(before.get()));
  compiled.text = made.file().text;
  compiled.counts = core::counted(made.file().limits.size(), "limit") + ", " +
                    core::counted(made.file().routes.size(), "route");
  compiled.made = *std::move(set);
  return compiled;
}

// Of what is there for a store that may fail, where there is none.
void LimitsInForce::warn(const limits::File& file, Compiled& compiled) const {
  const auto without_store = [&](const limits::NamedLimit& limit, limits::Position place, const char* key,
                                 const char* text) {
    if (options_.shared || place.line == 0) return;
    compiled.warnings.push_back(to_text(limits::Finding{.severity = limits::Severity::warning,
                                                        .rule = limits::FileRule::needs_store,
                                                        .file = file.name,
                                                        .place = place,
                                                        .path = "limits." + limit.name + "." + key,
                                                        .text = text}));
  };
  for (const limits::NamedLimit& limit : file.limits) {
    without_store(limit, limit.on_store_error.place, "on_store_error",
                  "there is no store that may fail; serve has no --store");
    without_store(limit, limit.lease.place, "lease",
                  "there is no store to take units from; serve has no --store");
  }
}

void LimitsInForce::add_rows(Metrics& metrics) const {
  FilesInForce::add_rows(metrics, Section::limits, "limits file");
  metrics.gauge(Section::limits, "limits", "", "Limits in force", [this] {
    const auto set = current();
    return set ? set->file().limits.size() : 0;
  });
  metrics.gauge(Section::limits, "routes", "", "Routes in force", [this] {
    const auto set = current();
    return set ? set->file().routes.size() : 0;
  });
  metrics.add([this](Exposition& to) {
    write_families(to, "weir_config", "limits file");
    if (const auto set = current()) write_limits(to, *set);
  });
}

}  // namespace weir::service
