"""Planted defects: each is one change of the source that a statement has to refuse, by an example.

A canary says what a proof is worth. One that is accepted, or whose text is gone from the source, is a failure.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Canary:
    file: str
    search: str
    replace: str
    refused_by: tuple


CANARIES = {}


def plant(name, file, search, replace, *refused_by):
    CANARIES[name] = Canary(file, search, replace, refused_by)


GCRA = "src/core/gcra.hpp"
plant("one_nanosecond_late", GCRA, "} else if (ahead <= room - need) {", "} else if (ahead < room - need) {",
      "check.admits")
plant("one_nanosecond_too_much", GCRA, "} else if (ahead <= room - need) {", "} else if (ahead <= room - need + 1) {",
      "check.admits")
plant("no_kept", GCRA,
      "const std::uint64_t room = burst * interval - static_cast<std::uint64_t>(kept.count());",
      "const std::uint64_t room = burst * interval;", "class.keeps_free", "class.share", "check.admits")
plant("idling_earns", GCRA,
      "next = {std::max(state.tat, static_cast<std::uint64_t>(arrived.count())) + need, interval};",
      "next = {state.tat + need, interval};", "check.leaves", "check.promise", "check.rest")
plant("charged_from_arrived", GCRA,
      "next = {std::max(state.tat, static_cast<std::uint64_t>(arrived.count())) + need, interval};",
      "next = {static_cast<std::uint64_t>(arrived.count()) + need, interval};", "check.leaves", "check.promise",
      "reservation.order", "reservation.no_barging")
plant("counted_in_the_old_T", GCRA,
      "next = {std::max(state.tat, static_cast<std::uint64_t>(arrived.count())) + need, interval};",
      "next = {std::max(state.tat, static_cast<std::uint64_t>(arrived.count())) + need, state.interval};",
      "check.leaves")
plant("charged_from_now", GCRA,
      "next = {std::max(state.tat, static_cast<std::uint64_t>(arrived.count())) + need, interval};",
      "next = {std::max(state.tat, static_cast<std::uint64_t>(now.count())) + need, interval};",
      "check.waiting_is_not_idling")
plant("retry_after_of_one_unit", GCRA,
      "      retry_after = at_most_the_longest(ahead - (room - need));",
      "      retry_after = at_most_the_longest(ahead - (room - interval));", "check.retry_after_is_enough")
plant("retry_after_late", GCRA,
      "      retry_after = at_most_the_longest(ahead - (room - need));",
      "      retry_after = at_most_the_longest(ahead - (room - need) + 1);", "check.retry_after_is_least")
plant("retry_after_until_rest", GCRA,
      "      retry_after = at_most_the_longest(ahead - (room - need));",
      "      retry_after = at_most_the_longest(ahead);", "check.retry_after_is_least")
plant("remaining_rounded_up", GCRA, "ahead >= room ? 0 : (room - ahead) / interval;",
      "ahead >= room ? 0 : (room - ahead + interval - 1) / interval;", "check.remaining")
plant("remaining_before_it", GCRA, "      ahead = ahead_of(next.tat, now);", "", "check.remaining", "check.reset_after")
plant("wraps_before_it_is_compared", GCRA, "if (cost.units - 1 < burst) {  // from 1 to the burst",
      "if (cost.units - 1 < burst) {  // from 1 to the burst\n    (void)0;\n  }\n  if (cost.units != 0) {",
      "check.nothing_wraps", "moment.nothing_wraps")
plant("a_denial_is_charged", GCRA, "      verdict = Verdict::denied;\n      retry_after = at_most_the_longest(ahead - (",
      "      verdict = Verdict::denied;\n      next.tat += need;\n      retry_after = at_most_the_longest(ahead - (",
      "check.refusal_changes_nothing")
plant("never_is_a_denial", GCRA, "    if (cost.units != 0) verdict = Verdict::never;",
      "    if (cost.units != 0) verdict = Verdict::denied;", "check.admits")
plant("other_T_rounds_down", GCRA, "const std::uint64_t owed = (ahead - 1) / state.interval + 1;",
      "const std::uint64_t owed = ahead / state.interval;", "other_T.recounts")
plant("other_T_swapped", GCRA, "const std::uint64_t owed = (ahead - 1) / state.interval + 1;",
      "const std::uint64_t owed = (ahead - 1) / interval + 1;", "other_T.admits")
plant("other_T_retry_swapped", GCRA, "at_most_the_longest(ahead - (burst - cost.units) * state.interval);",
      "at_most_the_longest(ahead - (burst - cost.units) * interval);", "check.retry_after_is_enough")
plant("other_T_one_too_many", GCRA, "if (cost.units != 0 && cost.units <= room) {",
      "if (cost.units != 0 && cost.units <= room + 1) {", "other_T.admits")
plant("other_T_forgives", GCRA, "const std::uint64_t after = (owed + cost.units) * interval;",
      "const std::uint64_t after = cost.units * interval;", "other_T.recounts")
plant("kept_rounded_down", GCRA, "  return (burst * interval - static_cast<std::uint64_t>(kept.count())) / interval;",
      "  return burst - static_cast<std::uint64_t>(kept.count()) / interval;", "class.keeps_free")
plant("kept_added", GCRA, "  return (burst * interval - static_cast<std::uint64_t>(kept.count())) / interval;",
      "  return (burst * interval + static_cast<std::uint64_t>(kept.count())) / interval;", "class.order",
      "check.nothing_wraps")
plant("at_rest_in_another_T", GCRA, "if (state.interval != interval && ahead != 0) [[unlikely]]",
      "if (state.interval != interval) [[unlikely]]", "check.nothing_wraps")
plant("nothing_left_for_a_class", GCRA, "if (need > room) [[unlikely]] {", "if (need >= room) [[unlikely]] {",
      "check.admits")
plant("longer_than_the_longest", "src/core/step.hpp",
      "  return std::min(ns, static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count()));", "  return ns;",
      "check.reset_after")
plant("gives_back_all", GCRA, "  return {state.tat - std::min({owed, need, ahead_of(state.tat, now)}), interval};",
      "  return {state.tat - std::min({need, ahead_of(state.tat, now)}), interval};", "give_back.takes",
      "give_back.promise")
plant("gives_back_more_than_is_owed", GCRA,
      "  return {state.tat - std::min({owed, need, ahead_of(state.tat, now)}), interval};",
      "  return {state.tat - std::min({owed, need}), interval};", "give_back.takes", "give_back.nothing_wraps")
plant("gives_back_of_a_later_charge", GCRA,
      "  return {state.tat - std::min({owed, need, ahead_of(state.tat, now)}), interval};",
      "  return {state.tat - std::min({owed, ahead_of(state.tat, now)}), interval};", "give_back.takes")
plant("gives_back_nothing", GCRA,
      "  return {state.tat - std::min({owed, need, ahead_of(state.tat, now)}), interval};",
      "  return {state.tat - 0 * std::min({owed, need, ahead_of(state.tat, now)}), interval};", "give_back.undoes")
plant("gives_back_above_the_burst", GCRA,
      "if (state.interval != interval || cost.units > static_cast<std::uint64_t>(quota.burst())) return state;",
      "if (state.interval != interval) return state;", "give_back.nothing_wraps")

QUOTA = "include/weir/quota.hpp"
plant("T_rounded_down", QUOTA, "const std::int64_t interval = (period - 1) / rate.count + 1;",
      "const std::int64_t interval = period / rate.count;", "quota.rounding", "quota.nothing_wraps")
plant("T_rounded_up_twice", QUOTA, "const std::int64_t interval = (period - 1) / rate.count + 1;",
      "const std::int64_t interval = period / rate.count + 1;", "quota.rounding")
plant("faster_than_a_nanosecond", QUOTA, "if (rate.count > period) return {Fault::too_fast, 0};", "", "quota.refused")
plant("one_part_in_a_hundred", QUOTA, "static_cast<std::uint64_t>(period / 1000)) {",
      "static_cast<std::uint64_t>(period / 100)) {", "quota.rounding")
plant("one_part_in_ten_thousand", QUOTA, "static_cast<std::uint64_t>(period / 1000)) {",
      "static_cast<std::uint64_t>(period / 10000)) {", "quota.up_to_a_million")
plant("drains_too_long", QUOTA,
      "if (burst > std::numeric_limits<std::int64_t>::max() / interval) return {Fault::burst_too_long, interval};", "",
      "quota.ranges")
plant("period_wraps", QUOTA, "if (std::cmp_greater(time.count(), kMost)) return nanoseconds::min();", "",
      "period.exact")

SECONDS = "src/core/duration.hpp"
plant("seconds_rounded_down", SECONDS, "std::chrono::ceil<std::chrono::seconds>",
      "std::chrono::floor<std::chrono::seconds>",
      "seconds.rounded_up")

MOMENT = "src/core/moment.hpp"
plant("waits_too_long", MOMENT, "if (asked <= max_wait) return {true, asked};",
      "if (asked - std::chrono::nanoseconds{1} <= max_wait) return {true, asked};", "moment.granted")
plant("moment_early", MOMENT, "if (asked <= max_wait) return {true, asked};",
      "if (asked <= max_wait) return {true, asked - std::chrono::nanoseconds{1}};", "moment.granted",
      "reservation.owns")
plant("refused_for_the_whole_wait", MOMENT, "return {false, asked - max_wait};", "return {false, asked};", "moment.refused")
plant("acts_at_once", MOMENT, "if (asked <= max_wait) return {true, asked};",
      "if (asked <= max_wait) return {true, std::chrono::nanoseconds{0}};", "reservation.owns")
plant("owes_in_the_wrong_T", "src/core/reservation.hpp",
      "static_cast<unsigned __int128>(units) * state.word + state.until;",
      "static_cast<unsigned __int128>(units) * static_cast<std::uint64_t>(quota.emission_interval().count()) + state.until;",
      "settle.owes")
plant("owes_in_64_bits", "src/core/reservation.hpp", "static_cast<unsigned __int128>(units) * state.word + state.until;",
      "static_cast<unsigned __int128>(units) * state.word / 2 + state.until;", "settle.owes")
