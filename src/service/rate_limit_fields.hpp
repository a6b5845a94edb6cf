// What clients are told of the limits that decided their request, as fields of HTTP: how much there is, how
// much is left, how long until there is more.
//
// Pure functions that append lines to a text; any thread. They allocate nothing but the text's room; what is
// gathered is its thread's, and allocates. Not for: deciding, and what a body says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limits/file.hpp"
#include "limits/match.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::service {

// In which forms. Two forms that write the same fields cannot both be sent: one of each kind.
struct Forms {
  enum class RateLimit : std::uint8_t {
    none,
    ratelimit_11,  // draft-ietf-httpapi-ratelimit-headers-11: every limit that clients are shown
    draft_06,      // of the same draft: the limit that decides
  };
  enum class XRateLimit : std::uint8_t {
    none,
    seconds,  // the reset in seconds from now
    epoch,    // as a time, in seconds since 1970, as GitHub's
  };
  RateLimit rate_limit = RateLimit::ratelimit_11;
  XRateLimit x_rate_limit = XRateLimit::none;
  bool retry_after = true;

  // "ratelimit-11", "draft-06", "x-ratelimit", "x-ratelimit-epoch": this form, and no other; "off": none.
  // False for another word.
  bool choose(std::string_view form);

  friend bool operator==(const Forms&, const Forms&) = default;
};

// What the limits file says.
Forms forms_of(const limits::Answers& answers);

// Those of the set in force, and of --headers.
class FormsInForce {
 public:
  // `chosen`: whatever the limits file says; empty: as it says. It must outlive this.
  explicit FormsInForce(std::string_view chosen) : chosen_(chosen) { forms_.choose(chosen); }
  const Forms& of(const limits::Set* set);  // null: there is no file

 private:
  std::uint64_t of_ = 0;  // the serial of the set that they are of
  std::string_view chosen_;
  Forms forms_;
};

// The fields of a request that the limits file decided; `answered` is null when the store was not asked.
// `now` is the wall clock's.
void append_rate_limit_fields(const limits::Set& set, const limits::Matched& matched,
                              const store::Request* answered, const Forms& forms, limits::Time now,
                              std::string& fields);
// The same of a request that brought its limits: they are called limit, limit-2...
void append_rate_limit_fields(const store::Request& answered, const Forms& forms, limits::Time now,
                              std::string& fields);

// Calls `take` with the name and the value of each, of lines as they are appended above.
template <class Take>
void for_each_field(std::string_view lines, const Take& take) {
  constexpr std::string_view kColon = ": ";
  constexpr std::string_view kEnd = "\r\n";
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find(kEnd));
    const std::size_t colon = line.find(kColon);
    take(line.substr(0, colon), line.substr(colon + kColon.size()));
    lines.remove_prefix(line.size() + kEnd.size());
  }
}

// What clients are told of one limit.
struct ShownNumbers {
  std::uint64_t quota = 0;
  std::uint64_t window = 0;  // seconds, as is `time`
  std::uint64_t remaining = 0;
  std::uint64_t time = 0;  // that what remains lasts, or until there is one
  std::chrono::nanoseconds reset{0};
  bool concurrent = false;  // it counts slots
};

// Of a check that is decided, without a guarantee.
ShownNumbers numbers_of(const store::Check& check, limits::Time now);

// The fields of an answer to several requests at once, but for Retry-After: by ratelimit-11 of all their
// limits, each once; else of the last one that denies, or else of the one with the least left.
class GatheredFields {
 public:
  // Those of a request that the limits file decided.
  void add(const limits::Set& set, const limits::Matched& matched, const store::Request* answered,
           limits::Time now);
  void add(std::string_view name, const ShownNumbers& numbers, bool denies);
  void append_to(const Forms& forms, limits::Time now, std::string& fields) const;

 private:
  struct Each {
    std::string name;
    ShownNumbers numbers;
    bool denies;
  };
  std::vector<Each> all_;
};

// Whether clients are told of a check: of an enforced window of a limit that is shown.
bool is_shown(const limits::Set& set, const limits::Matched& matched, std::size_t check);
// The name by which they are told of it: "user", or of a limit with several windows "user-1s". Appended.
void append_shown_name(const limits::Set& set, const limits::Matched& matched, std::size_t check,
                       std::string& out);

}  // namespace weir::service
