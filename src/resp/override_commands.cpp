// Commands that set, end and list overrides.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/number.hpp"
#include "core/utc_text.hpp"
#include "resp/commands.hpp"
#include "resp/option_words.hpp"
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

struct Listing {
  std::string_view limit{};
  std::int64_t count = 100;
  std::int64_t after = 0;
};

bool read_listing(Arguments words, Listing& into, std::string& error) {
  bool limit = false;
  bool count = false;
  bool after = false;
  for (; !words.empty(); words = words.subspan(2)) {
    const std::string_view name = words[0];
    const bool is_limit = is_word(name, "LIMIT");
    const bool is_count = is_word(name, "COUNT");
    if (!is_limit && !is_count && !is_word(name, "AFTER")) {
      error =
          "ERR unknown option '" + std::string(name.substr(0, 32)) + "'; " + command_form("WEIR.OVERRIDES");
    } else if (words.size() == 1) {
      error = "ERR missing the value of " + std::string(name);
    } else if (std::exchange(is_limit ? limit : is_count ? count : after, true)) {
      error = "ERR " + std::string(name) + " is given twice";
    } else if (is_limit) {
      into.limit = words[1];
    } else {
      const std::int64_t least = is_count ? 1 : 0;
      const std::int64_t most = is_count ? static_cast<std::int64_t>(Overrides::kMostListed)
                                         : std::numeric_limits<std::int64_t>::max();
      const std::int64_t value = core::parse_integer(words[1]).value_or(-1);
      if (value < least || value > most)
        error = not_in_range(is_count ? "COUNT" : "AFTER", words[1], least, most);
      (is_count ? into.count : into.after) = value;
    }
    if (!error.empty()) return false;
  }
  return true;
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
  Listing listing;
  std::string error;
  if (!read_listing(call.words.subspan(1), listing, error)) return call.fail(error);
  const auto found = call.service.overrides->list(listing.limit, static_cast<std::uint64_t>(listing.after),
                                                  static_cast<std::size_t>(listing.count));
  Writer to = call.reply();
  to.array(found.size());
  for (const ToldOverride& each : found) write_row(to, each);
}

}  // namespace weir::resp
