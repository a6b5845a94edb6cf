-- Charges requests for the moment at which they fit, takes such charges back, and charges what they turned out to cost:
-- the rules of src/store/reservations.cpp, in Redis or Valkey. ledger.lua has the ledger; check.lua what a state is.
--
--   KEYS    the reservation's record; then for each limit its state, and its line: the open ones by when they are over
--   ARGV    reserve TIME id max_wait hold longest   and for each limit six words:
--             marks T full need burst more      the first four as in check.lua; '' marks nothing. Slots' end with
--                                               'slots ', T is 1 and full what may be open. A window's end with
--                                               'window ' or 'clock ', T is its length, full and burst what it admits,
--                                               and need the units; it counts at the grant. One of the calendar has
--                                               'calendar ', and T as windows.lua has it. burst is the limit's. more:
--                                               'at_most key_size id own from end': the units that may be held, '' if
--                                               it is never settled, 'any' without a bound; two numbers that the record
--                                               keeps; whether a settlement that names no limit says what it cost here;
--                                               and those in line before it, as store::Line, from now on, or 0.
--             A hold may be extended by `longest` from then on
--           plan ... stood follows              as reserve, for one that has stood in line for that long: one of that id
--                                               is cancelled first; what acts later is a plan, alone if 'follows'
--           look ...                            as reserve, and nothing is charged
--           cancel TIME
--           extend TIME hold                  ns, from now or from its moment
--           settle TIME overdraft actual ...  what each limit of the record cost; none: is it there still? No more
--                                             is owed then than drains a burst and the overdraft later
--           moment TIME                       one over whose moment a pause lies is cancelled
--           pause TIME id length how          nobody acts for that long; KEYS[1] is read by nobody; how is 'afresh' or
--                                             'paced'; for each limit T, burst, and ns that its class leaves to others;
--                                             of a fixed window 'window', what it admits, and 0
--           rest TIME id length how T burst kept need growing most    a pause of one limit whose state denies those units,
--                                             unless it is paused. growing, in thousandths, above 1000: of length x
--                                             growing^n, at most `most`; KEYS[1] says until when breaches count
--           refund TIME                       and for each limit T, burst, ns and kept: that much was not used after all
--           holds TIME most stem              and for each limit 'slots' or 'rate': which holds are open; nobody reads
--                                             KEYS[1]; `stem` is what the names of records begin with before their ids
--           TIME is 's us', in tests; '' the server's. Lengths of time are ns.
--   answer  of reserve: 1 when it was charged, else 0; the time, s and us; how; ns; by; for each limit its state before,
--           or what ledger.lua tells of that; and when it is kept, for each that was charged the same after it
--             now      charged, or denied, as a check
--             later    ns: until its moment; denied: how long it is too late
--             sooner   granted, and by how much what is held may make it sooner in the place of BY
--             window   denied: a window is full; ns: how long the rates alone are too late, -1: never
--             held     denied: the units that may be held are, of limit `by`; ns: until they fit, -1 if never
--             busy     denied: slots are
--             -1 and the time alone: a window of the calendar is not the one that runs, and nothing is charged
--             The state of slots is 'slots OPEN LACKING LAST': how many are taken, ns until one of them is free for one
--             more, and until the last ends
--           of cancel: units; s; us
--           of settle: 1, or 0 when there is none, or -1 when it is there still; s; us; for each limit that it settled
--             T, burst, its state now, the units that are not owed for that
--           of moment: 1; s; us; ns until it, 0 from then on, -1 when there is none
--           of extend: 1; s; us; ns that the hold has now, 0 when none is open
--           of pause and of refund: 1; s; us; for each limit its state after, and the units charged or given back
--           of rest: the same of its limit, and ns: how long the pause is; 0 instead of 1 when nothing has been done
--           of holds: 1; s; us; for each its id, units, ns until its moment and until its end
--
-- A record is 'weir2r MOMENT UNTIL COUNT HELD LONGEST', of the clock that wrote it, then a line of words for each
-- limit, then the names of the states, one after the other. HELD is 2 of a hold that acts when it is granted: a clock
-- that steps back does not put its moment ahead. Of a plan LONGEST is followed by ' plan'. The words: limit's id,
-- lengths of key and of name, T, burst, units, whether it settles (2: not by an actual without a name), what it is,
-- r, s, w or d: a rate's, a slot, a window's, one of the calendar's; its moment there and its number in the ledger,
-- or the end of the window and its id; whether it is listed, and a shadow's; whose the ledger or the window is. One
-- without a hold stays for a minute after its moment.
--
-- A plan is what the first in line of a server has: in the ledgers as if it had been told, in no line, and charged
-- nothing. It stands for PLANNED after its server has asked for it, and acts when that asks for its moment, and all of it
-- is there. One that an older one in line makes late goes.
--
-- A line is a sorted set of 'id units seq moment until' by the us at which it is over; those that are listed, which may be
-- settled, after all others. It counts as long as its ledger is there.
--
-- Slots are a sorted set in place of a state: of each open hold 'weir1s ID', by the us at which it ends.
--
-- The window of a state that somebody has reserved from is known by a text in place of a line, an epoch, as long as it
-- runs: a reset takes it along, and what was reserved before goes back to no window of after. Us are those since 1.5 x
-- 10^15 us (2017), rounded up.

local call, format, match, sub = redis.call, string.format, string.match, string.sub
local floor, ceil = math.floor, math.ceil
local verb = ARGV[1]
local time = ARGV[2] == '' and call('TIME') or {match(ARGV[2], '^(%d+) (%d+)$')}
local s, n = time[1] + 0.0, time[2] * 1000
local now_us = s * 1e6 + time[2] - 1.5e15  -- since 2017, so that beside what it is added to it is exact

-- Most reservations are of one limit and can act now, as a check: decided as in check.lua, before any function is made.
if verb == 'reserve' and not KEYS[4] and ARGV[5] == '0' and ARGV[7] == '' and match(ARGV[12], ' 0$') then
  local T, full, need = ARGV[8], ARGV[9] + 0.0, ARGV[10] + 0.0
  local text = redis.pcall('GET', KEYS[2])
  local ts, tn, of = s, n, T
  if text then ts, tn, of = match(text.err or text, '^weir1g (%d%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d%d%d%d) (%d+)$') end
  if of == T and need > 0 then
    local ahead = math.max((ts - s) * 1e9 + (tn - n), 0)
    if ahead <= full - need then
      local ns = n + ahead + need
      tn = ns % 1e9
      ts = s + (ns - tn) / 1e9
      call('SET', KEYS[2], format('weir1g %d%09d ', ts, tn) .. T, 'PXAT', format('%d', ts * 1000 + ceil(tn / 1e6)))
      return {1, time[1], time[2], 'now', '0', 0, text}
    end
    if ARGV[4] == '0' and need <= full then return {0, time[1], time[2], 'now', '0', 0, text} end
  end
end

-- include times.lua

local function less(as, an, bs, bn) return as < bs or as == bs and an < bn end

-- include ledger.lua

-- include windows.lua

local LISTED = 4e15
local LOOKED = 64  -- holds
local PLANNED = 1.1e9
local TOLD = 60e9  -- for how long it is told of one without a hold that its moment has come

local function int(number) return format('%d', number) end
local function from_now(digits)
  local as, an = pair(digits)
  return (as - s) * 1e9 + (an - n)
end
local function digits_of(ns)
  ns = n + ns
  local tn = ns % 1e9
  return format('%d%09d', s + (ns - tn) / 1e9, tn)
end
local function us_of(ns) return now_us + ceil(ns / 1e3) end
local function stepped_us(its) return (its.named - its.E) * 1e6 end

local count = (#KEYS - 1) / 2
local states, ledgers, limits = {}, {}, {}

local function no_state(i)
  return redis.error_reply(format('WRONGTYPE key %d of this request holds no state of gcra', i))
end

-- Rates.
-- False: something else lies there. A state of a former build says more; what it owes counts.
local function read_state(i, id, T)
  local key = KEYS[2 * i]
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then
    if not string.find(text.err, 'WRONGTYPE', 1, true) then error(text.err) end
    local its, gone = open_ledger(key)
    ledgers[i] = its or gone and ledger_of_state(key, id, T)
    return its or gone
  end
  local tat, of, more = match(text or '', '^weir1g (%d+) (%d+)(.*)$')
  if text and (not tat or #of > 19 or more ~= '' and not match(more, '^ @[%w_-]+[%d ]*$')) then return false end
  local owes = tat and from_now(tat) > 0
  if owes and (from_now(tat) >= 9223372036854775807 or of + 0.0 == 0) then return false end
  ledgers[i] = ledger_of_state(key, id, owes and of + 0.0 or T, owes and tat)
  ledgers[i].text = text
  return true
end
-- Those whose time is over can change no more. A pause that has ended counts by T and `full` then; one who only reads has
-- none.
local function end_holds(i, T, full)
  local its, line = ledgers[i], KEYS[2 * i + 1]
  if not its.is_stored then return end
  local now = now_in(its)
  if its.last <= now then call('DEL', line) end
  if its.due > now then return end_all(its, time_in(its), T, full) end
  its.due = its.last
  for _, from in ipairs({0, LISTED}) do
    repeat
      local ended = call('ZRANGEBYSCORE', line, int(from), int(from + now_us + stepped_us(its)), 'LIMIT', 0, 64)
      for _, member in ipairs(ended) do
        local units, seq, moment = match(member, '^%S+ (%d+) (%d+) (%d+) ')
        close(its, moment_of(its, moment), seq + 0.0)
        its.open = its.open - 1
        if from == LISTED then its.held = its.held - units end
      end
      if ended[1] then
        call('ZREM', line, unpack(ended))
        its.changed = its.changed or 'over'
      end
    until not ended[64]
    local first = call('ZRANGEBYSCORE', line, int(from), int(from + LISTED - 1), 'LIMIT', 0, 1)[1]
    if first then its.due = min(its.due, moment_of(its, match(first, '(%d+)$'))) end
  end
  end_all(its, time_in(its), T, full)
end
local function keep_line(i, id, units, seq, moment, stop, listed)
  local its, line = ledgers[i], KEYS[2 * i + 1]
  if not its.is_stored then call('DEL', line) end
  call('ZADD', line, int((listed and LISTED or 0) + us_of(stop) + stepped_us(its)),
       format('%s %d %d %s %s', id, units, seq, moment, name_of(its, now_in(its) + stop)))
  its.due = its.open > 0 and min(its.due, now_in(its) + stop) or now_in(its) + stop
  its.open, its.last = its.open + 1, max(its.last, now_in(its) + stop)
  call('PEXPIREAT', line, expiry(pair(digits_in(its, its.last))))
end
-- In place of its line.
local function keep_plan(i, plan)
  local its = ledgers[i]
  if not its.is_stored then call('DEL', KEYS[2 * i + 1]) end
  its.plans[#its.plans + 1], its.held, its.last = plan, its.held + plan.held, max(its.last, plan.stop)
  if its.open == 0 then its.due = its.last else call('PEXPIREAT', KEYS[2 * i + 1], expiry(pair(digits_in(its, its.last)))) end
end
local function place_of_plan(its, seq)
  for i, plan in ipairs(its.plans) do if plan.seq == seq then return i end end
end
local function save_changed(fulls)
  for i = 1, count do if ledgers[i] and ledgers[i].changed then save(ledgers[i], fulls(i)) end end
end
-- Of a limit's state now, as check.lua or ledger.lua tells it.
local function tell(i, T, full, mine, need)
  local its = ledgers[i]
  if is_empty(its) then
    if not its.is_stored and not its.changed then return its.text end
    return plain_of(its)
  end
  local at = time_in(its)
  local other = counted_by(its, at, T, full)
  local _, view = view_of(its, other, at, T, need, full, mine)
  return view
end

-- Slots.
local function slot_of(id) return 'weir1s ' .. id end
local function take_slot(key, id, ns)
  call('ZADD', key, int(us_of(ns)), slot_of(id))
  local last = call('ZREVRANGEBYSCORE', key, '+inf', '-inf', 'LIMIT', 0, 1)[1]
  call('PEXPIREAT', key, int(ceil((call('ZSCORE', key, last) + 1.5e15) / 1e3)))
end
-- False: something else lies there.
local function read_slots(i, most)
  local key = KEYS[2 * i]
  local open = redis.pcall('ZCOUNT', key, '-inf', '+inf')
  if type(open) == 'table' then return false end
  if open > 0 then
    local first = call('ZRANGEBYSCORE', key, '-inf', '+inf', 'LIMIT', 0, 1)[1]
    if sub(first, 1, 7) ~= 'weir1s ' then return false end
    open = open - call('ZREMRANGEBYSCORE', key, '-inf', int(now_us))
  end
  local function ends(member) return member and max((call('ZSCORE', key, member) - now_us) * 1e3, 0) or 0 end
  local lacking = open >= most and most > 0 and
    ends(call('ZRANGEBYSCORE', key, '-inf', '+inf', 'LIMIT', open - most, 1)[1]) or 0
  local last = open > 0 and ends(call('ZREVRANGEBYSCORE', key, '+inf', '-inf', 'LIMIT', 0, 1)[1]) or 0
  states[i] = {text = format('slots %d %d %d', open, lacking, last), open = open}
  return true
end

-- Windows.
-- A fixed window's: its end, the units used, ns until the end. False: something else lies there.
local function read_window(i)
  local text = redis.pcall('GET', KEYS[2 * i])
  if type(text) == 'table' then return false end
  local stop, used = match(text or '', '^weir1f (%d+) (%d+)$')
  if text and not stop then return false end
  local left = stop and from_now(stop) or 0
  states[i] = {text = text, stop = left > 0 and stop, used = left > 0 and used + 0.0 or 0, left = max(left, 0)}
  return true
end
local function write_window(i, stop, used)
  local dated = states[i].dated
  local text = dated and dated.write(used) or format('weir1f %s %d', stop, used)
  call('SET', KEYS[2 * i], text, 'PXAT', expiry(pair(dated and dated.kept or stop)))
  states[i] = {text = text, stop = stop, used = used, left = from_now(stop), dated = dated}
end
-- One of the calendar, the one that runs: `words` are windows.lua's. One that is later than weir's ends as long before
-- it is forgotten.
local function read_dated(i, words)
  local text = redis.pcall('GET', KEYS[2 * i])
  if type(text) == 'table' then return false end
  local used, write, kept, id = window_of(text, words)
  if not used then return false end
  local stop, its_kept = match(words, '^%d+ (%d+) (%d+)')
  if kept ~= its_kept then
    stop = format('%d%s', sub(kept, 1, -10) - (sub(its_kept, 1, -10) - sub(stop, 1, -10)), sub(kept, -9))
  end
  states[i] = {text = text, stop = stop, used = used, left = max(from_now(stop), 0),
               dated = {write = write, kept = kept, id = id}}
  return true
end
-- Whether the window that a part of a record has counted runs, and has its state.
local function reads_its_window(i, part)
  if part.kind == 'w' then return read_window(i) and states[i].stop == part.at end
  local text = redis.pcall('GET', KEYS[2 * i])
  local kept, id, used = match(type(text) == 'string' and text or '', '^weir1d (%d+) (%d+) (%d+)$')
  if not kept or id + 0.0 ~= part.seq or from_now(part.at) <= 0 or from_now(kept) <= 0 then return false end
  local function write(units) return format('weir1d %s %s %d', kept, id, units) end
  states[i] = {text = text, stop = part.at, used = used + 0.0, left = from_now(part.at),
               dated = {write = write, kept = kept, id = id}}
  return true
end

-- Records.

local function read_record(key)
  local record = call('GET', key)
  local moment, last, parts, held, longest, plan = match(record or '', '^weir2r (%d+) (%d+) (%d+) (%d) (%d+)( ?%l*)\n')
  if not moment then return nil end
  local at = string.find(record, '\n', 1, true) + 1
  local its = {rest = sub(record, at - 1), moment = moment, last = last, held = held ~= '0', acts = held == '2',
               is_plan = plan ~= '', longest = longest + 0.0, parts = {}}
  for i = 1, parts + 0.0 do
    local stop = string.find(record, '\n', at, true)
    local part = {}
    part.size, part.T, part.burst, part.units, part.settles, part.kind, part.at, part.seq, part.listed, part.shadow,
      part.epoch = match(sub(record, at, stop - 1), '^%d+ %d+ (%d+) (%d+) (%d+) (%d+) (%d) (%l) (%d+) (%d+) (%d) (%d) (%S+)$')
    part.i, part.units, part.seq, part.T, part.burst = i, part.units + 0.0, part.seq + 0.0, part.T + 0.0, part.burst + 0.0
    part.settles, part.listed, part.shadow = part.settles ~= '0', part.listed == '1', part.shadow == '1'
    its.parts[i], at = part, stop + 1
  end
  its.names = at
  for _, part in ipairs(its.parts) do part.name, at = sub(record, at, at + part.size - 1), at + part.size end
  return its
end

-- The record that is asked for, and what of it is still there; the rest has died.
local record, parts, id, until_moment, until_end, is_there
local live, open_windows, has_slots, has_windows, stepped = {}, {}, {}, false, 0
local function read_own_record()
  record = read_record(KEYS[1])
  parts = record and record.parts or {}
  id = match(KEYS[1], '[%w_-]+$')
  local place, has_charged = {}, false
  for i = 1, count do place[KEYS[2 * i]] = i end
  for _, part in ipairs(parts) do
    local i = place[part.name]
    part.i, has_charged = i, has_charged or part.units > 0
    if part.kind == 's' then
      local score = redis.pcall('ZSCORE', part.name, slot_of(id))
      if score and type(score) ~= 'table' then has_slots[#has_slots + 1] = part.name end
    elseif part.kind ~= 'r' then
      local runs = i and reads_its_window(i, part)
      has_windows = has_windows or runs or from_now(part.at) <= 0
      if runs and call('GET', KEYS[2 * i + 1]) == part.epoch then open_windows[#open_windows + 1] = part end
    elseif i and part.units > 0 then
      local its = open_ledger(part.name)
      if its then
        part.moment = moment_of(its, part.at)
        part.may_act = part.moment <= its.from or part.moment >= its.till
        if its.id == part.epoch then
          ledgers[i], live[#live + 1], part.full = its, part, part.T * part.burst
          part.stepped = max(ceil((from_now(record.moment) + now_in(its) - part.moment) / 1e9), 0) * 1e9
          stepped = max(stepped, part.stepped)
        end
      end
    end
  end
  until_moment = record and not record.acts and from_now(record.moment) - stepped or 0
  until_end = record and from_now(record.last) - stepped or 0
  is_there = live[1] or has_slots[1] or has_windows or not has_charged and record
end
local function full_of_part(i)
  for _, part in ipairs(parts) do if part.i == i then return full_for_pause(ledgers[i], part.T, part.full) end end
end
local function free_slots() for _, key in ipairs(has_slots) do call('ZREM', key, slot_of(id)) end end
-- It is open no more; false: its time was over.
local function take_from_line(part)
  local its = ledgers[part.i]
  if record.is_plan then
    local place = place_of_plan(its, part.seq)
    return place ~= nil and take_plan(its, place) ~= nil
  end
  local stop = max(from_now(record.last) + now_in(its) - part.stepped, part.moment)
  local member = format('%s %d %d %s %s', id, part.units, part.seq, part.at, name_of(its, stop))
  if call('ZREM', KEYS[2 * part.i + 1], member) == 0 then return false end
  its.open, its.changed, its.last = its.open - 1, true, NONE
  if part.listed then its.held = its.held - part.units end
  for _, from in ipairs({0, LISTED}) do
    local last = call('ZREVRANGEBYSCORE', KEYS[2 * part.i + 1], int(from + LISTED - 1), int(from), 'LIMIT', 0, 1)[1]
    if last then its.last = max(its.last, moment_of(its, match(last, '(%d+)$'))) end
  end
  for _, plan in ipairs(its.plans) do its.last = max(its.last, plan.stop) end
  return true
end

local function cancel()
  call('DEL', KEYS[1])
  free_slots()
  local given_back = 0
  for _, part in ipairs(live) do
    if take_from_line(part) then close(ledgers[part.i], part.moment, part.seq, 0) end
    end_holds(part.i, part.T, part.full)
    if not part.shadow then given_back = max(given_back, part.units) end
  end
  for _, part in ipairs(open_windows) do
    write_window(part.i, part.at, max(states[part.i].used - part.units, 0))
    if not part.shadow then given_back = max(given_back, part.units) end
  end
  save_changed(full_of_part)
  return floor(given_back)
end

-- Of a plan, whether all of it is still there, and fits: what was charged from outside since may make it late.
local function stands()
  local all = 0
  for _, part in ipairs(parts) do
    if part.kind == 's' or part.kind == 'r' and part.units > 0 then all = all + 1 end
  end
  if all ~= #live + #has_slots then return false end
  for _, part in ipairs(live) do
    local its, at, full = ledgers[part.i], part.moment - 1, part.full
    if not place_of_plan(its, part.seq) or its.T == part.T and late_from(its, at, owed_at(its, at, full), full) then return false end
  end
  return true
end
local function rewrite(moment, last, held, gone)
  local text = format('weir2r %s %s %d %d %d', digits_of(moment), digits_of(last), #parts, held, record.longest)
  call('SET', KEYS[1], text .. record.rest, 'PXAT', expiry(pair(digits_of(gone))))
end
local function act_on_plan()
  for _, part in ipairs(live) do
    local its = ledgers[part.i]
    table.remove(its.plans, place_of_plan(its, part.seq))
    its.changed = true
    if record.held then
      keep_line(part.i, id, part.units, part.seq, part.at, max(until_end, part.moment - now_in(its)), part.listed)
    else
      close(its, part.moment, part.seq)
    end
    end_holds(part.i, part.T, part.full)
  end
  for _, key in ipairs(has_slots) do take_slot(key, id, until_end) end
  rewrite(until_moment, until_end, record.held and 2 or 0, record.held and max(until_end, 0) or TOLD)
  save_changed(full_of_part)
end

if verb == 'reserve' or verb == 'plan' or verb == 'look' then
  local id, most, hold, longest_hold = ARGV[3], ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[6]
  local looks, busy, closed, in_line = true, false, false, false
  local stood, follows, younger = ARGV[7 + 6 * count], ARGV[8 + 6 * count] == 'follows', {}  -- plans of those that came later, which are put back where they fit
  if verb == 'plan' then
    read_own_record()
    if record and (record.is_plan or until_moment > 0) then cancel() end
  end
  for i = 1, count do
    local at, marks = 6 * i, ARGV[6 * i + 1]
    local T, full, need = ARGV[at + 2], ARGV[at + 3] + 0.0, ARGV[at + 4] + 0.0
    local dated = match(marks, 'calendar $') and T
    if dated then T = '1' end
    local guarantee, inside = match(marks, 'inside (%d+) (%d+) ')
    local at_most, key_size, limit, own, line_from, line_end = match(ARGV[at + 6], '^(%S*) (%d+) (%d+) (%d) (%d+) (%d+)$')
    local its = {words = T, T = T + 0.0, mine = full, need = need, units = need / T, burst = ARGV[at + 5],
                 full = ARGV[at + 5] * (T + 0.0), at_most = at_most, key_size = key_size, id = limit,
                 settles = at_most == '' and 0 or 2 - own, shadow = match(marks, 'shadow ') ~= nil,
                 guarantee = guarantee and guarantee + 0.0, inside = inside and inside + 0.0}
    limits[i], looks = its, looks and need == 0
    if line_end ~= '0' then in_line, its.ahead = true, {line_from + 0.0, line_end + 0.0} end
    if match(marks, 'slots $') then
      its.is_slots, its.takes = true, need > 0
      if not read_slots(i, full) then return no_state(i) end
      its.has_room = states[i].open < full
      busy = busy or its.takes and not its.has_room and not its.shadow
    elseif dated or match(marks, 'window $') or match(marks, 'clock $') then
      its.is_window, its.on_clock, its.units = true, match(marks, 'clock $'), need
      if dated and not read_dated(i, dated) or not dated and not read_window(i) then
        return dated and outside and {-1, time[1], time[2]} or no_state(i)
      end
      its.counts = need > 0 and states[i].used + need <= full
      closed = closed or need > 0 and not its.counts and not its.shadow
    elseif read_state(i, id, its.T) then
      its.is_rate, its.beside_plans = true, stood and ledgers[i].plans[1] ~= nil
      end_holds(i)
      local ledger = ledgers[i]
      for j = stood and #ledger.plans or 0, 1, -1 do
        if ledger.plans[j].since > now_in(ledger) - stood then
          younger[#younger + 1] = {i = i, T = ledger.T, plan = take_plan(ledger, j)}
        end
      end
    else
      return no_state(i)
    end
  end

  local function room_of(i)
    local its = limits[i]
    return its.guarantee and limits[its.guarantee].allows and its.inside or its.mine
  end
  local befores = {}
  local function answer(granted, how, ns, by, afters)
    table.sort(younger, function(a, b) return a.plan.since < b.plan.since end)
    for _, each in ipairs(younger) do
      local its, plan, full = ledgers[each.i], each.plan, ledgers[each.i].T * limits[each.i].burst
      if its.T == each.T and free_at(its, max(plan.moment, time_in(its)), full, full) >= plan.need then
        insert(its, plan.moment, plan.seq, plan.need)
        keep_plan(each.i, plan)
      end
    end
    save_changed(function(i) return full_for_pause(ledgers[i], limits[i].T, limits[i].full) end)
    local all = {granted, time[1], time[2], how, int(ns), by or 0}
    for i = 1, count do all[6 + i] = befores[i] or false end
    for i = 1, afters and count or 0 do all[6 + count + i] = afters[i] or false end
    return all
  end

  -- As these numbers count it, at the time at which it is asked.
  local function counted(i)
    local its, ledger = limits[i], ledgers[i]
    its.other = its.other or counted_by(ledger, time_in(ledger), its.T, its.full)
    return its.other
  end
  local function mine_of(i, mine)
    return counted(i) ~= ledgers[i] and floor(mine / limits[i].T) * limits[i].T or mine
  end
  local function first(i, at, mine)
    local its, ledger = limits[i], ledgers[i]
    mine = mine_of(i, mine)
    if its.need > mine then return EVER end
    local now = now_in(ledger)
    return earliest(counted(i), max(at + now, time_in(ledger)), its.need, its.full, mine, its.line) - now
  end
  -- Each is decided at once as a check is.
  local all_now = not in_line or looks
  for i = 1, count do
    local its = limits[i]
    if its.is_rate then
      its.allows = its.need == 0 or first(i, 0, room_of(i)) <= 0
      all_now = all_now and (its.allows or its.shadow)
    end
  end
  for i = 1, count do
    local its = limits[i]
    local now = its.is_rate and its.ahead and now_in(ledgers[i])
    its.line = now and end_of_line(counted(i), now + its.ahead[1], now + its.ahead[2])
    befores[i] = its.is_rate and tell(i, its.T, its.full, room_of(i), its.need) or states[i] and states[i].text
  end
  if verb == 'look' then return answer(0, 'now', 0) end
  if busy then return answer(0, 'busy', 0) end

  if hold > 0 and not looks then
    -- How long until `units` more fit beside those that are held; below 0: they never do. Where more than LOOKED have
    -- to end first, until that many have.
    local function until_hold_fits(i)
      local its = limits[i]
      local units, at_most, held = its.units, its.at_most, ledgers[i].held
      if at_most == 'any' then return 0 end
      if units > at_most + 0.0 then return -1 end
      if held + units <= at_most + 0.0 then return 0 end
      local ends, last = {}, 0
      for _, member in ipairs(call('ZRANGEBYSCORE', KEYS[2 * i + 1], int(LISTED), '+inf', 'LIMIT', 0, LOOKED)) do
        local ended, stop = match(member, '^%S+ (%d+) .* (%d+)$')
        ends[#ends + 1] = {units = ended, ns = moment_of(ledgers[i], stop) - now_in(ledgers[i])}
      end
      for _, plan in ipairs(ledgers[i].plans) do  -- they do not say how long they will hold; as long as this one
        ends[#ends + 1] = {units = plan.held, ns = max(plan.moment - now_in(ledgers[i]), 0) + hold}
      end
      table.sort(ends, function(a, b) return a.ns < b.ns end)
      for _, each in ipairs(ends) do
        held, last = held - each.units, each.ns
        if held + units <= at_most + 0.0 then break end
      end
      return last
    end
    local longest, by = 0, 0
    for i = 1, count do
      local its = limits[i]
      local ns = its.is_rate and its.at_most ~= '' and not its.shadow and until_hold_fits(i) or 0
      if ns ~= 0 and longest >= 0 and (ns < 0 or ns > longest) then longest, by = ns, i - 1 end
    end
    if longest ~= 0 then return answer(0, 'held', longest, by) end
  end
  -- The moment at which all fit, as src/store/joint_moment.cpp has it.
  local function first_inside(i, at)
    local its = limits[i]
    local guarantee = limits[its.guarantee]
    if not guarantee.is_rate then return EVER end
    for _ = 1, 64 do
      local there = guarantee.need == 0 and at or first(its.guarantee, at, guarantee.mine)
      local both = there == EVER and EVER or first(i, there, its.inside)
      if both == there or both == EVER then return both end
      at = both
    end
    return EVER
  end
  local function first_of(i, at)
    local its = limits[i]
    if not its.is_rate or its.need == 0 then return at end
    local own = first(i, at, its.mine)
    return own ~= at and its.guarantee and math.min(own, first_inside(i, at)) or own
  end
  local function first_of_all(at)
    local left, agreed, i = 64 * count, 0, 1
    while agreed < count do
      local its = limits[i]
      local later = its.shadow and at or first_of(i, at)
      if later == EVER then return EVER end
      agreed = later == at and agreed + 1 or 1
      at = later
      if left > 0 then
        left = left - 1
        if left == 0 then
          for j = 1, count do
            if limits[j].is_rate then at, agreed = max(at, last_of(counted(j)) - now_in(ledgers[j])), 0 end
          end
        end
      end
      i = i % count + 1
    end
    return at
  end
  local function may_be_told(i, at)
    local its = limits[i]
    return not its.is_rate or its.need == 0 or its.mine == its.full or
      its.guarantee and limits[its.guarantee].is_rate and first_inside(i, at) == at
  end

  local moment, sooner = 0, 0
  local alone = verb == 'reserve' and count == 1 and most == 0 and hold == 0 and not in_line  -- as a check
  if not all_now or closed then
    moment = first_of_all(0)
    if moment == EVER then return answer(0, closed and 'window' or 'now', closed and -1 or 0) end
    for i = 1, count do
      local its = limits[i]
      local is_after = follows and its.is_rate and its.need > 0 and ledgers[i].plans[1]
      if not its.shadow and (is_after or moment > 0 and not may_be_told(i, moment)) then most = 0 end
    end
    -- Nobody waits for a window.
    if closed then return answer(0, 'window', max(moment - most, 0)) end
    if moment > most and alone then return answer(0, 'now', 0) end
    -- What is held may make one in line sooner, but no pause.
    local may_be = stood and most > 0
    for i = 1, may_be and count or 0 do
      local its, ledger = limits[i], ledgers[i]
      if its.is_rate and its.need > 0 and not its.shadow then
        may_be = may_be and ledger.pause <= now_in(ledger) + most
        if ledger.held > 0 then sooner = max(sooner, ledger.held * its.T + max(0, last_of(ledger) - now_in(ledger))) end
      end
    end
    if not may_be then sooner = 0 end
    if moment - sooner > most then return answer(0, 'later', moment - most) end
    for i = 1, count do limits[i].allows = not limits[i].is_rate or first_of(i, moment) == moment end
  end

  local is_kept = (moment > 0 or hold > 0) and not looks
  local is_plan = is_kept and stood and moment > 0
  local digits, last, names, words = digits_of(moment), digits_of(moment + hold), {}, {''}
  local function add_part(i, T, units, settles, kind, at, seq, listed, epoch)
    local its = limits[i]
    words[#words + 1] = format('%s %s %d %s %s %d %d %s %s %s %d %d %s', its.id, its.key_size, #KEYS[2 * i], T, its.burst,
                               units, settles, kind, at, seq, listed and 1 or 0, its.shadow and 1 or 0, epoch)
    names[#names + 1] = KEYS[2 * i]
  end
  for i = 1, count do
    local its, ledger = limits[i], ledgers[i]
    local may_cost_more = its.need == 0 and hold > 0 and its.at_most ~= '' and not its.shadow
    if is_kept and may_cost_more and its.is_rate and its.allows then
      add_part(i, its.words, 0, its.settles, 'r', '0', '0', false, '-')
    elseif its.is_rate and its.allows and its.need > 0 then
      -- Beside another server's a plan stands in the ledger's numbers: two that recounted in turn would lock it.
      local is_other = is_plan and its.beside_plans and ledger.T ~= its.T
      if not is_other then becomes(ledger, counted(i)) end
      local at, need = time_in(ledger), is_other and its.units * ledger.T or its.need
      ledger.changed = true
      if is_kept then
        fold(ledger, at, not is_other and its.full)
        local now, listed = now_in(ledger), hold > 0 and its.at_most ~= '' and not its.shadow
        local acts = max(moment + now, ledger.latest)
        ledger.latest = max(ledger.latest, now)
        local seq, acts_at = put(ledger, acts, need), name_of(ledger, acts)
        if is_plan then
          keep_plan(i, {moment = acts, seq = seq, stop = now + PLANNED, since = now - stood, need = need,
                        held = listed and its.units or 0})
        else
          keep_line(i, id, its.units, seq, acts_at, max(moment + hold, acts - now), listed)
          if listed then ledger.held = ledger.held + its.units end
        end
        add_part(i, its.words, its.units, its.settles, 'r', acts_at, int(seq), listed, ledger.id)
      else
        put_over(ledger, at, its.need, its.full)
      end
    end
  end
  for i = 1, count do
    local its = limits[i]
    if its.takes and its.has_room then
      take_slot(KEYS[2 * i], id, is_plan and PLANNED or moment + hold)
      add_part(i, '0', 1, 2, 's', '0', '0', false, '-')
    elseif its.counts then
      local stop, dated = states[i].stop, states[i].dated
      if not stop then
        local es, en
        if its.on_clock then
          local Ps, Pn = pair(its.words)
          es, en = times(floor(s / (Ps + Pn / 1e9)), Ps, Pn)
          while es < s or es == s and en <= n do es, en = add(es, en, Ps, Pn) end
        else
          es, en = add(s, n, pair(its.words))
        end
        stop = format('%d%09d', es, en)
      end
      write_window(i, stop, states[i].used + its.units)
      if is_kept then
        local epoch = call('GET', KEYS[2 * i + 1]) or id
        call('SET', KEYS[2 * i + 1], epoch, 'PXAT', expiry(pair(stop)))
        add_part(i, '0', its.units, its.settles, dated and 'd' or 'w', stop, dated and dated.id or '0', false, epoch)
      end
    end
  end
  if not is_kept then return answer(1, all_now and 'now' or 'later', moment) end
  words[1] = format('weir2r %s %s %d %d %s', digits, last, #names, hold > 0 and (moment > 0 and 1 or 2) or 0,
                    longest_hold) .. (is_plan and ' plan' or '')
  local gone = is_plan and digits_of(PLANNED) or hold > 0 and last or digits_of(moment + TOLD)
  call('SET', KEYS[1], table.concat(words, '\n') .. '\n' .. table.concat(names), 'PXAT', expiry(pair(gone)))
  local afters = {}
  for i = 1, count do
    local its = limits[i]
    afters[i] = its.is_rate and its.allows and its.need > 0 and tell(i, its.T, its.full, room_of(i), 0)
  end
  return answer(1, sooner > 0 and 'sooner' or 'later', moment, sooner, afters)
end

-- include pauses.lua

if verb == 'refund' then
  local answer = {1, time[1], time[2]}
  local function T_of(i) return ARGV[4 * i - 1] + 0.0 end
  local function full_of(i) return T_of(i) * ARGV[4 * i] end
  for i = 1, count do if not read_state(i, '-', T_of(i)) then return no_state(i) end end
  for i = 1, count do
    local its, T, full, need = ledgers[i], T_of(i), full_of(i), ARGV[4 * i + 1] + 0.0
    end_holds(i)
    local at = time_in(its)
    local other = counted_by(its, at, T, full)
    fold(other, at, full)
    local front, free = other.front, max(other.front - max(at, other.asked), 0)
    local function owes() return max(ceil((other.front - at) / T), 0) end
    local before, back = owes(), min(need / T, ceil(free / T))
    other.front = other.front - min(free, back * T)
    back = before - owes()
    if back == 0 then
      other.front = front
    else
      becomes(its, other)
      its.changed = true
    end
    answer[2 + 2 * i], answer[3 + 2 * i] = tell(i, T, full, full - ARGV[4 * i + 2], T) or false, int(back)
  end
  save_changed(function(i) return full_for_pause(ledgers[i], T_of(i), full_of(i)) end)
  return answer
end

if verb == 'holds' then
  local MOST_HOLDS = 1024  -- of each limit those that end first
  local most, stem = ARGV[3] + 0.0, ARGV[4]
  local costs, ids, acts = {}, {}, {}
  local function add_hold(its, id, units, moment)
    if not costs[id] then ids[#ids + 1] = id end
    costs[id], acts[id] = max(costs[id] or 0, units + 0.0), its and moment_of(its, moment) - now_in(its) or acts[id]
  end
  for i = 1, count do
    if ARGV[4 + i] == 'slots' then
      if not read_slots(i, 1) then return no_state(i) end
      for _, member in ipairs(call('ZRANGEBYSCORE', KEYS[2 * i], '-inf', '+inf', 'LIMIT', 0, MOST_HOLDS)) do
        add_hold(nil, sub(member, 8), 1)
      end
    else
      if not read_state(i, '-', 1) then return no_state(i) end
      local from = ledgers[i].is_stored and '(' .. int(LISTED + now_us + stepped_us(ledgers[i])) or '+inf'
      for _, member in ipairs(call('ZRANGEBYSCORE', KEYS[2 * i + 1], from, '+inf', 'LIMIT', 0, MOST_HOLDS)) do
        add_hold(ledgers[i], match(member, '^(%S+) (%d+) %d+ (%d+) '))
      end
    end
  end
  -- By the moments that they were granted.
  local open = {}
  for _, id in ipairs(ids) do
    local moment, stop, held = match(call('GET', stem .. id) or '', '^weir2r (%d+) (%d+) %d+ ([12]) ')
    local since = moment and acts[id] and max(ceil((from_now(moment) - acts[id]) / 1e9), 0) * 1e9 or 0
    if moment and from_now(stop) > since then
      open[#open + 1] = {id = id, moment = moment, ahead = held == '1' and max(from_now(moment) - since, 0) or 0,
                         ends = from_now(stop) - since}
    end
  end
  table.sort(open, function(a, b) return a.moment < b.moment or a.moment == b.moment and a.id < b.id end)
  local answer = {1, time[1], time[2]}
  for i = 1, min(most, #open) do
    local its = open[i]
    for _, word in ipairs({its.id, int(costs[its.id]), int(its.ahead), int(its.ends)}) do
      answer[#answer + 1] = word
    end
  end
  return answer
end

-- The others begin with the record.

read_own_record()

if verb == 'cancel' then
  return {record and (record.is_plan or until_moment > 0) and is_there and cancel() or 0, time[1], time[2]}
end

if verb == 'moment' then
  local wait, may_act = '-1', true
  for _, part in ipairs(parts) do may_act = may_act and part.may_act ~= false end
  if record and record.is_plan then
    if not (may_act and stands()) then
      cancel()
    elseif until_moment > 0 then
      wait = int(until_moment)
    else
      act_on_plan()
      wait = '0'
    end
  elseif record and not record.held and until_moment <= 0 then
    wait = may_act and '0' or '-1'
  elseif is_there and (until_moment > 0 or until_end > 0) then
    if may_act then wait = int(max(until_moment, 0)) else cancel() end
  end
  return {1, time[1], time[2], wait}
end

if verb == 'extend' then
  if not is_there or not record.held or until_end <= 0 then return {1, time[1], time[2], '0'} end
  local stop = max(until_moment, 0) + min(ARGV[3] + 0.0, record.longest)
  for _, part in ipairs(live) do
    local its = ledgers[part.i]
    if take_from_line(part) then
      if part.listed then its.held = its.held + part.units end
      keep_line(part.i, id, part.units, part.seq, part.at, max(stop, part.moment - now_in(its)), part.listed)
    end
    end_holds(part.i, part.T, part.full)
  end
  for _, key in ipairs(has_slots) do take_slot(key, id, stop) end
  rewrite(from_now(record.moment) - stepped, stop, record.acts and 2 or 1, max(stop, 0))
  save_changed(full_of_part)
  return {1, time[1], time[2], int(stop)}
end

-- settle

if not record or until_end <= 0 then free_slots() return {0, time[1], time[2]} end
if not ARGV[4] and #parts > 0 then return {is_there and -1 or 0, time[1], time[2]} end
if until_moment > 0 then return {0, time[1], time[2]} end
free_slots()
call('DEL', KEYS[1])
-- What cost nothing is in no ledger that could have been forgotten.
for _, part in ipairs(parts) do
  if part.kind == 'r' and part.units == 0 and part.i and read_state(part.i, id, part.T) then
    live[#live + 1], part.full, part.moment = part, part.T * part.burst, NONE
  end
end
local answer = {(live[1] or has_slots[1] or has_windows) and 1 or 0, time[1], time[2]}

-- What it cost is owed in its place, more too, but no more than may be owed now. The units that are not.
local function settle(part, actual)
  local its = ledgers[part.i]
  local at = max(time_in(its), part.moment)
  if part.units == 0 and actual > 0 then becomes(its, counted_by(its, at, part.T, part.full)) end
  local T, full = its.T, its.T * part.burst
  if part.units > 0 and not take_from_line(part) then return 0 end
  local ms, mn = pair(ARGV[3])
  local most = at + part.full + (ms * 1e9 + mn)
  local more = max(actual - part.units, 0)
  local may_be_more = min(more, floor(most / T))
  if not change(its, part.moment, part.seq, (min(actual, part.units) + may_be_more) * T) then
    -- Under another T it gives nothing back. What it cost more then, or where it cost nothing, is owed from now on.
    local charged = min(more, max(floor((most - max(owed_at(its, at, full), at)) / T), 0))
    if charged > 0 then
      put_over(its, at, charged * T, full)
      its.changed = true
    end
    return more - charged
  end
  local dropped = min(may_be_more, max(ceil((owed_at(its, at, full) - most) / T), 0))
  if dropped > 0 then change(its, part.moment, part.seq, (part.units + may_be_more - dropped) * T) end
  close(its, part.moment, part.seq)
  return more - may_be_more + dropped
end
for _, part in ipairs(live) do
  local dropped = settle(part, part.settles and ARGV[3 + part.i] + 0.0 or part.units)
  end_holds(part.i, part.T, part.full)
  if part.settles and not part.shadow then
    for _, word in ipairs({int(part.T), int(part.burst), tell(part.i, part.T, part.full, part.full, part.T) or false,
                           int(dropped)}) do answer[#answer + 1] = word end
  end
end
save_changed(full_of_part)
for _, part in ipairs(open_windows) do
  local used, actual = states[part.i].used, ARGV[3 + part.i] + 0.0
  if part.settles then
    local more = actual > part.units and max(used, part.burst, 4294967295) or used
    write_window(part.i, part.at, max(min(used + actual - part.units, more), 0))
  end
  if not part.shadow then
    local text = format('weir1f %s %d', part.at, states[part.i].used)
    for _, word in ipairs({'0', int(part.burst), text, '0'}) do answer[#answer + 1] = word end
  end
end
return answer
