#include "service/limits_in_force.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/sha256.hpp"
#include "service/decision_metrics.hpp"

namespace weir::inline v0_1::service {
namespace {

std::string stamp_of(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return "none";
  std::string stamp;
  for (const auto number :
       {static_cast<std::int64_t>(found.st_dev), static_cast<std::int64_t>(found.st_ino),
        static_cast<std::int64_t>(found.st_size), static_cast<std::int64_t>(found.st_mtim.tv_sec),
        static_cast<std::int64_t>(found.st_mtim.tv_nsec)})
    stamp += std::to_string(number) + ",";
  return stamp;
}

}  // namespace

LimitsInForce::Compiled LimitsInForce::compile() const {
  Compiled compiled;
  compiled.stamps.emplace(options_.path, stamp_of(options_.path));
  limits::ReadOptions options;
  options.now = now();
  options.open = [this, &compiled](const std::string& path, std::size_t most) {
    compiled.stamps.emplace(path, stamp_of(path));
    return options_.open(path, most);
  };
  options.given_up = &given_up_;
  limits::ReadResult reading = limits::read_file(options_.path, std::move(options));
  if (given_up_.load(std::memory_order_relaxed)) {
    compiled.errors.emplace_back("the reading was given up");
    return compiled;
  }
  for (const limits::Finding& each : reading.findings) {
    if (each.severity == limits::Severity::error) compiled.errors.push_back(to_text(each));
    if (each.severity == limits::Severity::warning) compiled.warnings.push_back(to_text(each));
  }
  if (!reading.file) return compiled;
  const auto warn_without_store = [&](const limits::NamedLimit& limit, limits::Position place,
                                      const char* key, const char* text) {
    if (options_.shared || place.line == 0) return;
    compiled.warnings.push_back(to_text(limits::Finding{.severity = limits::Severity::warning,
                                                        .rule = limits::FileRule::needs_store,
                                                        .file = reading.file->name,
                                                        .place = place,
                                                        .path = "limits." + limit.name + "." + key,
                                                        .text = text}));
  };
  for (const limits::NamedLimit& limit : reading.file->limits) {
    warn_without_store(limit, limit.on_store_error.place, "on_store_error",
                       "there is no store that may fail; serve has no --store");
    warn_without_store(limit, limit.lease.place, "lease",
                       "there is no store to take units from; serve has no --store");
  }
  auto set = limits::Set::make(std::move(reading.file), options_.setting);
  if (set) {
    compiled.set = *std::move(set);
  } else {
    for (const limits::Finding& each : set.error()) compiled.errors.push_back(to_text(each));
  }
  return compiled;
}

std::vector<std::string> LimitsInForce::check() const { return compile().errors; }

std::vector<std::string> LimitsInForce::reload() {
  const detail::Held lock(reloading_);
  return reload_alone();
}

std::vector<std::string> LimitsInForce::reload_alone() {
  Compiled compiled = compile();
  if (given_up_.load(std::memory_order_relaxed)) return compiled.errors;
  {
    const detail::Held lock(mutex_);
    stamps_ = compiled.stamps;
  }
  for (const std::string& each : compiled.warnings) options_.log(true, each);
  const std::shared_ptr<const limits::Set> before = current();
  if (!compiled.set) {
    reload_errors_.fetch_add(1, std::memory_order_relaxed);
    if (before) {
      for (const std::string& each : compiled.errors) options_.log(true, each);
      options_.log(true, "limits: '" + options_.path + "' has errors; what was read before stays in force");
    }
    const detail::Held lock(mutex_);
    last_error_ = compiled.errors.front();
    return compiled.errors;
  }
  if (before) {
    for (const std::string& each : compiled.set->begins_empty_after(*before)) options_.log(false, each);
    reloads_.fetch_add(1, std::memory_order_relaxed);
  }
  const limits::File& file = compiled.set->file();
  options_.log(false, "limits: '" + options_.path + "' is in force: " + std::to_string(file.limits.size()) +
                          " limits, " + std::to_string(file.routes.size()) + " routes");
  const detail::Held lock(mutex_);
  hash_.clear();
  core::append_hex(core::sha256(file.text), hash_);
  last_error_.clear();
  loaded_at_ = std::chrono::floor<std::chrono::seconds>(now().time_since_epoch());
  set_ = std::move(compiled.set);
  version_.fetch_add(1, std::memory_order_release);
  return {};
}

std::shared_ptr<const limits::Set> LimitsInForce::current() const {
  const detail::Held lock(mutex_);
  return set_;
}

LimitsInForce::Stamps LimitsInForce::stamps() const {
  const detail::Held lock(mutex_);
  return stamps_;
}

LimitsInForce::Stamps LimitsInForce::look(const Stamps& files) {
  Stamps now;
  for (const auto& [path, before] : files) now.emplace(path, stamp_of(path));
  return now;
}

void LimitsInForce::add_rows(Metrics& metrics) const {
  using Type = Metric::Type;
  using Value = Metric::Value;
  const auto add = [&metrics](Type type, std::string name, std::string help, std::function<Value()> read) {
    metrics.add({Section::limits, type, std::move(name), std::move(help), std::move(read)});
  };
  const auto locked = [this](auto read) {
    return [this, read] {
      const detail::Held lock(mutex_);
      return Value{read()};
    };
  };
  add(Type::text, "file", "The limits file", [this] { return Value{options_.path}; });
  add(Type::text, "hash", "SHA-256 of the text in force",
      locked([this]() WEIR_REQUIRES(mutex_) { return hash_; }));
  add(Type::gauge, "loaded_at", "When it was read: seconds of the wall clock",
      locked([this]() WEIR_REQUIRES(mutex_) { return static_cast<std::uint64_t>(loaded_at_.count()); }));
  add(Type::counter, "reloads", "Times that another set came in force",
      [this] { return Value{reloads_.load()}; });
  add(Type::counter, "reload_errors", "Times that the file could not be used",
      [this] { return Value{reload_errors_.load()}; });
  add(Type::text, "last_error", "The first error of the last reload, if it failed",
      locked([this]() WEIR_REQUIRES(mutex_) { return last_error_; }));
  add(Type::gauge, "limits", "Limits in force", locked([this]() WEIR_REQUIRES(mutex_) {
        return static_cast<std::uint64_t>(set_ ? set_->file().limits.size() : 0);
      }));
  metrics.add([this](Exposition& to) { write_families(to); });
  add(Type::gauge, "routes", "Routes in force", locked([this]() WEIR_REQUIRES(mutex_) {
        return static_cast<std::uint64_t>(set_ ? set_->file().routes.size() : 0);
      }));
}

void LimitsInForce::write_families(Exposition& to) const {
  using Kind = Exposition::Kind;
  const std::shared_ptr<const limits::Set> set = current();
  std::string hash;
  std::chrono::seconds loaded_at{0};
  {
    const detail::Held lock(mutex_);
    hash = hash_;
    loaded_at = loaded_at_;
  }
  to.family(Kind::info, "weir_config_info", "The limits file in force: SHA-256 of its text");
  to.sample({{"hash", hash}}, std::uint64_t{1});
  to.family(Kind::gauge, "weir_config_age_seconds", "Seconds since the limits in force were read");
  const std::chrono::nanoseconds age = now().time_since_epoch() - loaded_at;
  to.sample({}, std::max(std::chrono::duration<double>(age).count(), 0.0));
  to.family(Kind::counter, "weir_config_reloads_total", "Times that the limits file was read again");
  to.sample({{"result", "ok"}}, reloads_.load());
  to.sample({{"result", "error"}}, reload_errors_.load());
  if (set) write_limits(to, *set);
}

}  // namespace weir::service
