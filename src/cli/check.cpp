// weir check: asks a running server once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/server_flags.hpp"
#include "core/json_writer.hpp"
#include "core/number.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct CheckFlags {
  std::string key;
  std::string limit;
  std::string cost = "1";
  ServerFlags server;
  bool json = false;
};

// The period as a decimal number of seconds, the form that GCRA takes.
std::string decimal_seconds(std::chrono::nanoseconds period) {
  const std::string fraction = std::to_string(1'000'000'000 + period.count() % 1'000'000'000).substr(1);
  return std::to_string(period.count() / 1'000'000'000) + "." + fraction;
}

int check(const CheckFlags& flags) {
  const auto quota = Quota::parse(flags.limit);
  if (!quota) throw std::runtime_error("limit: " + quota.error());
  const auto cost = core::parse_integer(flags.cost);
  if (!cost || *cost < 0) {
    throw std::runtime_error("cost: '" + flags.cost + "' is not an integer from 0 to 9223372036854775807");
  }
  const auto server = flags.server.connect(flags.server.servers().front());
  server->send({"GCRA", flags.key, std::to_string(quota->burst() - 1), std::to_string(quota->rate().count),
                decimal_seconds(quota->rate().period), "TOKENS", flags.cost});
  std::array<std::int64_t, 5> answer{};
  const std::span<const resp::Value> numbers = server->answer().value_or(resp::Value{}).items;
  const bool understood = numbers.size() == answer.size() &&
                          std::all_of(numbers.begin(), numbers.end(), [](const resp::Value& each) {
                            return each.type == resp::Value::Type::integer;
                          });
  if (!understood) throw std::runtime_error("unexpected answer: this is not a weir server");

  std::transform(numbers.begin(), numbers.end(), answer.begin(),
                 [](const resp::Value& each) { return each.integer; });
  const auto [limited, limit, remaining, retry_after_s, reset_after_s] = answer;
  const char* verdict = limited == 0 ? "allowed" : retry_after_s < 0 ? "never" : "denied";
  if (flags.json) {
    std::string out;
    core::JsonWriter json(out);
    json.begin_object();
    json.member("verdict", verdict);
    json.member("limit", limit);
    json.member("remaining", remaining);
    json.member("retry_after_s", core::or_null(retry_after_s));
    json.member("reset_after_s", reset_after_s);
    json.end_object();
    std::puts(out.c_str());
  } else {
    std::string text =
        std::string(verdict) + ": " + std::to_string(remaining) + " of " + std::to_string(limit) + " left";
    if (retry_after_s >= 0) text += ", retry in " + std::to_string(retry_after_s) + " s";
    if (std::string_view(verdict) == "never") text += ", the cost is above the burst: waiting does not help";
    text += ", full again in " + std::to_string(reset_after_s) + " s";
    std::puts(text.c_str());
  }
  return limited == 0 ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& app, int& result) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* check_app =
      app.add_subcommand("check", "Ask a running server once; exit code 0 allowed, 1 denied, 2 error");
  check_app->add_option("KEY", flags->key, "what to count by, for example a user: user:42")->required();
  check_app->add_option("--limit", flags->limit, "COUNT/PERIOD [burst N], as in '15/60s' or '5/10s burst 20'")
      ->type_name("QUOTA")
      ->required();
  check_app->add_option("--cost", flags->cost, "units to take; 0 looks without taking any")
      ->type_name("N")
      ->capture_default_str();
  flags->server.add_to(*check_app);
  check_app->add_flag("--json", flags->json, "print one line of JSON");
  check_app->callback([flags, &result] { result = check(*flags); });
}

}  // namespace weir::cli
