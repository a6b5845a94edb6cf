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
  using Type = Metric::Type;
  using Value = Metric::Value;
  const auto number = [](auto read) { return [read] { return Value{static_cast<std::uint64_t>(read())}; }; };
  const auto counted = [this](Section section, Type type, std::string name,
                              std::atomic<std::uint64_t> Counters::* which, std::string help,
                              std::string exported) {
    metrics.add({section, type, std::move(name), std::move(help),
                 [this, which] { return Value{(counters.*which).load(std::memory_order_relaxed)}; }, false,
                 std::move(exported)});
  };

  metrics.add({Section::server, Type::text, "weir_version", "Version of weir",
               [] { return Value{std::string(WEIR_VERSION)}; }});
  metrics.add({Section::server, Type::gauge, "process_id", "Process id", number([] { return getpid(); })});
  metrics.add({Section::server, Type::gauge, "uptime_in_seconds", "Seconds since the start",
               number([this] { return std::chrono::floor<std::chrono::seconds>(now() - started_).count(); }),
               false, "weir_uptime_seconds"});
  metrics.add({Section::server, Type::gauge, "threads", "Event loops",
               number([this] { return options_.threads; }), false, "weir_threads"});

  metrics.add({Section::clients, Type::gauge, "maxclients", "Connections allowed at once",
               number([this] { return options_.max_connections; }), false, "weir_connections_max"});

  metrics.add({Section::memory, Type::gauge, "used_memory", "Bytes that the table of keys takes",
               number([this] { return table_.allocated_bytes(); }), false, "weir_table_bytes"});
  metrics.add({Section::memory, Type::gauge, "maxmemory", "Bytes that the server may take",
               number([this] { return options_.memory; }), false, "weir_memory_max_bytes"});

  metrics.add({Section::memory, Type::gauge, "used_memory_rss", "Bytes that the program has resident",
               number(resident_bytes), false, "weir_resident_bytes"});

  counted(Section::persistence, Type::gauge, "rdb_bgsave_in_progress", &Counters::saving,
          "1 while a snapshot is written", "weir_snapshot_in_progress");
  metrics.add({Section::persistence, Type::gauge, "rdb_last_save_time",
               "When the last snapshot was, or before the first the start: seconds of the wall clock",
               number([this] { return last_saved().count(); }), false,
               "weir_snapshot_last_timestamp_seconds"});
  counted(Section::persistence, Type::counter, "snapshots", &Counters::snapshots, "Snapshots written",
          "weir_snapshots_total");
  counted(Section::persistence, Type::counter, "snapshot_errors", &Counters::snapshot_errors,
          "Snapshots that could not be written", "weir_snapshot_errors_total");

  counted(Section::stats, Type::counter, "total_commands_processed", &Counters::commands, "Commands run",
          "weir_commands_total");
  counted(Section::stats, Type::counter, "protocol_errors", &Counters::protocol_errors,
          "Connections closed because of malformed bytes", "weir_protocol_errors_total");
  counted(Section::stats, Type::counter, "auth_failures", &Counters::auth_failures,
          "Log-ins with a wrong user or password", "weir_auth_failures_total");
  counted(
      Section::stats, Type::counter, "auth_refused", &Counters::auth_refused,
      "Log-ins that were not compared, for too many wrong ones came from their address or too many waited",
      "weir_auth_refused_total");
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
  counted(Section::stats, Type::counter, "denied", &Counters::denied, "Requests answered with a denial",
          "weir_denied_total");
  counted(Section::stats, Type::counter, "overdraft_dropped_units", &Counters::dropped,
          "Units charged afterwards beyond max-overdraft, or for which there was no room",
          "weir_overdraft_dropped_units_total");
  metrics.add({Section::stats, Type::counter, "keys_under_two_rules",
               "Requests that brought another rule for their key than the one before",
               number([this] { return key_rules.changes(); }), false, "weir_keys_under_two_rules_total"});
  metrics.add({Section::stats, Type::counter, "refused_for_lack_of_room",
               "Requests of new keys that the full table could not take",
               number([this] { return table_.refused(); }), false, "weir_table_full_total"});

  metrics.add({Section::memory, Type::gauge, "tracked_memory", "Bytes that the usage of keys takes",
               number([this] { return counting.usage_counts().bytes; }), false, "weir_tracked_bytes"});
  metrics.add({Section::memory, Type::gauge, "tracked_memory_limit", "The most that it may take",
               number([this] { return counting.options().track_memory; }), false, "weir_tracked_bytes_max"});
  metrics.add({Section::stats, Type::gauge, "tracked_keys", "Keys whose usage is kept",
               number([this] { return counting.usage_counts().keys; }), false, "weir_tracked_keys"});
  metrics.add({Section::stats, Type::counter, "untracked",
               "Times that the usage of a key was not booked, because --track-memory was full",
               number([this] { return counting.usage_counts().untracked; }), false, "weir_untracked_total"});
  metrics.add({Section::keyspace, Type::gauge, "live_keys", "Keys in use",
               number([this] { return live_keys(); }), true, "weir_keys"});
  metrics.add({Section::keyspace, Type::gauge, "capacity", "Keys that the table can hold",
               number([this] { return table_.capacity(); }), false, "weir_keys_capacity"});
  metrics.add([this](Exposition& to) {
    to.family(Exposition::Kind::info, "weir_build_info", "What this program is");
    to.sample({{"version", WEIR_VERSION}, {"commit", options_.commit}}, std::uint64_t{1});
  });
}

}  // namespace weir::service
