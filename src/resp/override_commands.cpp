// Commands that set, end and list overrides.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/number.hpp"
#include "core/utc_text.hpp"
#include "resp/commands.hpp"
#include "resp/steer_words.hpp"
#include "service/overrides.hpp"
#include "steering/override.hpp"

namespace weir::inline v0_1::resp {
namespace {

using limits::Steer;
using service::NotSteered;
using service::Overrides;
using service::ToldOverride;
using service::WantedOverride;

constexpr SteerForm kBan{.command = "WEIR.BAN", .ends = true, .selects = true, .reasons = true};
constexpr SteerForm kRaise{
    .command = "WEIR.RAISE", .ends = true, .rates = true, .selects = true, .reasons = true};
constexpr SteerForm kLower{
    .command = "WEIR.LOWER", .ends = true, .rates = true, .selects = true, .reasons = true};
constexpr SteerForm kShadow{.command = "WEIR.SHADOW", .ends = true, .switches = true, .reasons = true};
constexpr SteerForm kUnban{.command = "WEIR.UNBAN", .selects = true};

bool can_steer(RunningCommand& call) {
  if (call.service.overrides && call.deferred.possible()) return true;
  call.fail("ERR " + std::string(service::kNoLimitsFile));
  return false;
}

std::int64_t number_of(const ToldOverride& told) { return static_cast<std::int64_t>(told.it->number); }
std::int64_t number_of(std::size_t count) { return static_cast<std::int64_t>(count); }

// What changes overrides runs elsewhere, and its answer is an integer or why there is none.
template <class Does>
void steer(RunningCommand& call, Does does) {
  using Told = tl::expected<std::int64_t, NotSteered>;
  service::Service& service = call.service;
  call.deferred.ask<Told>(
      call.silent(),
      [&service, does = std::move(does), by = call.caller.actor](std::function<void(Told)> told) {
        service.steer([&service, does, by, told = std::move(told)] {
          const auto done = does(*service.overrides, by);
          if (!done) return told(tl::unexpected(done.error()));
          told(number_of(*done));
        });
      },
      [](Writer& to, const Told& told) { told ? to.integer(*told) : to.error(error_of(told.error())); });
}

void set(RunningCommand& call, const SteerForm& form, Steer what) {
  if (!can_steer(call)) return;
  WantedOverride wanted;
  wanted.what = what;
  std::string error;
  if (!read_steer_words(call.words.subspan(1), form, wanted, error)) return call.fail(error);
  steer(call, [wanted = std::move(wanted)](Overrides& overrides, const steering::Actor& by) {
    return overrides.set(wanted, by);
  });
}

std::string utc(limits::Time time) { return core::utc_ms_text(time.time_since_epoch().count()); }

void write_row(Writer& to, const ToldOverride& told) {
  const steering::OperatorOverride& its = *told.it;
  std::string rates;
  for (const std::string& each : its.rates) rates += (rates.empty() ? "" : ", ") + each;
  to.array(20);
  const auto text = [&to](std::string_view name, std::string_view value) {
    to.bulk(name);
    to.bulk(value);
  };
  to.bulk("number");
  to.integer(number_of(told));
  text("kind", steering::name_of(its.what));
  text("limit", told.limit);
  text("when", steering::to_text(its.when));
  text("rate", rates);
  text("until", utc(its.until));
  text("reason", its.reason);
  text("user", its.user);
  text("set_at", utc(its.set_at));
  to.bulk("durable");
  to.integer(told.durable ? 1 : 0);
}

}  // namespace

void run_ban(RunningCommand& call) { set(call, kBan, Steer::ban); }
void run_raise(RunningCommand& call) { set(call, kRaise, Steer::raise); }
void run_lower(RunningCommand& call) { set(call, kLower, Steer::lower); }
void run_shadow(RunningCommand& call) { set(call, kShadow, Steer::shadow_on); }

void run_unban(RunningCommand& call) {
  if (!can_steer(call)) return;
  WantedOverride wanted;
  std::string error;
  if (!read_steer_words(call.words.subspan(1), kUnban, wanted, error)) return call.fail(error);
  steer(call, [wanted = std::move(wanted)](Overrides& overrides, const steering::Actor& by) {
    return overrides.unban(wanted.limit, wanted.when, wanted.reason, by);
  });
}

void run_lift(RunningCommand& call) {
  if (!can_steer(call)) return;
  const Arguments words = call.words;
  const std::int64_t number = core::parse_integer(words[1]).value_or(0);
  if (number < 1)
    return call.fail(not_in_range("number", words[1], 1, std::numeric_limits<std::int64_t>::max()));
  if (words.size() != 2 && (words.size() != 4 || !is_word(words[2], "REASON")))
    return call.fail("ERR " + command_form("WEIR.LIFT"));
  if (words.size() == 4 && words[3].empty()) return call.fail("ERR missing the value of REASON");
  const std::string reason(words.size() == 4 ? words[3] : std::string_view());
  steer(call, [number, reason](Overrides& overrides, const steering::Actor& by) {
    return overrides.lift(static_cast<std::uint64_t>(number), reason, by).map([](bool lifted) {
      return std::size_t{lifted ? 1U : 0U};
    });
  });
}

void run_overrides(RunningCommand& call) {
  if (!call.service.overrides) return call.fail("ERR " + std::string(service::kNoLimitsFile));
  static_assert(Overrides::kMostListed == store::OpenHold::kMost, "the most of COUNT");
  OptionWords said;
  if (!call.take_options(options(Option::limit, Option::count, Option::after), said)) return;
  const auto found = call.service.overrides->list(said.limit, said.after, said.count_or(100));
  Writer to = call.reply();
  to.array(found.size());
  for (const ToldOverride& each : found) write_row(to, each);
}

}  // namespace weir::resp
