// What a run found, as plain values: made by Replay and Suggest, printed by report_*.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logs/log_reader.hpp"

namespace weir::inline v0_1::sim {

struct Timeline {
  std::int64_t from_s = 0;
  std::int64_t bin_s = 1;
  std::vector<std::uint64_t> requests;
  std::vector<std::uint64_t> denied;
};

struct WorstClient {
  std::string client;
  std::uint64_t number;  // from 0, in order of first appearance
  std::uint64_t requests;
  std::uint64_t denied;
  std::int64_t first_denied_ns;
  std::optional<Timeline> timeline;
};

// Of a field, the values in the requests that a limit denied, the most denied first.
struct Top {
  struct Value {
    std::string value;  // empty: the request lacks the field
    std::uint64_t requests;
    std::uint64_t denied;
  };
  std::string field;
  std::vector<Value> values;
};

// The greatest number of a client's requests that were under way at once.
struct AtOnce {
  std::string client;
  std::uint64_t number;  // as WorstClient::number
  std::uint64_t most;
  std::int64_t first_ns;  // when it was first reached
};

struct LimitReport {
  std::string limit;
  std::string algorithm;
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;  // including requests whose cost is above the limit
  std::uint64_t never = 0;   // cost above the limit: waiting does not help
  std::uint64_t units_admitted = 0;
  std::uint64_t clients_denied = 0;
  std::int64_t longest_locked_out_ns = 0;
  std::optional<std::string> longest_locked_out_client;
  std::uint64_t longest_locked_out_number = 0;
  std::uint64_t peak_second = 0;
  std::uint64_t peak_minute = 0;
  std::vector<std::uint64_t> denied_over_time;        // the bins of LogReport::requests_over_time
  std::vector<std::uint64_t> denied_clients_by_size;  // the classes of LogReport::clients_by_size
  std::vector<WorstClient> worst;
  std::vector<Top> top;  // of the fields that were asked for
  // Of a limits file only.
  std::uint64_t decided = 0;     // denied requests whose answer names this limit
  std::uint64_t would_deny = 0;  // in shadow: these were not denied
};

// What is known of a log, whatever the limit.
struct LogReport {
  std::vector<std::string> files;
  std::string key;
  std::string cost;
  std::string reorder;
  bool interrupted = false;
  logs::LogStats stats;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint64_t clients = 0;
  std::uint64_t units = 0;
  bool spans = false;          // times are when requests began, and how long each took was read
  std::int64_t stamps_ns = 1;  // every time is a multiple of it: 1, or a whole second or minute
  struct FilterText {
    std::string what;   // "--where status", "--since 2026-11-21"
    std::string value;  // "!=429": what a reader of a page need not see
  };
  std::vector<FilterText> asked;      // what leaves requests out
  std::vector<std::string> warnings;  // what a reader has to know before any number (sim/warnings.hpp)
};

// What else is known when the limits are those of a file; the first of ReplayReport::limits is then all of
// them together, and the others have clients of their own: their keys.
struct FileTotals {
  std::string name;
  std::uint64_t unlimited = 0;  // requests that met no limit
  std::uint64_t errors = 0;     // requests that a limit could not decide, and so nobody
  std::string first_error;
};

struct ReplayReport {
  LogReport log;
  std::optional<FileTotals> file;
  // The first of the limits is all of them together, and the others are its parts: of a file, or by plan.
  bool parts = false;
  std::int64_t from_s = 0;
  std::int64_t bin_s = 1;
  std::vector<std::uint64_t> requests_over_time;
  std::vector<std::uint64_t> clients_by_size;  // [i]: clients of 2^i to 2^(i+1) - 1 requests
  std::vector<LimitReport> limits;
  std::vector<AtOnce> at_once;  // where slots were tried: of the clients with the most, the most first
};

// A limit and what it would have denied.
struct Figures {
  std::string limit;
  std::int64_t count = 0;
  std::int64_t burst = 0;
  double per_second = 0;
  std::uint64_t denied = 0;
  std::uint64_t clients_denied = 0;
  std::uint64_t bad_denied = 0;  // clients known to be bad, which do not count above
  bool on_the_curve = true;      // by gcra: a window's rate and burst say something else
};

struct Suggestion {
  std::string period;           // "s", "min", "h", "d"; "knee"
  Figures exact;                // the smallest
  Figures rounded;              // upwards, to numbers that a person would publish
  bool beyond_the_log = false;  // its period is longer than the log
};

struct TradeOff {
  std::string rate;
  double per_second;
  std::int64_t burst;
};

// One unit each `interval_ns` needs this burst, and every slower rate down to the next point's at least as
// much.
struct CurvePoint {
  std::int64_t interval_ns;
  std::int64_t burst;
};

// How many slots there must be so that no more is denied than `when` says.
struct SuggestedSlots {
  std::string when;  // "the criterion", "no request", "1 % of the requests"
  std::uint64_t slots = 0;
  std::uint64_t denied = 0;
  std::uint64_t clients_denied = 0;
};

struct SuggestReport {
  LogReport log;
  // One of these: the share of clients or of requests that may be denied, or how many clients must not be
  // denied.
  std::optional<double> deny_clients;
  std::optional<double> deny_requests;
  std::optional<std::uint64_t> good_clients;
  std::optional<std::uint64_t> clients_that_may_be_denied;
  std::optional<std::uint64_t>
      count_of_clients;                      // may be denied, where a count was asked for and not a share
  std::optional<std::uint64_t> bad_clients;  // in the log, of those known to be bad
  // Those that count: all of the log but for the bad ones.
  std::uint64_t requests = 0;
  std::uint64_t clients = 0;
  std::vector<Suggestion> suggestions;
  std::vector<TradeOff> trade_off;
  std::vector<Suggestion>
      knee;  // none or one: of the trade-off, after which a slower rate costs far more burst
  std::vector<Figures> today;     // none or one: the limit that there is
  std::vector<CurvePoint> curve;  // slow to fast
  // Where slots are asked for, in place of suggestions, knee and curve.
  std::vector<SuggestedSlots> in_flight;
  std::vector<AtOnce> at_once;
  // Whether a greater burst or a faster rate than one that meets the criterion meets it too: not where costs
  // differ and denied requests are what counts.
  bool greater_meets_it_too = true;
};

// For a terminal; `colour` marks what was denied, and warnings.
std::string text_of(const ReplayReport& report, bool colour);
std::string text_of(const SuggestReport& report, bool colour);

// One line of JSON.
std::string json_of(const ReplayReport& report);
std::string json_of(const SuggestReport& report);

// A self-contained page, with the names and texts that the report has: with_names() comes first.
std::string page_of(const ReplayReport& report);
std::string page_of(const SuggestReport& report);

}  // namespace weir::sim
