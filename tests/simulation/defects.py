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
SCHEDULE = "src/store/schedule.cpp"
plant("cancel_gives_back_at_once", SCHEDULE,
      "  return add(end, {.moment = moment, .low = low, .units = own.count, .number = own.number}, client);",
      "  state.until -= own.count * numbers_.interval;\n  return client != 0 || now.count() != 0;")
FREED = "src/core/freed_units.hpp"
plant("settle_gives_back_what_has_drained", FREED,
      "std::min<unsigned __int128>(ahead_of(end, now), static_cast<unsigned __int128>(less) * interval));",
      "ahead_of(end, now) == 0 ? 0 : static_cast<unsigned __int128>(less) * interval);")
plant("settle_moves_up_those_who_wait", SCHEDULE,
      "return !is_anybody_ahead(now) || (moment <= now && fixed_until_ <= now && told_until_ <= now);",
      "return !is_anybody_ahead(now) || moment <= now;")
plant("settle_by_the_end_it_once_left", SCHEDULE,
      "return core::end_after_moves(own.end, own.moved, moved_, words_.sum_from(own.number)) +", "return own.end +")
plant("settle_lags", SCHEDULE,
      "  if (!hold) return false;\n  now = no_earlier(now);\n  const bool lives", "  if (!hold) return false;\n  const bool lives")
plant("hole_is_taken_twice", SCHEDULE, "const std::uint64_t rest = fits - units;", "const std::uint64_t rest = fits;")
plant("hole_that_lasts_has_not_drained", FREED,
      "const std::uint64_t begin = std::max(low, static_cast<std::uint64_t>(moment.count()));",
      "const std::uint64_t begin = low;")
plant("cancel_takes_a_settled_moment_along", SCHEDULE,
      "if ((*found)->second.lasts && (*found)->second.moment > now) return;", "(void)now;",
      "it breaks an order, of which the referee knows nothing, and no promise")
BOOK = "src/store/reservations.cpp"
plant("cancel_after_the_moment", BOOK,
      "if (!is_ahead) return;", "if (!is_ahead && now.count() < 0) return;")
plant("hole_is_further_than_the_wait", BOOK, "const nanoseconds latest = now + std::min(*check.decision.retry_after, reservation.max_wait);",
      "const nanoseconds latest = now + *check.decision.retry_after;")
plant("hold_outlives_its_numbers", SCHEDULE, "  ++generation_;\n  tail_ = kUnknown;\n", "  tail_ = kUnknown;\n")
plant("settle_of_what_was_forgotten", BOOK, "if (!knows_) schedule_.lose();",
      "if (!knows_ && schedule_.holds() > 1000) schedule_.lose();")
plant("cancel_lags", SCHEDULE, "return false;\n  now = no_earlier(now);\n  drop_passed(now);", "return false;\n  drop_passed(now);",
      "few clients cancel within what a thread lags by")
plant("reservations_take_more_than_their_memory", "src/store/reservation_memory.cpp",
      "  return all > bound_ ? Full::all : Full::no;\n", "  return Full::no;\n")

# Those who wait.
WAITING = "src/waiting/acquiring_store.cpp"
plant("all_that_is_overdue_acts", WAITING, "if (waiting.is_on_time(now)) return false;",
      "if (waiting.is_on_time(now) || now.count() > 0) return false;")
plant("what_is_overdue_has_not_drained", WAITING, "return std::clamp(full - (now - moment), nanoseconds{0}, charged());",
      "return std::clamp(full + now * 0, nanoseconds{0}, charged());")
plant("who_has_gone_still_waits", WAITING, "  if (waiting.in_house) house_.leave();\n", "")
plant("who_has_gone_keeps_the_moment", WAITING,
      "  } else {\n    give_up_moment(waiting);\n  }\n  remove(waiting);", "  }\n  remove(waiting);",
      "what a client that went away might have left to others is not known outside of weir")

plant("nobody_is_told_of_a_turn", WAITING, "    waiting.looks_again = false;\n    waiters_.add(waiting, nanoseconds{0});",
      "    waiting.looks_again = false;", "how soon one in line is granted is not judged")

plant("an_acquire_acts_before_its_moment", WAITING, "waiting.moment = since + waiting.reservation.wait;",
      "waiting.moment = since + waiting.reservation.wait / 2;")
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
plant("over_http_a_denial_is_200", "src/http/answer.cpp", "if (told.allowed || !charges(exchange.kind)) return 200;",
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
plant("as_much_is_held_as_is_asked_for", SCHEDULE, "if (at_most == ~std::uint64_t{0}) return nanoseconds{0};",
      "if (at_most != 0) return nanoseconds{0};")
plant("redis_as_much_is_held_as_is_asked_for", "src/redis/reserve.lua",
      "local held = line.held\n  if held + units <= at_most then return 0 end", "if line.held >= 0 then return 0 end\n  local held = 0")
plant("a_hold_is_counted_after_its_end", SCHEDULE, "  held_units_ -= hold.units;\n", "",
      "whether others hold too much is not judged where that is why a request is denied")

# In Redis.
RESERVE = "src/redis/reserve.lua"
plant("redis_cancel_gives_back_at_once", RESERVE,
      "add_hole(line, {moment = digits_of(at), stop = stop, low = low, units = part.units, many = 1,\n"
      "                    number = part.number, lasts = false})",
      "move_back(part, digits_of(states[part.i].tat - part.units * part.T))")
plant("redis_settle_gives_back_what_has_drained", RESERVE,
      "local back = min(max(stop, 0), (part.units - part.actual) * part.T)",
      "local back = (part.units - part.actual) * part.T")
plant("redis_settle_by_the_end_it_once_left", RESERVE, "return from_now(part.stop) - gone", "return from_now(part.stop)")
plant("redis_settle_moves_up_those_who_wait", RESERVE,
      "return not is_anybody_ahead(line) or acts_at <= 0 and from_now(line.told) <= 0",
      "return not is_anybody_ahead(line) or acts_at <= 0")
plant("redis_hole_is_taken_twice", RESERVE, "local rest = fits - units", "local rest = fits")
plant("redis_loss_leaves_the_holes", RESERVE, "if state.tat == 0 or state.mark ~= ' @' .. epoch then lose(line) end", "",
      "numbers of a key do not change, and what a reset or a loss adds is allowed for")
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
      "    if (brake_ && brake_->holds && brake_->brake.sockets(brake_->clock()) > 0) serve();\n", "    (void)brake_;\n",
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
      "  freed_(schedule_key(hash));\n  if (slots->open() == 0)", "  if (slots->open() == 0)")
plant("bound_holds_stay", "src/service/bound_holds.cpp", "  ender_.end(std::move(left));", "  left.clear();")
plant("an_extension_is_not_cut", BOOK, "const nanoseconds end = from + std::min(asked.hold, record->longest);",
      "const nanoseconds end = from + asked.hold + record->longest;")
plant("redis_an_extension_revives_a_hold", RESERVE,
      "if not is_there or not record.held or is_over() then return {1, time[1], time[2], '0'} end",
      "if not moment or not record.held then return {1, time[1], time[2], '0'} end",
      "the record of a hold expires when the hold ends", "an_extended_hold_ends_later_or_earlier")
plant("redis_one_slot_too_many", RESERVE, "its.has_room = states[i].open < full", "its.has_room = states[i].open <= full")
plant("redis_a_settlement_keeps_its_slot", RESERVE, "if not ARGV[4] and #parts > 0 then return {is_there and -1 or 0, time[1], time[2]} end\nfree_slots()",
      "if not ARGV[4] and #parts > 0 then return {is_there and -1 or 0, time[1], time[2]} end")
OVERDRAFT = "src/core/overdraft.cpp"
plant("a_charge_is_of_one_unit", OVERDRAFT, "      after += outside.units * interval;", "      after += interval;")
plant("what_remains_raises_nothing", OVERDRAFT, ": std::max(owed, (burst - std::min(outside.units, burst)) * interval);",
      ": std::max(owed, 0 * burst);")
plant("a_charge_lowers_a_tat", OVERDRAFT, "  const bool recounts = outside.form == Outside::Form::pause &&",
      "  if (outside.form == Outside::Form::remaining) after = (burst - std::min(outside.units, burst)) * interval;\n"
      "  const bool recounts = after < owed ? true : outside.form == Outside::Form::pause &&")
plant("a_refund_takes_all_back", OVERDRAFT,
      "units > (owed - stays) / interval ? owed - stays : units * interval;", "units != 0 ? owed - stays : interval;")
plant("a_settlement_shortens_a_pause", SCHEDULE,
      "if (is_paused(now) || has_holes(now) || words_.size() >= kMostWords) return false;",
      "if (has_holes(now) || words_.size() >= kMostWords) return false;",
      "few settle in a pause what has acted right before it, while nobody waits", "no_settlement_shortens_a_pause")
plant("the_last_settlement_shortens_a_pause", SCHEDULE, "  if (is_paused(now) && state.until == end && moment <= now)\n    back",
      "  if (is_paused(now) && state.until == end && moment < nanoseconds{0})\n    back",
      "only a pause shorter than the time of one unit lets a hold be the last of its line",
      "the_last_of_a_line_shortens_no_pause")
plant("a_pause_moves_nobody", SCHEDULE, "  ahead_.move(by);", "  (void)by;")
plant("a_pause_is_of_the_tat_alone", SCHEDULE, "return core::least_tat(pause_end_, numbers.interval, numbers.burst, now);",
      "return numbers.interval != 0 ? 0 : core::least_tat(pause_end_, numbers.interval, numbers.burst, now);")
plant("redis_a_pause_moves_nobody", RESERVE, "      line.shift = line.shift + by\n", "")
plant("redis_a_moment_that_has_come_is_still_ahead", RESERVE, "  if line.shift % 1e3 == 0 then return end\n", "  do return end\n",
      "no pause begins in the very microsecond at which somebody acts",
      "who_acts_at_the_end_of_a_pause_is_moved_by_no_other")
OLD_END = ("no request is of slots and of a rate", "what_is_told_of_a_slot_that_a_pause_has_kept_is_its_holds_new_end")
plant("a_slot_that_a_pause_moves_is_told_its_old_end", BOOK, "  move_slots(hash, now);\n  std::vector", "  std::vector", *OLD_END)
plant("redis_a_slot_that_a_pause_moves_is_told_its_old_end", RESERVE,
      "if slot and type(slot) ~= 'table' then move_slot(part.name, id, ends) end", "", *OLD_END)
plant("a_penalty_extends_itself", BOOK, "if (schedule != nullptr && schedule->is_paused(now)) return false;",
      "if (schedule != nullptr && now.count() < 0) return false;")
plant("redis_what_is_over_keeps_its_slot", RESERVE, "    free_ended(key, stem)\n", "")
plant("redis_a_penalty_extends_itself", RESERVE, "if line and is_paused(line) or not denies(", "if not denies(")
plant("a_penalty_is_not_kept", BOOK, "  pause({&alone, 1}, charging, shares, now);",
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
      "if text then texts[key], changed[key] = text, true end", "if text and not changed[key] then texts[key], changed[key] = text, true end",
      unseen=NOT_ASKED, found_by="one_key_twice_is_charged_twice_unless_one_is_over")
