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
      "next = {static_cast<std::uint64_t>(arrived.count()) + need, interval};", "check.leaves", "check.promise")
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
      "check.nothing_wraps")
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
plant("lowest_count_rounded_down", "src/core/quota.cpp", "  return (period - 1) / interval + 1;", "  return period / interval;",
      "quota.nearest")
plant("highest_count_of_a_hundredth", "src/core/quota.cpp", "static_cast<std::uint64_t>(period / 1000);  // below",
      "static_cast<std::uint64_t>(period / 100);  // below", "quota.nearest")
plant("period_wraps", QUOTA, "if (std::cmp_greater(time.count(), kMost)) return nanoseconds::min();", "",
      "period.exact")

SECONDS = "src/core/duration.hpp"
plant("seconds_rounded_down", SECONDS, "std::chrono::ceil<std::chrono::seconds>",
      "std::chrono::floor<std::chrono::seconds>",
      "seconds.rounded_up")

FIXED = "src/core/fixed_window.hpp"
plant("window_from_a_multiple_in_two_steps", FIXED, "window = {n + period - (now_opens ? 0 : (n + ahead) % period), 0};",
      "window = {now_opens ? n + period : ((n + ahead) / period + 1) * period - ahead, 0};", "window.nothing_wraps")
plant("window_one_unit_too_many", FIXED, "} else if (cost.units > room) {", "} else if (cost.units > room + 1) {",
      "window.admits", "window.promise", "window.nothing_wraps")
plant("window_one_unit_too_few", FIXED, "} else if (cost.units > room) {", "} else if (cost.units >= room) {",
      "window.admits", "window.remaining")
plant("window_phase_backwards", FIXED, "window = {n + period - (now_opens ? 0 : (n + ahead) % period), 0};",
      "window = {n + period - (now_opens ? 0 : (n + period - ahead) % period), 0};", "window.leaves")
plant("window_begins_with_its_last_moment", FIXED, "  if (state.end <= n) {", "  if (state.end < n) {", "window.admits",
      "window.retry_after")
plant("window_counts_each_request_as_one", FIXED, "    window.used += cost.units;", "    window.used += 1;", "window.leaves",
      "window.promise")
plant("window_opens_each_time", FIXED, "  if (state.end <= n) {", "  if (state.end <= n || state.used == 0 || cost.units == 1) {",
      "window.promise", "window.admits")
plant("window_remembers_a_look", FIXED, "  } else if (cost.units != 0) {", "  } else {", "window.refusal_changes_nothing")
plant("window_waits_a_nanosecond_more", FIXED, "  const std::uint64_t left = at_most_the_longest(window.end - n);",
      "  const std::uint64_t left = at_most_the_longest(window.end - n + 1);", "window.retry_after", "window.reset_after")
plant("window_remaining_before_it", FIXED, "    room -= cost.units;", "", "window.remaining")
plant("window_resets_what_is_empty", FIXED, "window.used != 0 ? left : 0, next", "left, next", "window.reset_after")

COUNTER = "src/core/sliding_window_counter.hpp"
plant("counter_rounded_up", COUNTER, "(Wide{prev} * left / period) : 0;", "((Wide{prev} * left + (period - 1)) / period) : 0;",
      "counter.admits")
plant("counter_in_64_bits", COUNTER, "static_cast<std::uint64_t>(Wide{prev} * left / period) : 0;",
      "prev * left / period : 0;", "counter.nothing_wraps")
plant("counter_without_the_one_before", COUNTER, "if (cur + weighed <= spare) {", "if (cur <= spare) {", "counter.admits",
      "counter.promise")
plant("counter_weighs_more_than_all", COUNTER, "until_end < period ? until_end : period;  // P - e", "until_end;  // P - e",
      "counter.admits", "counter.nothing_wraps")
plant("counter_weighs_what_has_passed", COUNTER, "until_end < period ? until_end : period;  // P - e",
      "until_end < period ? period - until_end : period;  // P - e", "counter.admits", "counter.retry_after")
plant("counter_forgets_the_one_before", COUNTER, "      next = {end + period, prev << 32 | cur};",
      "      next = {end + period, cur};", "counter.leaves", "counter.remaining")
plant("counter_counts_touch", COUNTER, "      next = {end + period, prev << 32 | cur};",
      "      next = {end + period, prev << 31 | cur};", "counter.nothing_wraps")
plant("counter_ends_with_its_window", COUNTER, "      next = {end + period, prev << 32 | cur};",
      "      next = {end, prev << 32 | cur};", "counter.leaves", "counter.reset_after")
plant("counter_charges_a_denial", COUNTER, "      verdict = Verdict::denied;\n",
      "      verdict = Verdict::denied;\n      next.counts = prev << 32 | cur;\n", "counter.refusal_changes_nothing")
plant("counter_retries_late", COUNTER, "? until_end - most_left(spare - cur, prev, period)",
      "? until_end + 1 - most_left(spare - cur, prev, period)", "counter.retry_after")
plant("counter_retries_early", COUNTER, ": until_end + period - most_left(spare, cur, period);",
      ": until_end + period - most_left(spare, cur, period) - 1;", "counter.retry_after")
plant("counter_remaining_of_the_limit", COUNTER, "taken < limit ? limit - taken : 0,", "taken < limit ? limit - cur : 0,",
      "counter.remaining")
plant("counter_resets_early", COUNTER, "? until_end + period - most_left(0, cur, period)", "? until_end + period - 1 - most_left(0, cur, period)",
      "counter.reset_after")

plant("kept_inside_a_guarantee", GCRA,
      "const std::uint64_t room = burst * interval - static_cast<std::uint64_t>(kept.count());",
      "const std::uint64_t room = burst * interval;", "guarantee.passes")

LOG = "src/core/sliding_window_log.hpp"
plant("log_leaves_late", LOG, "return admitted + period <= at;", "return admitted + period < at;", "log.counts",
      "log.retry_after")
plant("log_waits_a_nanosecond_more", LOG, "at_most_the_longest(ahead_of(admitted + period, now))",
      "at_most_the_longest(ahead_of(admitted + period, now) + 1)", "log.retry_after")
plant("log_one_unit_too_many", LOG, "return cost > limit - std::min(used, limit) ? used + cost - limit : 0;",
      "return cost > limit - std::min(used, limit) + 1 ? used + cost - limit : 0;", "log.admits")
plant("log_of_a_lowered_limit", LOG, "return cost > limit - std::min(used, limit) ? used + cost - limit : 0;",
      "return cost > limit - used ? used + cost - limit : 0;", "log.nothing_wraps")
plant("log_frees_one_too_few", LOG, "return cost > limit - std::min(used, limit) ? used + cost - limit : 0;",
      "return cost > limit - std::min(used, limit) ? used + cost - limit - 1 : 0;", "log.admits")

NUMBER = "src/core/duration.cpp"
plant("number_of_digits_that_are_skipped", NUMBER, "{ return front * 10 + digit; }", "{ return front * 9 + digit; }",
      "number.digits")
plant("duration_of_parts_that_wrap", NUMBER, "return {ns, ns > most};", "return {ns, ns > 2 * most};", "duration.sum")
plant("duration_forgets_a_part_that_is_too_long", NUMBER,
      "if (before.too_long || part.fault == NumberFault::out_of_range) return {0, true};",
      "if (part.fault == NumberFault::out_of_range) return {0, true};", "duration.sum")
plant("number_without_the_rest", NUMBER, "after.more || tenths % 10 != 0};", "tenths % 10 != 0};", "number.fraction")
plant("number_rounded_down_at_a_digit", NUMBER, "after.more || tenths % 10 != 0};", "after.more};", "number.fraction")
plant("number_of_eleven_digits", NUMBER, "  return {tenths / 10, after.more", "  return {tenths / 9, after.more",
      "number.fraction")
plant("number_rounded_down", NUMBER, "(fraction.more ? 1 : 0);", "0;", "number.rounded_up")
plant("number_of_any_unit", NUMBER, "  const std::uint64_t tenths = after.ns + digit *",
      "  const std::uint64_t tenths = after.ns + 10000 * digit *", "number.nothing_wraps", "number.fraction")
plant("number_of_292_years_and_more", NUMBER, "  if (value > static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max()))",
      "  if (value > static_cast<unsigned __int128>(std::numeric_limits<std::uint64_t>::max()))", "number.rounded_up")

OVERDRAFT = "src/core/overdraft.cpp"
plant("charge_in_64_bits", OVERDRAFT, "    if (outside.units <= room / interval) {", "    if (outside.units <= room) {",
      "charge.nothing_wraps", "charge.cost")
plant("charge_of_one_unit", OVERDRAFT, "      after += outside.units * interval;", "      after += interval;", "charge.cost")
plant("charge_without_a_bound", OVERDRAFT, "const std::uint64_t room = most - std::min(owed, most);",
      "const std::uint64_t room = most + most - std::min(owed, most);", "charge.cost", "charge.other_T")
plant("charge_drops_all_that_does_not_fit", OVERDRAFT, "      after += room;\n", "", "charge.cost")
plant("charge_forgives_a_part_of_a_unit", OVERDRAFT,
      "  const std::uint64_t units = units_of(ahead, state.word);\n  return units > most",
      "  const std::uint64_t units = ahead / state.word;\n  return units > most", "charge.other_T")
plant("charge_lowers_a_tat", OVERDRAFT, "  if (after > owed || recounts) {", "  if (after != owed + 1 || recounts) {",
      "charge.other_T")
plant("charge_of_what_remains_is_one_less", OVERDRAFT, ": std::max(owed, (burst - std::min(outside.units, burst)) * interval);",
      ": std::max(owed, (burst - std::min(outside.units + 1, burst)) * interval);", "charge.remaining")
plant("pause_of_one_unit_less", OVERDRAFT, "const std::uint64_t at_end = (burst - 1) * interval_of(rule);",
      "const std::uint64_t at_end = burst * interval_of(rule);", "charge.pause")
plant("pause_of_one_unit_more", OVERDRAFT, "const std::uint64_t at_end = (burst - 1) * interval_of(rule);",
      "const std::uint64_t at_end = 0 * burst * interval_of(rule);", "charge.pause")
plant("refund_takes_one_more", OVERDRAFT, "units > (owed - stays) / interval ? owed - stays : units * interval;",
      "units >= (owed - stays) / interval ? owed - stays : (units + 1) * interval;", "charge.refund")
plant("refund_takes_what_others_depend_on", OVERDRAFT, "const std::uint64_t stays = std::min(owed, ahead_of(least, now));",
      "const std::uint64_t stays = 0 * std::min(owed, ahead_of(least, now));", "charge.refund")

SLOTS = "src/store/slots.hpp"
plant("one_slot_too_many", SLOTS, "if (!takes || open < most) return told;", "if (!takes || open <= most) return told;",
      "slots.no_more_than")
plant("slots_are_free_at_once", SLOTS, "std::max(lacking, std::chrono::nanoseconds{1});", "lacking;", "slots.no_more_than")

DATED = "src/core/calendar_window.hpp"
plant("calendar_left_backwards", DATED, "    found.id = id_of(state.word);", "    found.id = window.id;",
      "calendar.never_backwards")
plant("calendar_forgets_what_was_used", DATED, "    found.used = used_of(state.word);", "    found.used = 0;",
      "calendar.never_backwards", "calendar.admits")
plant("calendar_of_one_more", DATED, "  } else if (cost.units > room) {", "  } else if (cost.units > room + 1) {",
      "calendar.nothing_wraps", "calendar.admits")
plant("calendar_charges_a_denial", DATED, "    verdict = Verdict::denied;\n", "    verdict = Verdict::denied;\n    next.until += 1;\n",
      "calendar.refusal_changes_nothing")
plant("pause_charges_less_than_nothing", OVERDRAFT,
      "told.charged = units - std::min(units, ahead == 0 ? 0 : units_of(ahead, state.word));",
      "told.charged = units - (ahead == 0 ? 0 : units_of(ahead, state.word));", "charge.pause_wraps_nothing")
plant("refund_in_64_bits", OVERDRAFT, "units > (owed - stays) / interval ? owed - stays : units * interval;",
      "std::min(owed - stays, units * interval);", "charge.refund_wraps_nothing")

GRANTS = "src/core/grant_map.hpp"
plant("grants_compose_the_other_way", GRANTS, "std::max(plus(least, next.sum), next.least)",
      "std::max(plus(next.least, sum), least)", "grants.compose", "grants.fold")
plant("grant_forgets_who_is_late", GRANTS, "std::max(late, plus(next.late, sum))", "late", "grants.compose",
      "grants.fold")
plant("grant_acts_before_its_moment", GRANTS, "GrantMap map{need, at + need, kNever, kNever};",
      "GrantMap map{need, at, kNever, kNever};", "grants.one")
plant("never_is_a_time", GRANTS, "a == kNever || b == kNever ? kNever : a + b", "a + b", "grants.one")
plant("grants_cost_twice", GRANTS, "return std::max(tat + sum, least);", "return std::max(tat + sum + sum, least);",
      "grants.nothing_wraps")
plant("grants_cost_nothing", GRANTS, "return std::max(tat + sum, least);", "return std::max(tat, least);", "grants.promise",
      "grants.pause_two")
plant("grants_cost_the_other_way", GRANTS, "return std::max(tat + sum, least);", "return std::max(tat - sum, least);",
      "grants.less_helps")
plant("pause_leaves_a_burst", GRANTS, "map.least = end + (full - interval);", "map.least = end;", "grants.pause")
plant("pause_forgets_what_was_owed", GRANTS, "return std::max(tat + sum, least);",
      "return least != kNever ? least : tat + sum;", "grants.pause")
plant("late_by_one_more", GRANTS, "late == kNever ? kForever : full - late", "late == kNever ? kForever : full - late + 1",
      "grants.most_before")
