#include "core/system_time_zones.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <tl/expected.hpp>
#include <utility>

#include "core/regular_file.hpp"
#include "core/time_zone_file.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::core {
namespace {

namespace fs = std::filesystem;

// Of 600 files, of which the largest has 4 KiB.
constexpr std::size_t kMostFiles = 10'000;
constexpr std::size_t kMostBytes = 64 << 10;
constexpr int kMostDepth = 3;  // America/Argentina/Ushuaia is 2
// The same zones again, without and with leap seconds; this machine's own; one that says it was never set.
constexpr std::string_view kNotZones[] = {"posix", "right", "localtime", "posixrules", "Factory"};

using ZoneRead = tl::expected<std::unique_ptr<const TimeZone>, std::string>;

bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '+' || c == '-';
  });
}

class SystemTimeZones final : public TimeZones {
 public:
  SystemTimeZones() {
    const char* const said = std::getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): nothing here sets one
    is_said_ = said != nullptr && *said != '\0';
    folder_ = is_said_ ? said : "/usr/share/zoneinfo";
  }

  const TimeZone* find(std::string_view name) const override {
    const weir::detail::Held lock(mutex_);
    const auto& zones = all();
    const auto found = zones.find(name);
    if (found == zones.end()) return nullptr;
    if (!found->second) throw std::runtime_error(folder_ + "/" + found->first + ": " + found->second.error());
    return found->second->get();
  }

  std::vector<std::string> names() const override {
    const weir::detail::Held lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, zone] : all()) names.push_back(name);
    return names;
  }

  std::string folder() const override { return folder_; }

 private:
  using Zones = std::map<std::string, ZoneRead, std::less<>>;

  const Zones& all() const WEIR_REQUIRES(mutex_) {
    if (!zones_.empty()) return zones_;
    std::error_code error;
    fs::recursive_directory_iterator each(folder_, fs::directory_options::skip_permission_denied, error);
    for (std::size_t files = 0; !error && each != fs::recursive_directory_iterator() && files < kMostFiles;
         each.increment(error), ++files) {
      const std::string name = each->path().lexically_relative(folder_).string();
      if (std::find(std::begin(kNotZones), std::end(kNotZones), name) != std::end(kNotZones) ||
          each.depth() >= kMostDepth) {
        each.disable_recursion_pending();
        continue;
      }
      add(name);
    }
    if (!zones_.empty()) return zones_;
    throw std::runtime_error("the system has no time zone database in " + folder_ +
                             (is_said_ ? ", which TZDIR names: " : ", Debian's package tzdata: ") +
                             (error ? error.message() : "it is empty"));
  }

  // Folders and tables lie there, too.
  void add(const std::string& name) const WEIR_REQUIRES(mutex_) {
    if (!is_name(name)) return;
    const auto bytes = read_regular_file(folder_ + "/" + name, kMostBytes);
    if (!bytes || !looks_like_time_zone(*bytes)) return;
    zones_.emplace(name, bytes->size() > kMostBytes ? ZoneRead(tl::unexpect, "it has more than 64 KiB")
                                                    : read_time_zone(*bytes));
  }

  bool is_said_ = false;
  std::string folder_;
  mutable weir::detail::Mutex mutex_;
  mutable Zones zones_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace

const TimeZones& system_time_zones() {
  static const SystemTimeZones kZones;
  return kZones;
}

}  // namespace weir::core
