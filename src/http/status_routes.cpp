#include "http/status_routes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json_writer.hpp"
#include "core/rule.hpp"
#include "core/utc_text.hpp"
#include "http/query.hpp"
#include "limits/set.hpp"
#include "service/server_status.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::http {
namespace {

// With more limits each has no series, unless one is asked about. Then the tightest come first, and those
// that find no room in the answer are counted.
constexpr std::size_t kMostWithSeries = 50;
constexpr std::size_t kMostBytes = std::size_t{64} * 1024;
constexpr std::size_t kMostErrorBytes = std::size_t{16} * 1024;

std::optional<std::string> time_or_null(std::chrono::nanoseconds time) {
  return time.count() == 0 ? std::nullopt : std::optional(core::utc_ms_text(time.count()));
}

class StatusWriter {
 public:
  StatusWriter(const Exchange& exchange, std::string& out) : exchange_(exchange), out_(out), json_(out) {}

  void write(const limits::Set* set, const std::string* only) {
    json_.begin_object();
    const service::ServerStatus status = service().process.status();
    write_server(status);
    std::size_t left_out = 0;
    json_.begin_array("limits");
    if (set != nullptr) left_out = write_limits(*set, only);
    json_.end_array();
    if (left_out > 0) json_.member("limits_left_out", left_out);
    write_store(status.store);
    write_file();
    json_.member("role", name_of(exchange_.actor->role));
    json_.member("user", exchange_.actor->user);
    json_.end_object();
  }

 private:
  const service::Service& service() const { return exchange_.service; }

  void write_server(const service::ServerStatus& status) {
    json_.begin_object("server");
    json_.member("version", WEIR_VERSION);
    json_.member("uptime",
                 std::chrono::nanoseconds(std::chrono::floor<std::chrono::seconds>(service().age())));
    json_.member("draining", status.draining);
    json_.member("connections", status.connections);
    json_.member("waiters", status.waiters);
    json_.end_object();
  }

  // Those of the file, or the one; how many found no room.
  std::size_t write_limits(const limits::Set& set, const std::string* only) {
    std::vector<const limits::NamedLimit*> shown;
    for (const limits::NamedLimit& each : set.file().limits) {
      if (only == nullptr || each.name == *only) shown.push_back(&each);
    }
    const bool with_series = shown.size() <= kMostWithSeries;
    if (!with_series) sort_by_tightness(shown);
    for (std::size_t at = 0; at < shown.size(); ++at) {
      const std::size_t before = out_.size();
      write_limit(*shown[at], with_series);
      if (with_series || out_.size() <= kMostBytes - kMostErrorBytes) continue;
      out_.resize(before);
      return shown.size() - at;
    }
    return 0;
  }

  // By the share of what was denied, then of what would have been, then by how much there was.
  void sort_by_tightness(std::vector<const limits::NamedLimit*>& limits) const {
    if (!service().series) return;
    using Tight = std::tuple<double, double, std::uint64_t>;
    std::unordered_map<const limits::NamedLimit*, Tight> tight;
    for (const limits::NamedLimit* const each : limits) {
      const auto lately = service().series->lately(each->name);
      const std::uint64_t all = lately.allowed + lately.denied + lately.would_deny;
      const auto share = [all](std::uint64_t part) {
        return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
      };
      tight[each] = {share(lately.denied), share(lately.would_deny), all};
    }
    // Of two alike the one that the file has first.
    std::sort(limits.begin(), limits.end(), [&tight](const auto* a, const auto* b) {
      const auto& left = tight.find(a)->second;
      const auto& right = tight.find(b)->second;
      return left != right ? left > right : a < b;
    });
  }

  void write_limit(const limits::NamedLimit& limit, bool with_series) {
    json_.begin_object();
    json_.member("name", limit.name);
    json_.begin_array("by");
    for (const limits::By& by : limit.by) json_.value(by.attribute);
    json_.end_array();
    json_.begin_array("windows");
    for (const limits::Window& window : limit.windows) write(window);
    json_.end_array();
    const limits::Time now(service().wall_now());
    json_.member("shadow",
                 limit.shadow(now) ? time_or_null(limit.shadow_until.time_since_epoch()) : std::nullopt);
    if (with_series) write_series(limit.name);
    json_.end_object();
  }

  void write(const limits::Window& window) {
    std::string name;
    core::append_window(window.rule, name);
    json_.begin_object();
    json_.member("window", name);
    json_.member("rate", core::to_text(window.rule));
    json_.member("burst", static_cast<std::uint64_t>(window.rule.quota.burst()));
    json_.end_object();
  }

  void write_series(const std::string& limit) {
    if (!service().series) return;
    const auto series = service().series->of(limit).value_or(service::DecisionSeries::Series{});
    json_.begin_object("series");
    json_.member("step", 1);
    json_.array("allowed", series.allowed);
    json_.array("denied", series.denied);
    if (service().series->lately(limit).banned > 0) json_.array("banned", series.banned);
    json_.array("would_deny", series.would_deny);
    json_.end_object();
  }

  void write_store(const std::optional<service::ServerStatus::Store>& store) {
    if (!store) return json_.member("store", nullptr);
    json_.begin_object("store");
    json_.member("up", store->up);
    json_.member("why", core::or_null(store->why));
    json_.member("since", time_or_null(store->since));
    json_.begin_object("causes");
    for (const auto& [cause, times] : store->causes) {
      json_.unknown_name(cause);
      json_.value(times);
    }
    json_.end_object();
    json_.end_object();
  }

  void write_file() {
    if (!service().limits) return json_.member("file", nullptr);
    const service::FilesInForce::Account account = service().limits->account();
    json_.begin_object("file");
    json_.member("path", account.path);
    json_.member("hash", account.hash);
    json_.member("loaded_at", core::utc_ms_text(std::chrono::nanoseconds(account.loaded_at).count()));
    if (account.refused.empty()) {
      json_.member("refused", nullptr);
    } else {
      json_.begin_object("refused");
      json_.member("at", core::utc_ms_text(account.refused_at.count()));
      json_.begin_array("errors");
      const std::size_t from = out_.size();
      for (const std::string& each : account.refused) {
        const std::size_t before = out_.size();
        json_.value(each);
        if (out_.size() - from <= kMostErrorBytes / 2) continue;
        out_.resize(before);
        break;
      }
      json_.end_array();
      json_.end_object();
    }
    json_.end_object();
  }

  const Exchange& exchange_;
  std::string& out_;
  core::JsonWriter json_;
};

}  // namespace

void run_status(const Message& message, Exchange& exchange) {
  constexpr std::array<std::string_view, 1> kKnown = {"limit"};
  Faults faults;
  const Query query(message.query, kKnown, faults);
  const std::string* const only = query.find("limit");
  const limits::Set* const set = exchange.loop.asker.limits();
  if (only != nullptr && (set == nullptr || set->find(*only) == nullptr))
    faults.add("", set == nullptr ? std::string(service::kNoLimitsFile) : set->unknown(*only));
  if (!faults.empty())
    return write_problem(exchange.reply, 400, "the query is not what it should be", faults);
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  exchange.reply.type = kJson;
  StatusWriter(exchange, exchange.reply.body).write(set, only);
}

}  // namespace weir::http
