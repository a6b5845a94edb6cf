#include "service/files_in_force.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/sha256.hpp"

namespace weir::inline v0_1::service {
namespace {

constexpr std::chrono::minutes kSayAgain{1};

}  // namespace

std::string FilesInForce::stamp_of(const std::string& path) {
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

std::vector<std::string> FilesInForce::check() const { return compile(in_force()).errors; }

std::vector<std::string> FilesInForce::reload() {
  const detail::Held lock(reloading_);
  return reload_alone();
}

std::vector<std::string> FilesInForce::reload_alone() {
  const std::shared_ptr<const void> before = in_force();
  Compiled compiled = compile(before);
  if (given_up_.load(std::memory_order_relaxed)) {
    if (compiled.errors.empty()) compiled.errors.emplace_back(kGivenUp);
    return compiled.errors;
  }
  {
    const detail::Held lock(mutex_);
    stamps_ = compiled.stamps;
  }
  for (const std::string& each : compiled.warnings) log_(true, each);
  if (!compiled.made) {
    keep_what_was(compiled.errors);
    return compiled.errors;
  }
  if (before) {
    for (const std::string& each : compiled.notes) log_(false, each);
    reloads_.fetch_add(1, std::memory_order_relaxed);
  }
  log_(false, what_ + ": '" + path_ + "' is in force: " + compiled.counts);
  if (before) on_change(before, compiled.made);
  put_in_force(std::move(compiled));
  came_in_force();
  return {};
}

void FilesInForce::put_in_force(Compiled compiled) {
  const detail::Held lock(mutex_);
  hash_.clear();
  core::append_hex(core::sha256(compiled.text), hash_);
  last_errors_.clear();
  loaded_at_ = std::chrono::floor<std::chrono::seconds>(now().time_since_epoch());
  set_ = std::move(compiled.made);
  version_.fetch_add(1, std::memory_order_release);
}

std::string FilesInForce::hash() const {
  const detail::Held lock(mutex_);
  return hash_;
}

void FilesInForce::keep_what_was(const std::vector<std::string>& errors) {
  const bool first = reload_errors_.fetch_add(1, std::memory_order_relaxed) == 0 && !in_force();
  if (!first) {  // of which the caller is told
    for (const std::string& each : errors) log_(true, each);
    log_(true, what_ + ": '" + path_ + "' has errors; " +
                   (in_force() ? "what was read before stays in force" : "nothing is in force yet"));
    on_refused(errors);
  }
  const detail::Held lock(mutex_);
  last_errors_ = errors;
  failed_at_ = now().time_since_epoch();
}

FilesInForce::Account FilesInForce::account() const {
  const detail::Held lock(mutex_);
  return {path_, hash_, loaded_at_, failed_at_, last_errors_};
}

bool FilesInForce::is_overdue() const {
  const detail::Held lock(mutex_);
  return !last_errors_.empty() && now().time_since_epoch() - failed_at_ >= kSayAgain;
}

std::shared_ptr<const void> FilesInForce::in_force() const {
  const detail::Held lock(mutex_);
  return set_;
}

FilesInForce::Stamps FilesInForce::stamps() const {
  const detail::Held lock(mutex_);
  return stamps_;
}

FilesInForce::Stamps FilesInForce::look(const Stamps& files) {
  Stamps now;
  for (const auto& [path, before] : files) now.emplace(path, stamp_of(path));
  return now;
}

void FilesInForce::add_rows(Metrics& metrics, Section section, const std::string& file) const {
  const auto locked = [this](auto read) {
    return [this, read] {
      const detail::Held lock(mutex_);
      return read();
    };
  };
  const std::string before = section == Section::limits ? "" : "rls_";
  metrics.text(section, before + "file", "The " + file, [this] { return path_; });
  metrics.text(section, before + "hash", "SHA-256 of the text in force",
               locked([this]() WEIR_REQUIRES(mutex_) { return hash_; }));
  metrics.gauge(section, before + "loaded_at", "", "When it was read: seconds of the wall clock",
                locked([this]() WEIR_REQUIRES(mutex_) { return loaded_at_.count(); }));
  metrics.counter(section, before + "reloads", "", "Times that another set came in force", reloads_);
  metrics.counter(section, before + "reload_errors", "", "Times that the file could not be used",
                  reload_errors_);
  metrics.text(section, before + "last_error", "The first error of the last reload, if it failed",
               locked([this]() WEIR_REQUIRES(mutex_) {
                 return last_errors_.empty() ? std::string() : last_errors_.front();
               }));
}

void FilesInForce::write_families(Exposition& to, const std::string& family, const std::string& file) const {
  using Kind = Exposition::Kind;
  std::string hash;
  std::chrono::seconds loaded_at{0};
  {
    const detail::Held lock(mutex_);
    hash = hash_;
    loaded_at = loaded_at_;
  }
  to.family(Kind::info, family + "_info", "The " + file + " in force: SHA-256 of its text");
  to.sample({{"hash", hash}}, std::uint64_t{1});
  to.family(Kind::gauge, family + "_age_seconds", "Seconds since the " + file + " in force was read");
  const std::chrono::nanoseconds age = now().time_since_epoch() - loaded_at;
  to.sample({}, std::max(std::chrono::duration<double>(age).count(), 0.0));
  to.family(Kind::counter, family + "_reloads_total", "Times that the " + file + " was read again");
  to.sample({{"result", "ok"}}, reloads_.load());
  to.sample({{"result", "error"}}, reload_errors_.load());
}

}  // namespace weir::service
