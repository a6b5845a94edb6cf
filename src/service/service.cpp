#include "service/service.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <utility>

#include "service/ask.hpp"
#include "service/loop_counting.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::service {

namespace {

// The second number of statm, in pages.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Service::Service(ServiceOptions from, const store::Table& table)
    : counting(from.counting, from.clock, from.wall_clock),
      logins({.user = from.user,
              .password = from.password,
              .http_token = from.http_token,
              .clock = from.clock,
              .wall_clock = from.wall_clock},
             counters, notices),
      options_(std::move(from)),
      table_(table) {
  key_rules.tell = [this](const std::string& which, std::uint64_t times) {
    notices.tell(core::Notice::two_rules, {}, which, times);
  };
  describe();
}

tl::expected<steering::TopKeys::Answer, std::string> Service::top(const TopAsked& asked) const {
  if (counting.options().top.entries == 0) return tl::unexpected(std::string(kNoTop));
  // Descriptors have names of their own.
  if (!asked.limit.empty() && asked.limit != LoopCounting::kInline && !descriptors) {
    const auto set = limits ? limits->current() : nullptr;
    if (!set) return tl::unexpected(std::string(kNoLimitsFile));
    if (set->find(asked.limit) == nullptr) return tl::unexpected(set->unknown(asked.limit));
  }
  return counting.top(asked.by, asked.limit, asked.most);
}

// The rows that every server has.
void Service::describe() {
  metrics.text(Section::server, "weir_version", "Version of weir", [] { return WEIR_VERSION; });
  metrics.gauge(Section::server, "process_id", "", "Process id", [] { return getpid(); });
  metrics.gauge(Section::server, "uptime_in_seconds", "weir_uptime_seconds", "Seconds since the start",
                [this] { return std::chrono::floor<std::chrono::seconds>(now() - started_).count(); });
  metrics.gauge(Section::server, "threads", "weir_threads", "Event loops",
                [this] { return options_.threads; });

  metrics.gauge(Section::clients, "maxclients", "weir_connections_max", "Connections allowed at once",
                [this] { return options_.max_connections; });

  metrics.gauge(Section::memory, "used_memory", "weir_table_bytes", "Bytes that the table of keys takes",
                [this] { return table_.allocated_bytes(); });
  metrics.gauge(Section::memory, "maxmemory", "weir_memory_max_bytes", "Bytes that the server may take",
                [this] { return options_.memory; });

  metrics.gauge(Section::memory, "used_memory_rss", "weir_resident_bytes",
                "Bytes that the program has resident", resident_bytes);

  metrics.gauge(Section::persistence, "rdb_bgsave_in_progress", "weir_snapshot_in_progress",
                "1 while a snapshot is written", counters.saving);
  metrics.gauge(Section::persistence, "rdb_last_save_time", "weir_snapshot_last_timestamp_seconds",
                "When the last snapshot was, or before the first the start: seconds of the wall clock",
                [this] { return process.last_saved().count(); });
  metrics.counter(Section::persistence, "snapshots", "weir_snapshots_total", "Snapshots written",
                  counters.snapshots);
  metrics.counter(Section::persistence, "snapshot_errors", "weir_snapshot_errors_total",
                  "Snapshots that could not be written", counters.snapshot_errors);

  metrics.counter(Section::stats, "total_commands_processed", "weir_commands_total", "Commands run",
                  counters.commands);
  describe_refusals();
  describe_keys();
}

void Service::describe_refusals() {
  metrics.counter(Section::stats, "protocol_errors", "weir_protocol_errors_total",
                  "Connections closed because of malformed bytes", counters.protocol_errors);
  metrics.counter(Section::stats, "auth_failures", "weir_auth_failures_total",
                  "Log-ins with a wrong user or password", counters.auth_failures);
  metrics.counter(
      Section::stats, "auth_refused", "weir_auth_refused_total",
      "Log-ins that were not compared, for too many wrong ones came from their address or too many waited",
      counters.auth_refused);
  metrics.add([this](Exposition& to) {
    to.family(Exposition::Kind::counter, "weir_forbidden_total",
              "Commands and requests that were refused, by the role that they needed");
    for (const steering::Role each : {steering::Role::decide, steering::Role::operate, steering::Role::admin})
      to.sample({{"role", name_of(each)}},
                counters.forbidden[static_cast<std::size_t>(each)].load(std::memory_order_relaxed));
  });
  metrics.add([this](Exposition& to) {
    constexpr std::array kReasons = {"path", "address", "header",
                                     "attribute"};  // in the order of GateRefusal
    static_assert(kReasons.size() == static_cast<std::size_t>(GateRefusal::kCount));
    to.family(Exposition::Kind::counter, "weir_gate_refused_total",
              "Requests that the gate denied and no limit decided, by what was wrong with them");
    for (std::size_t i = 0; i < kReasons.size(); ++i)
      to.sample({{"reason", kReasons[i]}}, counters.gate_refused[i].load(std::memory_order_relaxed));
  });
  metrics.counter(Section::stats, "denied", "weir_denied_total", "Requests answered with a denial",
                  counters.denied);
}

void Service::describe_keys() {
  metrics.counter(Section::stats, "overdraft_dropped_units", "weir_overdraft_dropped_units_total",
                  "Units charged afterwards beyond max-overdraft, or for which there was no room",
                  counters.dropped);
  metrics.counter(Section::stats, "keys_under_two_rules", "weir_keys_under_two_rules_total",
                  "Requests that brought another rule for their key than the one before",
                  [this] { return key_rules.changes(); });
  metrics.counter(Section::stats, "refused_for_lack_of_room", "weir_table_full_total",
                  "Requests of new keys that the full table could not take",
                  [this] { return table_.refused(); });

  metrics.gauge(Section::memory, "tracked_memory", "weir_tracked_bytes", "Bytes that the usage of keys takes",
                [this] { return counting.usage_counts().bytes; });
  metrics.gauge(Section::memory, "tracked_memory_limit", "weir_tracked_bytes_max",
                "The most that it may take", [this] { return counting.options().track_memory; });
  metrics.gauge(Section::stats, "tracked_keys", "weir_tracked_keys", "Keys whose usage is kept",
                [this] { return counting.usage_counts().keys; });
  metrics.counter(Section::stats, "untracked", "weir_untracked_total",
                  "Times that the usage of a key was not booked, because --track-memory was full",
                  [this] { return counting.usage_counts().untracked; });
  metrics.gauge(Section::keyspace, "live_keys", "weir_keys", "Keys in use", [this] { return live_keys(); })
      .slow = true;
  metrics.gauge(Section::keyspace, "capacity", "weir_keys_capacity", "Keys that the table can hold",
                [this] { return table_.capacity(); });
  metrics.add([this](Exposition& to) {
    to.family(Exposition::Kind::info, "weir_build_info", "What this program is");
    to.sample({{"version", WEIR_VERSION}, {"commit", options_.commit}}, std::uint64_t{1});
  });
}

}  // namespace weir::service
