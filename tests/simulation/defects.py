"""Planted defects: each is one change of the source that ./dev simulate has to find.

`unseen` says why the simulation does not find one. That is checked too: one that is found is no longer to be called
unseen. `found_by` is the property of tests/conformance that finds it instead, which has to fail then.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Defect:
    file: str
    search: str
    replace: str
    unseen: str
    found_by: str


DEFECTS = {}


def plant(name, file, search, replace, unseen="", found_by=""):
    DEFECTS[name] = Defect(file, search, replace, unseen, found_by)


# Reservations in the process.
LEDGER = "src/store/ledger.cpp"
KEY_LEDGER = "src/store/key_ledger.cpp"
ENDS = "src/store/reservations_ends.cpp"
BOOK = "src/store/reservations.cpp"
PAUSES = "src/store/reservations_pauses.cpp"
plant("checks_mind_no_told_moment", LEDGER, "std::min(at + room.mine, after(at).most_before(room.full))", "(at + room.mine)")
plant("who_reserves_minds_no_told_moment", LEDGER, "  return late != nullptr ? late->key.at : core::GrantMap::kNever;",
      "  return late != nullptr && at < 0 ? late->key.at : core::GrantMap::kNever;")
plant("a_class_of_a_ledger_leaves_nothing", KEY_LEDGER, "return {full_of(rule), full_of(rule) - rule.kept.count()};",
      "return {full_of(rule), full_of(rule)};")
plant("settle_gives_back_what_has_drained", KEY_LEDGER, "  if (!ledger_.change(own.place, own.units - less + may_be_more)) {",
      "  ledger_.refund(less, now.count());\n  if (!ledger_.change(own.place, own.units + may_be_more)) {")
plant("settle_forgets_another_moment", KEY_LEDGER, "  const bool is_open = forget(own);\n  read(rule, now);",
      "  const bool is_open = forget(own);\n  if (!open_.empty() && open_.back().place.at > now.count()) "
      "ledger_.remove(open_.back().place);\n  read(rule, now);")
plant("cancel_after_the_moment", ENDS, "if (!record || (record->moment <= now && !record->is_plan)) return;",
      "if (!record) return;")
plant("a_recount_in_a_ledger_forgives_a_part_of_a_unit", LEDGER, ": static_cast<unsigned __int128>((time - 1) / interval_ + 1) *",
      ": static_cast<unsigned __int128>(time / interval_) *")
plant("reservations_take_more_than_their_memory", "src/store/reservation_memory.cpp",
      "  return all > bound_ ? Full::all : Full::no;\n", "  return Full::no;\n")

# Those who wait.
WAITING = "src/waiting/acquiring_store.cpp"
IN_LINE = "src/waiting/in_line.cpp"
plant("a_plan_that_is_overdue_acts", IN_LINE, "  if (!waiting.is_on_time(now)) {", "  if (now < waiting.moment) {")
plant("who_has_gone_still_waits", WAITING, "  if (waiting.in_house) house_.leave();\n", "")
plant("who_has_gone_keeps_its_plan", WAITING,
      "  if (waiting.is_asked()) return;\n  give_up_plan(waiting);\n", "  if (waiting.is_asked()) return;\n")
plant("nobody_is_told_of_a_turn", IN_LINE, "    if (!is_told) waiters_.add", "    if (is_told) waiters_.add")
plant("the_first_in_line_has_no_plan", IN_LINE,
      "  if (!house_.queues.plan(waiting, asked.by, {waiting.moment, asked.terms.sooner_by, asked.planned_at()})) {\n",
      "  house_.queues.wait_for(waiting, asked.by, waiting.moment);\n  {\n")
plant("nobody_minds_those_in_line", WAITING, "if (house_.queues.empty() || !house_.queues.join(waiting)) return false;",
      "if (tells_ || !house_.queues.join(waiting)) return false;")
plant("an_acquire_acts_before_its_moment", IN_LINE, "if (now < waiting.moment) return plan_again(waiting, now);",
      "if (now < waiting.moment) return act(waiting);")
plant("more_wait_than_may", "src/waiting/acquiring_store.hpp",
      "if (waiting_.fetch_add(1, std::memory_order_relaxed) < most_) return true;",
      "if (waiting_.fetch_add(1, std::memory_order_relaxed) <= most_) return true;")

# Of GCRA, and numbers that change.
GCRA = "src/core/gcra.hpp"
plant("idling_earns", GCRA, "next = {std::max(state.tat, static_cast<std::uint64_t>(arrived.count())) + need, interval};",
      "next = {std::min(state.tat - 1, static_cast<std::uint64_t>(arrived.count())) + need, interval};")
plant("a_part_of_a_unit_is_forgiven", GCRA, "const std::uint64_t owed = (ahead - 1) / state.interval + 1;",
      "const std::uint64_t owed = ahead / state.interval;")
plant("a_denial_recounts", GCRA,
      "  return {verdict, quota.burst(), room, retry_after, at_most_the_longest(ahead), state, false};",
      "  const State next{static_cast<std::uint64_t>(now.count()) + owed * interval, interval};\n"
      "  return {verdict, quota.burst(), room, retry_after, at_most_the_longest(ahead), next, verdict == Verdict::denied};")
plant("a_state_belongs_to_its_burst", "src/limits/set.cpp", "identities_.emplace(identity(said, state), 0);",
      "identities_.emplace(identity(said, state) + std::to_string(rule.quota.burst()), 0);")

# Over HTTP.
plant("over_http_every_cost_is_one", "src/http/json.cpp", '      read_units(members.values[kCost], pointer_to(at, "cost"), cost.units);',
      "      cost.units = 1;")
plant("over_http_a_denial_is_200", "src/http/answer.cpp", "if (told.allowed || !exchange.verb->charges) return 200;",
      "if (told.allowed || exchange.told == 0) return 200;")

# A snapshot on a disk.
SNAPSHOT = "src/store/snapshot.cpp"
plant("a_snapshot_is_not_synced", SNAPSHOT, "if (failed == nullptr && !disk.sync(file)) failed", "if (failed != nullptr && !disk.sync(file)) failed")
plant("its_name_is_not_synced", SNAPSHOT, "if (!disk.sync_folder_of(path)) return", "if (file < 0) return")
plant("half_a_snapshot_takes_its_place", SNAPSHOT, 'failed = "cannot write";', "records = 0;")
plant("half_of_a_snapshot_is_restored", SNAPSHOT, "if (r.ahead > passed) visit(entry_of(r, passed));",
      "if (r.ahead > passed && r.place % 2 != 0) visit(entry_of(r, passed));")

# By a limits file.
plant("a_class_leaves_nothing", "src/core/gcra.hpp",
      "const std::uint64_t room = burst * interval - static_cast<std::uint64_t>(kept.count());",
      "const std::uint64_t room = burst * interval - 0 * static_cast<std::uint64_t>(kept.count());")
HOLDS = "src/store/key_holds.hpp"
plant("as_much_is_held_as_is_asked_for", HOLDS, "if (at_most == ~std::uint64_t{0}) return nanoseconds{0};",
      "if (at_most != 0) return nanoseconds{0};")
plant("redis_as_much_is_held_as_is_asked_for", "src/redis/reserve.lua",
      "if units > at_most + 0.0 then return -1 end", "if units > 0 then return 0 end")
plant("a_hold_is_counted_after_its_end", HOLDS, "      units_ -= holds_.front().units;\n", "",
      "whether others hold too much is not judged where that is why a request is denied")

# In Redis.
RESERVE = "src/redis/reserve.lua"
LEDGER_SCRIPT = "src/redis/ledger.lua"
PAUSES_SCRIPT = "src/redis/pauses.lua"
plant("redis_checks_mind_no_told_moment", LEDGER_SCRIPT, "return max(min(at + mine - x, full - P - x), 0), x, S, A",
      "return max(at + mine - x, 0), x, S, A")
plant("redis_who_reserves_minds_no_told_moment", LEDGER_SCRIPT, "local later = late_from(its, at, max(x, at) + need, full) or max(at, x + need - mine)",
      "local later = max(at, x + need - mine)")
plant("redis_cancel_after_the_moment", RESERVE, "record and (record.is_plan or until_moment > 0) and is_there", "record and is_there")
plant("redis_settle_gives_back_what_has_drained", RESERVE, "  close(its, part.moment, part.seq)\n  return more",
      "  close(its, part.moment, part.seq, actual < part.units and part.units * T or nil)\n  fold(its, at, full)\n"
      "  its.front = its.front - max(part.units - actual, 0) * T\n  return more")
plant("redis_a_recount_forgives_a_part_of_a_unit", LEDGER_SCRIPT, "return ns > 0 and (floor((ns - 1) / its.T) + 1) * T or 0", "return ns > 0 and floor(ns / its.T) * T or 0")
CHECK = "src/redis/check.lua"
plant("redis_idling_earns", CHECK, "    if ahead < 0 then ahead = 0 end\n", "")
plant("redis_charges_what_another_limit_denies", CHECK, "if answer[1] == 1 then\n  -- part", "if true then\n  -- part")
plant("redis_merged_count_as_one", CHECK, "      need = need * count\n", "")

# Around Redis.
plant("every_share_is_the_whole", "src/redis/fallback.cpp", "if (share >= 1) return quota;", "if (share > 0) return quota;")
plant("a_share_scales_the_count", "src/redis/fallback.cpp",
      "std::min((whole_interval * kMillion + part - 1) / part, kMostTime);", "std::min(whole_interval, kMostTime);")
plant("the_fallback_begins_afresh", "src/redis/fallback.cpp", "if (debt == 0) return;", "if (debt > 0) return;")
plant("the_fallback_knows_nothing_of_what_is_booked", "src/redis/fallback.cpp",
      "left == 0 && answer.reset_after > full) return answer.reset_after;",
      "left == 0 && answer.reset_after > full) return full;")
plant("a_lease_does_not_melt", "src/redis/leases.hpp",
      "spent + (elapsed <= 0 ? 0 : static_cast<std::uint64_t>((elapsed - 1) / interval + 1));",
      "spent + (elapsed <= interval ? 0 : 0);")
plant("a_lease_is_given_back_whole", "src/redis/give_back_call.cpp", "Cost{lease.units - lease.spent}", "Cost{lease.units}")
plant("merged_are_told_as_the_first", "src/redis/check_call.cpp", "answer.decision = decisions[i + 1];",
      "answer.decision = decisions[i * 0];")
plant("a_denial_does_not_drain", "src/redis/denial_memory.cpp",
      "if (!told(denial, rule, latest, nanoseconds{0}, cost)) return std::nullopt;\n  return told(denial, rule, earliest, lag, cost);",
      "return told(denial, rule, nanoseconds{0}, lag, cost);")
plant("a_deadline_finishes_nothing", "src/redis/client.cpp",
      "finish(index, {Cause::timeout, error, nullptr});", "(void)error;")
plant("a_late_answer_is_the_next_ones", "src/redis/client.cpp", "return calls_.waits(question.call) ? answer_call(",
      "return calls_[question.call.call].generation >= question.call.generation ? answer_call(",
      "why is not known")
plant("a_torn_snapshot_is_taken", "src/store/snapshot.cpp", "if (trailer.checksum != checksum.finish())",
      "if (trailer.checksum != checksum.finish() && header.version == 0)")

# Between a socket and a store.
WORKER = "src/server/worker.cpp"
plant("nobody_is_woken_for_a_moment", WORKER, "!service_.options().virtual_time) next_moment_->set(after);",
      "!service_.options().virtual_time) return;")
plant("answers_of_a_turn_are_lost", "src/net/loop.cpp", "  for (const auto& weak : std::exchange(resumed_, {}))\n    if",
      "  for (const auto& weak : std::exchange(resumed_, {}))\n    if (weak.expired())\n    if")
SESSION = "src/net/session.cpp"
plant("nothing_is_read_after_an_answer", SESSION, "  converse({}, {now, now});\n  if (state_ == State::reading) expect_input();",
      "  converse({}, {now, now});")
plant("the_rest_of_a_read_is_forgotten", SESSION, "    if (used < fresh.size()) rest_.assign(fresh.substr(used));\n", "")
plant("who_has_gone_is_not_looked_for", SESSION, "      if (ends_with_peer_) return ends_or_talks();\n", "",
      "what a client that went away keeps waiting, and for how long, is not known outside of weir")
plant("a_brake_is_never_let_go", "src/net/poller.hpp",
      "    if (brake_ && brake_->holds && brake_->brake.sockets(brake_->clock()) > 0) turn_([this] { serve(); });\n", "    (void)brake_;\n",
      "in no seed has the store no room for what is asked at once")
SOCKETS = "src/redis/sockets.cpp"
plant("deadlines_are_not_waited_for", SOCKETS, "  timer_->set(wait);\n", "")
plant("deadlines_are_looked_at_before_what_has_come", SOCKETS, "if (reads_first_ < kReadsFirst && !(was_quiet && quiet_)) {",
      "if (reads_first_ < 0 && !was_quiet) {",
      "both have come only where a machine stood still, whose answers may be the fallback's")

# The life of a call.
SLOTS = "src/store/slots.hpp"
plant("a_slot_is_freed_twice", SLOTS, "    if (open_.is_end(at) || open_[at].second != id) return false;\n    open_.erase(at);",
      "    if (open_.is_end(at)) return false;\n    open_.erase(at);",
      "what is known of a hold goes with its end, so no second one is told of it")
plant("one_slot_too_many", SLOTS, "if (!takes || open < most) return told;", "if (!takes || open <= most) return told;")
plant("a_settlement_keeps_its_slot", BOOK, "if (slots == nullptr || !slots->free(id, end)) return false;",
      "if (slots == nullptr || !slots->has(id, end)) return false;")
plant("nobody_is_told_of_a_free_slot", BOOK,
      "  freed_(place_of(hash));\n  if (slots->open() == 0)", "  if (slots->open() == 0)")
plant("bound_holds_stay", "src/service/bound_holds.cpp", "  ender_.end(std::move(left));", "  left.clear();")
plant("an_extension_is_not_cut", ENDS, "std::max(now, record->moment) + std::min(asked.hold, record->longest);",
      "std::max(now, record->moment) + asked.hold + record->longest;")
plant("redis_an_extension_revives_a_hold", RESERVE,
      "if not is_there or not record.held or until_end <= 0 then return {1, time[1], time[2], '0'} end",
      "if not record or not record.held then return {1, time[1], time[2], '0'} end",
      "the record of a hold expires when the hold ends", "an_extended_hold_ends_later_or_earlier")
plant("redis_one_slot_too_many", RESERVE, "its.has_room = states[i].open < full", "its.has_room = states[i].open <= full")
plant("redis_a_settlement_keeps_its_slot", RESERVE, "if until_moment > 0 then return {0, time[1], time[2]} end\nfree_slots()",
      "if until_moment > 0 then return {0, time[1], time[2]} end")
OVERDRAFT = "src/core/overdraft.cpp"
plant("a_charge_is_of_one_unit", OVERDRAFT, "      after += outside.units * interval;", "      after += interval;")
plant("what_remains_raises_nothing", OVERDRAFT, ": std::max(owed, (burst - std::min(outside.units, burst)) * interval);",
      ": std::max(owed, 0 * burst);")
plant("a_charge_lowers_a_tat", OVERDRAFT, "  const bool recounts = outside.form == Outside::Form::pause &&",
      "  if (outside.form == Outside::Form::remaining) after = (burst - std::min(outside.units, burst)) * interval;\n"
      "  const bool recounts = after < owed ? true : outside.form == Outside::Form::pause &&")
plant("a_refund_takes_all_back", OVERDRAFT,
      "units > (owed - stays) / interval ? owed - stays : units * interval;", "units != 0 ? owed - stays : interval;")
plant("a_settlement_in_a_pause_shortens_it", KEY_LEDGER, "  ledger_.close(own.place);\n  return more - may_be_more + dropped;",
      "  ledger_.close(own.place);\n  ledger_.fold(std::max(now.count(), ledger_.pause_end()), full);\n"
      "  ledger_.refund(less, now.count());\n  return more - may_be_more + dropped;")
plant("a_pause_stops_nobody", LEDGER, "  pause_end_ = std::max(pause_end_, end);", "  (void)end;")
plant("a_pause_counts_where_the_next_acts", LEDGER,
      "  tat = owed_at_end(tat, full);\n  members_.each_sum(&pause, &place, add);\n  return tat;",
      "  members_.each_sum(&pause, &place, add);\n  return owed_at_end(tat, full);")
plant("a_pause_asks_for_nothing_at_its_end", LEDGER, "  tat = owed_at_end(tat, full);\n  members_", "  members_")
plant("a_moment_in_a_pause_stays", ENDS, "  if (may_act(*record, now)) {", "  if (may_act(*record, now) || now.count() > 0) {")
plant("a_moment_that_a_pause_lies_over_has_acted", ENDS, "if (acted && has_acted(*acted, now)) asked.wait = nanoseconds{0};",
      "if (acted) asked.wait = nanoseconds{0};")
plant("a_pause_charges_less_than_nothing", KEY_LEDGER, "  told.charged = after - std::min(after, before);", "  told.charged = after - before;")
BESIDE_A_PAUSE = "while a rate is paused those who wait for it too are allowed to wait as long"
plant("an_extension_in_a_pause_counts_it_again", ENDS, "      find_slots(part.hash)->move(*id, kept.until, end);",
      "      const KeptLedger* const first = find_ledger(kept.parts[0], now);\n"
      "      const bool is_paused = first != nullptr && first->ledger.is_paused(now);\n"
      "      find_slots(part.hash)->move(*id, kept.until, is_paused ? end + (end - now) : end);", BESIDE_A_PAUSE)
plant("a_settlement_frees_a_slot_by_another_end_in_a_pause", ENDS,
      "    if (free_slot(part, *id, record->until)) asked.wait",
      "    const KeptLedger* const first = find_ledger(record->parts[0], now);\n"
      "    const bool is_paused = first != nullptr && first->ledger.is_paused(now);\n"
      "    if (free_slot(part, *id, record->until - nanoseconds{is_paused ? 1 : 0})) asked.wait", BESIDE_A_PAUSE)
plant("a_slot_is_as_many_as_a_rate_is_asked_for", "src/store/all_or_none_check.cpp",
      "    if (!core::can_reserve(rule.algorithm)) continue;", "    if (core::counts_at_grant(rule.algorithm)) continue;")
plant("a_breach_is_forgotten_early", "src/core/penalty.hpp",
      "    return now + most * static_cast<std::int64_t>(std::min(breaches + 1, kMostBreaches));",
      "    return now + time * static_cast<std::int64_t>(std::min(breaches + 1, kMostBreaches));")
plant("redis_a_pause_stops_nobody", PAUSES_SCRIPT, "      its.pause = stop\n", "")
plant("redis_a_pause_counts_where_the_next_acts", LEDGER_SCRIPT,
      "  return max(owed_at_end(its, owed_by_grants(its, its.pause - 1), full) + S, A)",
      "  return max(owed_by_grants(its, at), its.pause + full - its.T)")
plant("redis_a_pause_forgets_one_before_it", PAUSES_SCRIPT, "local stop = max(at + length, its.pause)", "local stop = at + length")
plant("redis_a_moment_in_a_pause_stays", RESERVE, "if may_act then wait = int(max(until_moment, 0)) else cancel() end",
      "wait = int(max(until_moment, 0))")
plant("a_penalty_extends_itself", PAUSES, "if (kept != nullptr && kept->ledger.is_paused(now)) return false;",
      "if (kept != nullptr && now.count() < 0) return false;")
NOT_AFRESH = "no world pauses so that a key is afresh"
plant("a_pause_afresh_forgets_what_acts_after_it", LEDGER,
      "  while (!members_.empty() && members_.front().key.at < pause_end_)", "  while (!members_.empty())",
      unseen=NOT_AFRESH, found_by="what_is_held_at_its_end_or_later_is_settled_as_ever")
plant("a_pause_afresh_of_a_window_is_taken_back", OVERDRAFT,
      "  if (is_paused_window(rule, state, now)) return paused_window(state, now);\n", "",
      unseen=NOT_AFRESH, found_by="nothing_shortens_that_of_a_fixed_window")
plant("redis_a_pause_afresh_ends_late", LEDGER_SCRIPT,
      "return its.forgets and its.pause or", "return its.forgets and its.pause + 1 or",
      unseen=NOT_AFRESH, found_by="nobody_acts_in_it_and_then_the_key_is_as_if_never_used")
plant("redis_a_window_held_before_a_pause_afresh_gives_back", PAUSES_SCRIPT, "    call('DEL', KEYS[2 * i + 1])\n", "",
      unseen=NOT_AFRESH, found_by="what_a_fixed_window_held_before_gives_nothing_back")
plant("redis_what_is_over_keeps_its_slot", RESERVE, "call('ZREMRANGEBYSCORE', key, '-inf', int(now_us))", "0")
plant("redis_a_penalty_extends_itself", PAUSES_SCRIPT, "rests = its.pause <= now_in(its) and need > free", "rests = need > free")
plant("a_penalty_is_not_kept", PAUSES, "  pause({&alone, 1}, charging, shares, now);",
      "  if (now.count() < 0) pause({&alone, 1}, charging, shares, now);")
plant("a_month_of_30_days", "src/core/calendar.cpp",
      "      return {since(said.year() / said.month() / 1), since(next / 1)};",
      "      return {since(said.year() / said.month() / 1), since(said.year() / said.month() / 1) + days{30 + 0 * (next / 1).day().operator unsigned()}};")
plant("a_window_of_the_calendar_forgets", "src/core/calendar_window.hpp", "    found.used = used_of(state.word);",
      "    found.used = used_of(state.word) / 2;")

# Charges that leave others free.
NOT_ASKED = "no world charges several limits so that those that are over leave the others free"
plant("those_that_are_over_leave_nobody_free", "src/store/charging.hpp",
      "return over == 0 || has(over, which);", "return over == 0 || has(over, which) || which < kMostChecks;",
      unseen=NOT_ASKED, found_by="where_one_is_over_it_is_charged_and_no_other")
plant("a_script_leaves_nobody_free", "src/redis/charge.lua", "if over[i] or not some_over then", "if over[i] or not nil then",
      unseen=NOT_ASKED, found_by="where_one_is_over_it_is_charged_and_no_other")
plant("a_key_twice_in_a_script_is_charged_once", "src/redis/charge.lua",
      "if text then texts[key], changed[key]", "if text and not changed[key] then texts[key], changed[key]",
      unseen=NOT_ASKED, found_by="one_key_twice_is_charged_twice_unless_one_is_over")
