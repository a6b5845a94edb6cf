// The domains of Envoy's rate limit service, compiled: which limit a descriptor of a request meets, and under
// which key a store counts it. Made of the YAML of envoyproxy/ratelimit or of what an xDS server sends, which
// mean the same.
//
// Immutable, any thread; a reload makes another one. Not for: reading files (envoy_file.hpp), the domains of
// weir's own limits file (set.hpp), what a message makes of its descriptors: `replaces`, quota mode and the
// overall code are the front end's.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "limits/domain.hpp"
#include "limits/finding.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::limits {

// The numbers of the protocol. A month has 30 days and a year 365, as in envoyproxy/ratelimit.
enum class RateUnit : std::uint8_t {
  unknown = 0,
  second = 1,
  minute = 2,
  hour = 3,
  day = 4,
  month = 5,
  year = 6,
  week = 7,
};
constexpr std::size_t kRateUnits = 8;

// 0 of RateUnit::unknown.
constexpr std::chrono::seconds period_of(RateUnit unit) {
  using std::chrono::days;
  constexpr std::array<std::chrono::seconds, kRateUnits> kPeriods = {std::chrono::seconds{0},
                                                                     std::chrono::seconds{1},
                                                                     std::chrono::minutes{1},
                                                                     std::chrono::hours{1},
                                                                     days{1},
                                                                     days{30},
                                                                     days{365},
                                                                     days{7}};
  return kPeriods[static_cast<std::size_t>(unit)];
}
// The unit that has that period; unknown when none has.
RateUnit unit_of(std::chrono::nanoseconds period);
// "SECOND", as the protocol calls it; "UNKNOWN".
std::string_view name_of(RateUnit unit);

// One entry of a request's descriptor.
struct DescriptorEntry {
  std::string_view key;
  std::string_view value;
};

// `limit` of a request's descriptor, which replaces what the tree says.
struct DescriptorOverride {
  std::uint32_t requests_per_unit = 0;  // 0 denies
  RateUnit unit = RateUnit::unknown;
  std::uint32_t unit_multiplier = 1;  // the period is that many units
};

// As envoyproxy/ratelimit counts: fixed_window_clock.
constexpr Algorithm kEnvoysAlgorithm = core::first_that(core::goes_by_the_clock);

struct DescriptorOptions {
  Algorithm algorithm = kEnvoysAlgorithm;  // or one that has a burst, which is then requests_per_unit
  bool merge_domains = false;              // several files may say one domain; else that is an error
  OnStoreError on_store_error = OnStoreError::local;
  store::Sharing sharing{};
  // These are as SetOptions has them.
  std::chrono::nanoseconds wall{0};
  std::function<std::optional<std::string>(const core::Rule&)> unsuitable = [](const core::Rule&) {
    return std::nullopt;
  };
};

// What a descriptor meets. It views the Descriptors that it was matched by, which must outlive its use.
struct DescriptorMeets {
  enum class Outcome : std::uint8_t {
    none,       // no limit: OK, without current_limit
    unlimited,  // OK, without current_limit; remaining is 2^32 - 1
    limited,    // `limit` and the key say what is counted
    // requests_per_unit is 0: nothing passes. `limit` counts 1 in its period, for those that want to know
    // whether anything was asked for in it.
    zero,
    bad_override,  // its unit is unknown, or its period is 0 or above 146 years
  };
  Outcome outcome = Outcome::none;

  // Of the others, all but `none` and `bad_override`.
  bool is_override = false;  // then there is no shadow or quota mode, no limit_name, no replaces, no metadata
  bool shadow_mode = false;
  bool quota_mode = false;
  RateUnit unit = RateUnit::unknown;  // for the answer; unknown when no unit has the period, or unlimited
  std::uint32_t requests_per_unit = 0;
  Index series = kNone;                // of `name`, in Descriptors::series()
  std::chrono::nanoseconds period{0};  // 0 of unlimited
  // What weir calls the limit everywhere: "domain.key_value.key", its place in the tree; of an override
  // "domain.override".
  std::string_view name{};
  std::string_view limit_name{};            // `name` of rate_limit, for current_limit; often empty
  std::string_view unit_text{};             // of an override whose unit is unknown, its period: "90s"
  std::span<const std::string> replaces{};  // names of limits that this descriptor's replaces in its message
  const Metadata* metadata = nullptr;       // Kind::map, for the dynamic metadata; null: none
  const store::Limit* limit = nullptr;      // of `limited` and `zero`
};

// That, with the memory it was made in: it may be used again, and then nothing is allocated once it has
// grown. One thread at a time.
struct DescriptorMatch : DescriptorMeets {
  DescriptorMatch() = default;
  DescriptorMatch(const DescriptorMatch&) = delete;  // it views itself
  DescriptorMatch& operator=(const DescriptorMatch&) = delete;

  // Of `limited` and `zero`: under which the store counts. It says the domain and the entries, in which a
  // pattern stands for its values where share_threshold says so; the period and the algorithm are in `limit`.
  std::string key;

  struct Memory {
    std::string composite;                 // "key_value"
    std::vector<std::string_view> shared;  // of each entry the pattern that stands for its value, or empty
    std::string digest;
    // Of an override.
    std::optional<store::Limit> limit;
    std::string name;
    std::string unit_text;
  };
  Memory memory;
};

class Descriptors {
 public:
  struct Tree;  // one domain
  struct Node;
  struct Parts;

  // Every error of all files, in the words of envoyproxy/ratelimit.
  static tl::expected<std::shared_ptr<const Descriptors>, std::vector<Finding>> make(
      std::vector<Domain> said, const DescriptorOptions& options);
  ~Descriptors();
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  // Null: the domain is unknown, and its descriptors have no limit, whatever they override.
  const Tree* find(std::string_view domain) const;
  std::size_t domains() const;
  std::size_t limits() const;  // descriptors that have one
  // The names of all limits, one series of metrics each: every limit of the trees, and for each domain its
  // overrides. Each is there once.
  const std::vector<std::string>& series() const;
  // The same, as envoyproxy/ratelimit labels their metrics: the domain and the first two places below it, of
  // which the second may be empty. Several may be equal.
  struct Labels {
    std::string domain, key1, key2;
    auto operator<=>(const Labels&) const = default;
  };
  const std::vector<Labels>& labels() const;
  // A line for each limit, as envoyproxy/ratelimit prints them under /rlconfig; in the order of the files.
  void append_text(std::string& out) const;

  // Which limit a descriptor meets. `domain` is one that find() found; `override` is null when there is none.
  // An exact "key_value" comes before the first pattern that matches, and that before the key alone.
  void match(const Tree& domain, std::span<const DescriptorEntry> entries, const DescriptorOverride* override,
             DescriptorMatch& into) const;

 private:
  Descriptors();

  std::unique_ptr<Parts> parts_;
};

}  // namespace weir::limits
