-- Charges requests for a later moment, takes such charges back, and charges what they turned out to cost: the
-- rules of src/store/reservations.cpp, in Redis or Valkey. check.lua has what a state is, and why times are pairs.
--
--   KEYS    the reservation's record; then for each limit its state, and its line: what the state cannot tell
--   ARGV    reserve TIME id max_wait hold longest   and for each limit six words:
--             marks T full need burst more      the first four as in check.lua; '' marks nothing. Of slots the marks end
--                                               with 'slots ', T is 1 and full what may be open. Of a window they end
--                                               with 'window ' or 'clock ', T is its length, full and burst what it
--                                               admits, and need the units; it counts at the grant. One of the calendar
--                                               ends with 'calendar ', T as windows.lua has it. burst is the
--                                               limit's. more: 'at_most key_size id', of the limit: the units that
--                                               may be held, '' for one that is never settled, 'any' without a
--                                               bound; two numbers for the client, which the record keeps; 'room
--                                               with own': what the lowest class may use of full; a bit for each
--                                               limit that all who come to this one have to wait for too; whether a
--                                               settlement that names no limit says what it cost here
--                                               The hold may be extended by `longest` from then on
--           acquire ...                       as reserve; it looks out for whether its moment comes earlier
--           cancel TIME
--           extend TIME hold                  ns, from now or from its moment
--           settle TIME overdraft actual ...  what each limit of the record cost; none: is it there still? No more
--                                             is owed then than drains a burst and the overdraft later
--           moment TIME
--           pause TIME id length stem         nobody acts for that long; KEYS[1] is read by nobody, `stem` is what the
--                                             names of records begin with before their ids; for each limit T and burst
--           rest TIME id length stem T burst need growing most    a pause of one limit whose state denies those units,
--                                             unless it is paused. growing, in thousandths, above 1000: of length x
--                                             growing^n, at most `most`; KEYS[1] says until when breaches count
--           refund TIME                       and for each limit T, burst and ns: that much was not used after all
--           holds TIME most stem              and for each limit 'slots' or 'rate': which holds are open; nobody reads
--                                             KEYS[1]
--           TIME is 's us', in tests; '' the server's. Lengths of time are ns.
--   answer  of reserve: 1 when it was charged, else 0; the time, s and us; how; ns; by; for each limit its state before
--             now      charged, or denied, as a check
--             later    ns: until its moment; denied: how long it is too late, by limit `by`, counted from 0
--             hole     the moment of a cancelled one, ns from now
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
--           of pause: 1; s; us; for each limit its state before, and ns: how far those who wait have moved
--           of rest: the same, and ns: how long the pause is; 0 instead of 1 when nothing has been done
--           of refund: 1; s; us; for each limit its state before, and ns: the least that is owed after it, -1: all
--           of holds: 1; s; us; for each its id, units, ns until its moment and until its end
--
-- A record is 'weir1r MOMENT UNTIL COUNT HELD LONGEST', then a line of words for each limit, then the names of the
-- states, one after the other; T is 0 where it has a slot, and where a window has counted it, whose epoch follows a
-- '+', of the calendar an '@', and then its number is the window's. The words: limit's id, lengths of key and of name,
-- T, burst, units, end, low, number, moved and generation (those of OwnUnits in src/store/schedule.hpp), whether it is
-- held, settles (2: not by an actual without a name), is a shadow's, the epoch of its line, how far pauses had moved
-- its units, and `shift` (see below) then; and how far they had when UNTIL was last said. One without a hold stays for
-- a minute after its moment.
--
-- Slots are a sorted set in place of a state: of each open hold 'weir1s ID', its score the us at which it ends, as those
-- of a line. A pause may have moved that, by other limits' lines: one that seems to be over is looked up.
--
-- The window of a state that somebody has reserved from is known by a text in place of a line, an epoch, as long as it
-- runs: a reset takes it along, and what was reserved before goes back to no window of after.
--
-- A line is one sorted set, the rule that of src/store/schedule.hpp. The score says what a member is; each range is
-- searched by time or by number. Here us are those since 1.5 x 10^15 us (2017), rounded up, and good until 2109:
--
--   0               'EPOCH T burst generation units moved held until tat'  the numbers that holes were charged by; how
--                   often all was lost; units that have ever been charged; ns that the line has ever moved up, modulo
--                   2^53; units held; the last time that anything in it matters; and the state's tat as its last
--                   change left it
--                   After a move: a pause's end; ns that pauses have moved all units; `shift`, ns that all moments that
--                   are ahead have moved: they are kept less it; the last of the moments that nothing moves up
--   -9 x 10^15 + us 'h' HOLE                a hole that passes, by its moment: moment end low units count number lasts
--   -6 x 10^15 + us 'e' HOLE                any hole, by its end, which is the order of the moments of those that last
--   -3 x 10^15 + us 'm' id number moment    a moment that somebody has, less `shift`
--   s               'r' id number           a hold that is not to be settled here, by the second after which it is over
--   10^12 + ms      'o' id number units until moved   what may still be settled, by until; by then pauses had moved it
--   10^15 + number  number                  the same, by its number
--   2 x 10^15 + number  'number ns time'    ns that a pause has moved the units from that number on, and when
--   3 x 10^15 + number  number ' ' ns       of those: for how long of what followed it, up to the next, the line moved
--
-- A state that has a line says so: ' @EPOCH' at its end (check.lua has what may follow), which is lost when the debt is
-- recounted, drained and charged again, or forgotten. Then nothing of before can be taken back. A state that is gone
-- though it still owed (it was evicted, or a failover has lost it) takes its line and its ids with it.

local call, format, match, sub = redis.call, string.format, string.match, string.sub
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local time = ARGV[2] == '' and call('TIME') or {match(ARGV[2], '^(%d+) (%d+)$')}
local s, n = time[1] + 0.0, time[2] * 1000
local now_us = s * 1e6 + time[2] - 1.5e15  -- since 2017, so that beside what it is added to it is exact

-- Most reservations are of one limit and can act now, as a check: decided as in check.lua, before any function is made.
local reserves = ARGV[1] == 'reserve' or ARGV[1] == 'acquire'
if reserves and not KEYS[4] and ARGV[5] == '0' and ARGV[7] == '' then
  local T, full, need = ARGV[8], ARGV[9] + 0.0, ARGV[10] + 0.0
  local text = redis.pcall('GET', KEYS[2])
  local ts, tn, of = s, n, T
  if text then
    ts, tn, of = match(text.err or text, '^weir1g (%d%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d%d%d%d) (%d+)$')
  end
  if of == T and need > 0 then
    local ahead = max((ts - s) * 1e9 + (tn - n), 0)
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

-- include windows.lua

-- No score is beyond 2^53: there a double has no odd numbers.
local HOLES, ENDS, AHEAD, UNTIL, NUMBERS, PAUSES, WORDS = -9e15, -6e15, -3e15, 1e12, 1e15, 2e15, 3e15
local MOST_PAUSES = 64
local MOST_MOVED = 1024  -- holes that a pause moves; others are lost
local LOOKED = 64       -- holes that are looked at, and holds
local MOST_WORDS = 128
local MOST_UNITS = 1e15  -- what a line charges after that many is not settled for less
local TURN = 9007199254740992
local TOLD = 60e9  -- for how long it is told of one without a hold that its moment has come

local function int(number) return format('%d', number) end

-- Within 104 days a time is a number, of ns from now. The client asks for nothing that is further off, and a debt
-- that is denies.
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

local count = (#KEYS - 1) / 2
local states, lines, limits = {}, {}, {}
local MOST_ENDED = 1000  -- open holds of a key that are looked at for whether they are over

local function no_state(i)
  return redis.error_reply(format('WRONGTYPE key %d of this request holds no state of gcra', i))
end

-- False: something else lies there.
local function read_state(i)
  local text = redis.pcall('GET', KEYS[2 * i])
  if type(text) == 'table' then
    if not string.find(text.err, 'WRONGTYPE', 1, true) then error(text.err) end
    return false
  end
  local state = {text = text, tat = 0, mark = ''}
  if text then
    local tat, T, mark = match(text, '^weir1g (%d+) (%d+)(.*)$')
    local line, stop, least = match(mark or '', '^( @[%w_-]+) (%d+) (%d+)$')
    if line then mark, state.stop, state.least = line, stop, least end
    if not tat or #T > 19 or mark ~= '' and not match(mark, '^ @[%w_-]+$') then return false end
    state.digits, state.T, state.mark, state.tat = tat, T, mark, max(from_now(tat), 0)
    if state.tat >= 9223372036854775807 or state.tat > 0 and T + 0.0 == 0 then return false end
  end
  states[i] = state
  return true
end

-- What a pause has left of it stays while that lasts.
local function write_state(i, digits, T, mark)
  local stop, least = states[i].stop, states[i].least
  if stop and from_now(stop) <= 0 then stop = nil end
  if mark == ' @-' then mark = '' end
  local text = format('weir1g %s %s%s', digits, T, stop and mark == '' and ' @-' or mark)
  if stop then text = format('%s %s %s', text, stop, least) end
  call('SET', KEYS[2 * i], text, 'PXAT', expiry(pair(digits)))
  states[i] = {text = text, digits = digits, T = T, mark = mark, tat = max(from_now(digits), 0), stop = stop,
               least = stop and least}
end

-- By these numbers, which may be others than those that a pause has left it by: then it is not what its line knew.
local function count_state_by(i, T, burst)
  local state = states[i]
  if not state.stop or state.tat == 0 then return end
  local least, was = from_now(state.stop) + (burst - 1) * T, from_now(state.least)
  if state.T == T and least == was then return end
  local beyond = max(state.tat - was, 0)
  if state.T ~= T and beyond > 0 then beyond = (floor((beyond - 1) / state.T) + 1) * (T + 0.0) end
  state.tat, state.T, state.mark, state.least = least + beyond, T, '', digits_of(least)
  state.digits = digits_of(state.tat)
end

local function by_score(line, from, to, most)
  return call('ZRANGEBYSCORE', line.key, from, to, 'LIMIT', 0, most or -1)
end
local function remove_scores(line, from, to)
  return call('ZREMRANGEBYSCORE', line.key, from, to)
end

-- Where a moment is by now, ns from now.
local function time_of(line, member) return from_now(match(member, ' (%d+)$')) + line.shift end
-- Those that have come. A score is rounded, and so is what is less `shift`: one of the next microsecond may have.
local function drop_moments(line)
  local came = AHEAD + now_us + floor(-line.shift / 1e3)
  remove_scores(line, int(AHEAD), int(came))
  if line.shift % 1e3 == 0 then return end
  for _, member in ipairs(by_score(line, int(came + 1), int(came + 1))) do
    if time_of(line, member) <= 0 then call('ZREM', line.key, member) end
  end
end
local function is_anybody_ahead(line)
  drop_moments(line)
  return by_score(line, int(AHEAD), '(0', 1)[1]
end
-- Nothing moves up past what acts then.
local function keep_moment(line, moment)
  if moment > 0 and from_now(line.told) < moment then line.told = digits_of(moment) end
end
local function keep_moments(line)
  local last = call('ZREVRANGEBYSCORE', line.key, '(0', int(AHEAD), 'LIMIT', 0, 1)[1]
  local score = last and int(call('ZSCORE', line.key, last))
  for _, member in ipairs(last and by_score(line, score, score) or {}) do keep_moment(line, time_of(line, member)) end
end

-- The state is another than the line knew.
local function lose(line)
  keep_moments(line)
  remove_scores(line, int(HOLES), '(' .. int(AHEAD))
  remove_scores(line, int(WORDS), '+inf')
  line.generation = line.generation + 1
end

local function is_paused(line) return from_now(line.pause) > 0 end
-- The least that the tat of its state may be while a pause lasts.
local function least_tat(i, line)
  return is_paused(line) and states[i].least and from_now(states[i].least) or -math.huge
end
-- How far pauses have moved the units of that number.
local function moved_to(line, number)
  local sum = line.all
  if line.pause == '0' then return sum end
  for _, member in ipairs(by_score(line, int(PAUSES), int(PAUSES + number))) do
    sum = sum + match(member, ' (%d+) ')
  end
  return sum
end

-- Of a record, its first words and its parts, each with the name of its state.
local function read_record(key)
  local record = call('GET', key)
  local moment, last, parts_count, more = match(record or '', '^weir1r (%d+) (%d+) (%d+)([^\n]*)\n')
  if not moment then return nil end
  local its = {text = record, moment = moment, last = last, parts = {}}
  local held, longest = match(more, '^ (%d) (%d+)$')
  its.held, its.longest = held == '1', longest or '86400000000000'
  local at = string.find(record, '\n', 1, true) + 1
  for i = 1, parts_count + 0.0 do
    local stop = string.find(record, '\n', at, true)
    local part = {words = sub(record, at, stop - 1)}
    part.size, part.T, part.burst, part.units, part.stop, part.low, part.number, part.moved, part.generation, part.held,
      part.settles, part.shadow, part.epoch, part.paused, part.shift, part.then_paused =
      match(part.words, '^%d+ %d+ (%d+) ' .. string.rep('(%d+) ', 8) ..
                        '(%d) (%d) (%d) (%S+) (%d+) (%-?%d+) (%d+)$')
    part.i, part.units, part.number, part.held = i, part.units + 0.0, part.number + 0.0, part.held == '1'
    part.settles, part.shadow = part.settles ~= '0', part.shadow == '1'
    part.is_dated = part.T == '0' and sub(part.epoch, 1, 1) == '@'
    part.is_window = part.is_dated or part.T == '0' and sub(part.epoch, 1, 1) == '+'
    part.is_slot = part.T == '0' and not part.is_window
    part.is_rate = part.T ~= '0'
    its.parts[i], at = part, stop + 1
  end
  its.names = at
  for _, part in ipairs(its.parts) do
    part.name, at = sub(record, at, at + part.size - 1), at + part.size
  end
  return its
end

-- When the hold of a record ends, ns from now; `line_of` gives the line of a part, nil when it is not there any more.
-- It moves by a pause with its units, at the key where they move furthest, unless it was over before that.
local function end_of_record(its, line_of)
  local moved, moves, before = {}, {}, 0
  for i, part in ipairs(its.parts) do
    local line = part.is_rate and line_of(part)
    if line then
      moved[i] = line.all
      before = max(before, part.then_paused - part.paused)
      for _, member in ipairs(line.pause ~= '0' and by_score(line, int(PAUSES), int(PAUSES + part.number)) or {}) do
        local by, time = match(member, ' (%d+) (%d+)$')
        moves[#moves + 1] = {i = i, by = by + 0.0, at = from_now(time)}
      end
    end
  end
  local function ends()
    local by = 0
    for i, sum in pairs(moved) do by = max(by, sum - its.parts[i].paused) end
    return from_now(its.last) - before + by
  end
  table.sort(moves, function(a, b) return a.at < b.at end)
  for _, move in ipairs(moves) do
    if moved[move.i] >= its.parts[move.i].then_paused + 0.0 and ends() <= move.at then break end
    moved[move.i] = moved[move.i] + move.by
  end
  return ends()
end

local function slot_of(id) return 'weir1s ' .. id end
local function take_slot(key, id, ns)
  call('ZADD', key, int(us_of(ns)), slot_of(id))
  local last = call('ZREVRANGEBYSCORE', key, '+inf', '-inf', 'LIMIT', 0, 1)[1]
  call('PEXPIREAT', key, int(ceil((call('ZSCORE', key, last) + 1.5e15) / 1e3)))
end
-- The names of lines and records differ by their last part; `stem` is that of records.
local function line_of(stem, name)
  local from = string.find(stem, 'limit#id:', 1, true)
  return sub(stem, 1, from - 1) .. 'limit#line:' .. sub(stem, from + 9) .. name
end
-- When its hold ends by now. Its parts that are still there then know the key and the text of their lines.
local function end_by_now(its, stem)
  return end_of_record(its, function(part)
    local line = line_of(stem, part.name)
    local text = call('ZRANGEBYSCORE', line, 0, 0)[1]
    local epoch, more = match(text or '', '^(%S+) %d+ %d+ %d+ %d+ %d+ %d+ %d+ %d+(.*)$')
    if epoch ~= part.epoch then return nil end
    local pause, all, shift = match(more, '^ (%d+) (%d+) (%-?%d+) ')
    part.line_key, part.line_text, part.line_shift = line, text, (shift or 0) + 0.0
    return {key = line, pause = pause or '0', all = (all or 0) + 0.0}
  end)
end
-- The slot of an open hold ends with it, wherever pauses have moved that; one that is over is free.
local function move_slot(key, id, left)
  if left > 0 then take_slot(key, id, left) else call('ZREM', key, slot_of(id)) end
end
-- Those of a key whose time is over; one that a pause has moved stays until its new end.
local function free_ended(key, stem)
  for _, member in ipairs(call('ZRANGEBYSCORE', key, '-inf', int(now_us), 'LIMIT', 0, MOST_ENDED)) do
    local id = sub(member, 8)
    local its = read_record(stem .. id)
    move_slot(key, id, its and end_by_now(its, stem) or 0)
  end
end
-- False: something else lies there.
local function read_slots(i, stem, most)
  local key = KEYS[2 * i]
  local open = redis.pcall('ZCOUNT', key, '-inf', '+inf')
  if type(open) == 'table' then return false end
  if open > 0 then
    local first = call('ZRANGEBYSCORE', key, '-inf', '+inf', 'LIMIT', 0, 1)[1]
    if sub(first, 1, 7) ~= 'weir1s ' then return false end
    free_ended(key, stem)
    open = call('ZCOUNT', key, '-inf', '+inf')
  end
  local function ends(member) return member and max((call('ZSCORE', key, member) - now_us) * 1e3, 0) or 0 end
  local lacking = open >= most and most > 0 and
    ends(call('ZRANGEBYSCORE', key, '-inf', '+inf', 'LIMIT', open - most, 1)[1]) or 0
  local last = open > 0 and ends(call('ZREVRANGEBYSCORE', key, '+inf', '-inf', 'LIMIT', 0, 1)[1]) or 0
  states[i] = {text = format('slots %d %d %d', open, lacking, last), tat = 0, mark = '', open = open}
  return true
end

-- A fixed window's: its end, the units used, ns until the end. False: something else lies there.
local function read_window(i)
  local text = redis.pcall('GET', KEYS[2 * i])
  if type(text) == 'table' then return false end
  local stop, used = match(text or '', '^weir1f (%d+) (%d+)$')
  if text and not stop then return false end
  local left = stop and from_now(stop) or 0
  states[i] = {text = text, tat = 0, mark = '', stop = left > 0 and stop, used = left > 0 and used + 0.0 or 0, left = max(left, 0)}
  return true
end
local function write_window(i, stop, used)
  local dated = states[i].dated
  local text = dated and dated.write(used) or format('weir1f %s %d', stop, used)
  call('SET', KEYS[2 * i], text, 'PXAT', expiry(pair(dated and dated.kept or stop)))
  states[i] = {text = text, tat = 0, mark = '', stop = stop, used = used, left = from_now(stop), dated = dated}
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
  states[i] = {text = text, tat = 0, mark = '', stop = stop, used = used, left = max(from_now(stop), 0),
               dated = {write = write, kept = kept, id = id}}
  return true
end
-- Whether the window that a part of a record has counted runs, and has its state.
local function reads_its_window(i, part)
  if not part.is_dated then return read_window(i) and states[i].stop == part.stop end
  local text = redis.pcall('GET', KEYS[2 * i])
  local kept, id, used = match(type(text) == 'string' and text or '', '^weir1d (%d+) (%d+) (%d+)$')
  if not kept or id + 0.0 ~= part.number or from_now(part.stop) <= 0 or from_now(kept) <= 0 then return false end
  local function write(units) return format('weir1d %s %s %d', kept, id, units) end
  states[i] = {text = text, tat = 0, mark = '', stop = part.stop, used = used + 0.0, left = from_now(part.stop),
               dated = {write = write, kept = kept, id = id}}
  return true
end

local function read_line(i)
  local key, state = KEYS[2 * i + 1], states[i]
  local text = call('ZRANGEBYSCORE', key, 0, 0)[1]
  if not text then return nil end
  local epoch, T, burst, generation, units, moved, held, last, tat, more =
    match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)(.*)$')
  local pause, all, shift, told = match(more, '^ (%d+) (%d+) (%-?%d+) (%d+)$')
  if not state.text and from_now(tat) > 0 then
    call('DEL', key)
    return nil
  end
  local line = {key = key, text = text, epoch = epoch, T = T, burst = burst, generation = generation + 0.0,
                units = units + 0.0, moved = moved + 0.0, held = held + 0.0, last = last, tat = tat,
                pause = pause or '0', all = (all or 0) + 0.0, shift = (shift or 0) + 0.0, told = told or '0'}
  if state.tat == 0 or state.mark ~= ' @' .. epoch then lose(line) end
  lines[i] = line
  return line
end

local function write_line(line)
  local text = format('%s %s %s %d %d %d %d %s %s', line.epoch, line.T, line.burst, line.generation, line.units,
                      line.moved, line.held, line.last, line.tat)
  if line.pause ~= '0' or line.shift ~= 0 or line.told ~= '0' then
    text = text .. format(' %s %d %d %s', line.pause, line.all, line.shift, line.told)
  end
  if text == line.text then return end
  call('ZADD', line.key, 0, text)
  if line.text then call('ZREM', line.key, line.text) end
  line.text = text
end

-- A hole belongs to the numbers that it was charged by.
local function count_by(line, T, burst)
  if line.T == T and line.burst == burst then return end
  keep_moments(line)
  remove_scores(line, int(HOLES), '(' .. int(AHEAD))
  line.T, line.burst = T, burst
end

local function add_moment(line, id, number, moment)
  local kept = moment - line.shift
  call('ZADD', line.key, int(AHEAD + us_of(kept)), format('m%s %d %s', id, number, digits_of(kept)))
end

-- A hole's times are digits, and its `at`, `stop` and `low_at` ns from now.
local function read_hole(member)
  local moment, stop, low, units, many, number, lasts = match(member, '^.(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d)$')
  return {moment = moment, stop = stop, low = low, units = units + 0.0, many = many + 0.0, number = number + 0.0,
          lasts = lasts == '1', at = from_now(moment), ends = from_now(stop)}
end
local function words_of_hole(hole)
  return format('%s %s %s %d %d %d %d', hole.moment, hole.stop, hole.low, hole.units, hole.many, hole.number,
                hole.lasts and 1 or 0)
end
local function put_hole(line, hole)
  local words = words_of_hole(hole)
  call('ZADD', line.key, int(us_of(from_now(hole.stop)) + ENDS), 'e' .. words)
  if not hole.lasts then call('ZADD', line.key, int(us_of(from_now(hole.moment)) + HOLES), 'h' .. words) end
end
local function remove_hole(line, hole)
  local words = words_of_hole(hole)
  call('ZREM', line.key, 'h' .. words, 'e' .. words)
end
local function begin_of(line, hole) return from_now(hole.stop) - hole.units * hole.many * line.T end

-- The hole that ends there.
local function hole_at(line, stop)
  local score = int(us_of(from_now(stop)) + ENDS)
  for _, member in ipairs(by_score(line, score, score, LOOKED)) do
    local hole = read_hole(member)
    if hole.stop == stop then return hole end
  end
end

-- Those that have drained, and those whose moment has come without anybody to take them.
local function drop_passed(line)
  local drained = int(ENDS + now_us + ceil(line.T / 1e3))
  for _, member in ipairs(by_score(line, int(ENDS), drained, LOOKED)) do
    local hole = read_hole(member)
    if hole.lasts and hole.ends < line.T + 0.0 then remove_hole(line, hole) end
  end
  for _, member in ipairs(by_score(line, int(HOLES), int(now_us + HOLES), LOOKED)) do
    local hole = read_hole(member)
    if hole.at <= 0 then
      remove_hole(line, hole)
      local apart = hole.units * line.T
      local passed = floor(-hole.at / apart) + 1
      if passed < hole.many then
        hole.many, hole.number = hole.many - passed, hole.number + passed * hole.units
        hole.moment = digits_of(hole.at + passed * apart)
        hole.low = digits_of(begin_of(line, hole))
        put_hole(line, hole)
      end
    end
  end
end
local function has_holes(line)
  drop_passed(line)
  return by_score(line, int(ENDS), int(AHEAD - 1), 1)[1]
end

-- With the one before it, the one after it, or both.
local function add_hole(line, hole)
  if hole.lasts then
    -- For any cost: those that touch are one.
    local before = hole_at(line, hole.low)
    if before and before.lasts then
      remove_hole(line, before)
      hole.low, hole.number = before.low, before.number
    end
    local member = by_score(line, int(us_of(from_now(hole.stop)) + ENDS), '(' .. int(AHEAD), LOOKED)
    for _, each in ipairs(member) do
      local after = read_hole(each)
      if after.lasts and after.low == hole.stop then
        remove_hole(line, after)
        hole.stop, hole.moment = after.stop, after.moment
        break
      end
      if after.ends > from_now(hole.stop) then break end
    end
    hole.units = floor((from_now(hole.stop) - from_now(hole.low)) / line.T)
    return put_hole(line, hole)
  end
  local apart = hole.units * line.T
  local function joins(first, second)
    return not first.lasts and not second.lasts and first.units == second.units and second.low == first.stop and
      from_now(second.moment) == from_now(first.moment) + apart * first.many
  end
  if from_now(hole.low) == begin_of(line, hole) then
    local before = hole_at(line, hole.low)
    if before and joins(before, hole) then
      remove_hole(line, before)
      before.many, before.stop = before.many + hole.many, hole.stop
      hole = before
    end
  end
  local after = by_score(line, int(us_of(from_now(hole.stop)) + ENDS), '(' .. int(AHEAD), 2)
  for _, member in ipairs(after) do
    local next_hole = read_hole(member)
    if from_now(next_hole.low) == begin_of(line, next_hole) and joins(hole, next_hole) then
      remove_hole(line, next_hole)
      hole.many, hole.stop = hole.many + next_hole.many, next_hole.stop
      break
    end
  end
  put_hole(line, hole)
end

-- How long all up to the units of that number have moved up, ever, modulo TURN.
local function moved_up_to(line, number)
  local moved = line.moved
  if moved > 0 then
    for _, member in ipairs(by_score(line, int(WORDS + number), '+inf')) do
      moved = moved - match(member, ' (%d+)$')
    end
  end
  return moved < 0 and moved + TURN or moved
end

-- The first units of a hole; what remains of it stays. The moment, and what is owned.
local function take_from(line, hole, units, latest)
  local T = line.T + 0.0
  local at, begin, low, fits = hole.at, begin_of(line, hole), hole.low, hole.units
  if not hole.lasts and at <= 0 then return nil end
  if hole.lasts then
    at, begin = max(at, 0), from_now(low)
    if begin < at then begin, low = at, digits_of(at) end
    fits = floor(max(hole.ends - begin, 0) / T)
  end
  if at > latest or units > fits then return nil end
  local own = {units = units, low = low, stop = digits_of(begin + units * T), number = hole.number,
               moved = moved_up_to(line, hole.number), generation = line.generation,
               paused = moved_to(line, hole.number)}
  remove_hole(line, hole)
  local rest = fits - units
  local left = rest > 0 and {moment = hole.moment, low = own.stop, units = rest, many = 1, number = hole.number + units,
                             lasts = hole.lasts,
                             stop = hole.lasts and hole.stop or digits_of(begin + fits * T)}
  if left and hole.many == 1 then put_hole(line, left) elseif left then add_hole(line, left) end
  if hole.many > 1 then
    hole.many, hole.number = hole.many - 1, hole.number + hole.units
    hole.moment = digits_of(hole.at + hole.units * T)
    hole.low = digits_of(begin_of(line, hole))
    put_hole(line, hole)
  end
  return at, own
end
local function take_hole(line, units, latest)
  drop_passed(line)
  local passing = by_score(line, int(HOLES), int(us_of(latest) + HOLES), LOOKED)
  local lasting = by_score(line, int(ENDS), '(' .. int(AHEAD), LOOKED)
  local p, l = 1, 1
  for _ = 1, LOOKED do
    local first = passing[p] and read_hole(passing[p])
    local other = lasting[l] and read_hole(lasting[l])
    while other and not other.lasts do
      l = l + 1
      other = lasting[l] and read_hole(lasting[l])
    end
    if not first and not other then break end
    local hole = first
    if first and (not other or first.at < other.at or first.at == other.at and first.ends < other.ends) then
      p = p + 1
    else
      hole, l = other, l + 1
    end
    local at, own = take_from(line, hole, units, latest)
    if at then return at, own end
  end
end

-- Where the own units of one that is held end, after what has gone back of those before them since.
local function end_of(line, part)
  local gone = moved_up_to(line, part.number) - part.moved
  if gone < 0 then gone = gone + TURN end
  return from_now(part.stop) - gone + moved_to(line, part.number) - part.paused
end

local function set_word(line, number, change)
  local score = int(WORDS + number)
  local member = by_score(line, score, score, 1)[1]
  local word = change
  if member then
    call('ZREM', line.key, member)
    word = word + match(member, ' (%d+)$')
  end
  return word
end
-- The hold ends, and the line moves up by `moved` ns after it.
local function close_hold(line, number, moved)
  number = number + 0.0
  call('ZREM', line.key, int(number))
  local word = set_word(line, number, moved)
  if moved > 0 then
    line.moved = line.moved >= TURN - moved and line.moved - (TURN - moved) or line.moved + moved
  end
  local before = word > 0 and call('ZREVRANGEBYSCORE', line.key, int(NUMBERS + number), int(NUMBERS), 'LIMIT', 0, 1)[1]
  if before then
    call('ZADD', line.key, int(WORDS + before), format('%s %d', before, set_word(line, before + 0.0, word)))
  end
end

-- The first ones that have ended; all of them where they are counted.
local function end_holds(line, all)
  repeat
    local ended = 0
    for _, member in ipairs(by_score(line, int(UNTIL), int(UNTIL + s * 1e3 + floor(n / 1e6)), all and 64 or 2)) do
      local number, units, stop, paused = match(member, ' (%d+) (%d+) (%d+) (%d+)$')
      -- Of one that a pause has moved, its time runs from its new moment.
      local left = from_now(stop) + moved_to(line, number) - paused
      if left > 0 then
        call('ZADD', line.key, int(UNTIL + s * 1e3 + floor((n + left) / 1e6)), member)
      else
        ended = ended + call('ZREM', line.key, member)
        line.held = line.held - units
        close_hold(line, number, 0)
      end
    end
  until not all or ended == 0
end

-- How long until `units` more fit beside those that are held; below 0: they never do. Where more than LOOKED have to
-- end first, until that many have.
local function until_hold_fits(line, units, at_most)
  if at_most == 'any' then return 0 end
  at_most = at_most + 0.0
  if units > at_most then return -1 end
  if not line then return 0 end
  end_holds(line, true)
  local held = line.held
  if held + units <= at_most then return 0 end
  local open = {}
  for i, member in ipairs(by_score(line, int(UNTIL), '(' .. int(NUMBERS), LOOKED)) do
    local number, its, stop, paused = match(member, ' (%d+) (%d+) (%d+) (%d+)$')
    open[i] = {units = its, stop = from_now(stop) + moved_to(line, number) - paused}
  end
  table.sort(open, function(a, b) return a.stop < b.stop end)
  local last = 0
  for _, each in ipairs(open) do
    held, last = held - each.units, each.stop
    if held + units <= at_most then break end
  end
  return last
end

-- A pause moves it as it moves those that may be settled.
local function keep_unsettled(line, id, number, ns)
  remove_scores(line, 1, int(s - 1))
  call('ZADD', line.key, int(s + ceil((n + ns) / 1e9)), format('r%s %d', id, number))
end

local function new_line(i, id, T, burst)
  lines[i] = {key = KEYS[2 * i + 1], epoch = id, T = T, burst = burst, generation = 0, units = 0, moved = 0, held = 0,
              last = '0', tat = '0', pause = '0', all = 0, shift = 0, told = '0'}
  return lines[i]
end
local function keep_until(line, time)
  if from_now(line.last) >= time then return false end
  line.last = digits_of(time)
  return true
end

if reserves then
  local id, most, hold, longest_hold = ARGV[3], ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[6]
  local stem = sub(KEYS[1], 1, #KEYS[1] - #id)
  local looks, befores, busy, closed, never = true, {}, false, nil, false
  for i = 1, count do
    local at = 6 + 6 * (i - 1)
    local marks = ARGV[at + 1]
    local T, full, need = ARGV[at + 2], ARGV[at + 3] + 0.0, ARGV[at + 4] + 0.0
    local dated = match(marks, 'calendar $') and T
    if dated then T = '1' end
    local guarantee, inside = match(marks, 'inside (%d+) (%d+) ')
    local name, key_size, limit, lowest, with, own = match(ARGV[at + 6], '^(%S*) (%d+) (%d+) (%d+) (%d+) (%d)$')
    limits[i] = {T = T, interval = T + 0.0, full = full, need = need, units = need / T, burst = ARGV[at + 5],
                 whole = ARGV[at + 5] * (T + 0.0), at_most = name, key_size = key_size, id = limit,
                 lowest = lowest + 0.0, with = with + 0.0, settles = name == '' and 0 or 2 - own,
                 shadow = match(marks, 'shadow ') ~= nil, guarantee = guarantee and guarantee + 0.0,
                 inside = inside and inside + 0.0}
    looks = looks and need == 0
    local its = limits[i]
    if match(marks, 'slots $') then
      -- To the rates it is a limit that allows everything.
      its.is_slots, its.takes = true, need > 0
      its.need, its.full, its.whole, its.at_most, its.lowest = 0, 0, 0, '', 0
      if not read_slots(i, stem, full) then return no_state(i) end
      its.has_room = states[i].open < full
      busy = busy or its.takes and not its.has_room and not its.shadow
    elseif dated or match(marks, 'window $') or match(marks, 'clock $') then
      its.is_window, its.on_clock, its.admits, its.units = true, match(marks, 'clock $'), full, need
      its.need, its.full, its.whole, its.lowest = 0, 0, 0, 0
      if dated and not read_dated(i, dated) or not dated and not read_window(i) then
        return dated and outside and {-1, time[1], time[2]} or no_state(i)
      end
      its.counts = need > 0 and states[i].used + need <= full
      if need > 0 and not its.counts and not its.shadow and (not closed or states[i].left > states[closed].left) then
        closed = i
      end
      never = never or need > full and not its.shadow
    elseif not read_state(i) then
      return no_state(i)
    else
      count_state_by(i, T, its.burst + 0.0)
    end
    befores[i] = states[i].text
  end

  local function answer(granted, how, ns, by)
    local all = {granted, time[1], time[2], how, int(ns), by or 0}
    for i = 1, count do all[6 + i] = befores[i] end
    return all
  end
  if busy then return answer(0, 'busy', 0) end
  -- Nobody waits for a window.
  if closed then return answer(0, never and 'now' or 'later', states[closed].left, closed - 1) end

  local function room_of(i)
    local its = limits[i]
    return its.guarantee and limits[its.guarantee].allows and its.inside or its.full
  end
  -- Whether it is allowed at a time, and then the tat that it leaves; or how long it is not, nothing when no time helps.
  local function decide(i, at)
    local its, state = limits[i], states[i]
    local ahead, full, need = max(state.tat - at, 0), room_of(i), its.need
    if need == 0 then return true end
    if ahead > 0 and state.T ~= its.T then
      -- Whole units are owed, and drain at their own T until a request passes.
      local units, of = floor(full / its.interval), state.T + 0.0
      if its.units > units then return false end
      local owed = floor((ahead - 1) / of) + 1
      if owed + its.units <= units then return true, at + (owed + its.units) * its.interval end
      return false, ahead - (units - its.units) * of
    end
    if need > full then return false end
    if ahead <= full - need then return true, max(state.tat, at) + need end
    return false, ahead - (full - need)
  end
  -- Whether all allow it, or how long it is denied for, nothing when no time helps, and by which for longest.
  local function decide_all(at)
    local all, longest, by = true, 0, 0
    for i = 1, count do
      local its = limits[i]
      local allows, ns = decide(i, at)
      its.allows, its.next = allows, ns
      if not allows and not its.shadow then
        all = false
        if longest and ns and ns > longest then by = i end
        longest = longest and ns and max(longest, ns)
      end
    end
    return all, longest, by
  end

  local parts = {}
  local function charge()
    for i = 1, count do
      local its, before = limits[i], states[i]
      if its.counts then
        local stop = before.stop
        if not stop then
          local es, en
          if its.on_clock then
            local Ps, Pn = pair(its.T)
            es, en = times(floor(s / (Ps + Pn / 1e9)), Ps, Pn)
            while es < s or es == s and en <= n do es, en = add(es, en, Ps, Pn) end
          else
            es, en = add(s, n, pair(its.T))
          end
          stop = format('%d%09d', es, en)
        end
        write_window(i, stop, before.used + its.units)
      end
      if its.allows and its.need > 0 then
        local digits, line = digits_of(its.next), lines[i]
        local owes = before.tat > 0
        local recounts = owes and before.T ~= its.T
        local low = recounts and its.next - its.need or min(owes and before.tat or 0, its.next - its.need)
        if line and recounts then lose(line) end
        parts[#parts + 1] = {i = i, units = its.units, stop = digits, low = digits_of(low), appended = true}
        write_state(i, digits, its.T, owes and not recounts and before.mark or '')
      end
    end
  end

  local function keep(moment)
    local digits, last = digits_of(moment), digits_of(moment + hold)
    local slots, windows = {}, {}
    for i = 1, count do
      if limits[i].takes and limits[i].has_room then slots[#slots + 1] = i end
      if limits[i].counts then windows[#windows + 1] = i end
    end
    local words, names = {format('weir1r %s %s %d %d %s', digits, last, #parts + #slots + #windows, hold > 0 and 1 or 0,
                                 longest_hold)}, {}
    for _, part in ipairs(parts) do
      local i = part.i
      local its, line = limits[i], lines[i]
      if not line then
        line = new_line(i, id, its.T, its.burst)
      end
      if part.appended then
        part.number, part.moved, part.generation = line.units + 1, line.moved, line.generation
        part.paused = moved_to(line, part.number)
        line.units = line.units + its.units
      end
      local state = states[i]
      if state.mark ~= ' @' .. line.epoch then write_state(i, state.digits, state.T, ' @' .. line.epoch) end
      if part.appended then line.tat = state.digits end
      if line.shift == 0 then drop_moments(line) elseif not is_anybody_ahead(line) then line.shift = 0 end
      if moment > 0 then add_moment(line, id, part.number, moment) end
      -- With several, what moves up at one of them is not the moment.
      if ARGV[1] == 'reserve' or parts[2] then keep_moment(line, moment) end
      local held = hold > 0 and its.at_most ~= '' and not its.shadow
      if held then
        end_holds(line, false)
        call('ZADD', line.key, int(UNTIL + s * 1e3 + floor((n + moment + hold) / 1e6)),
             format('o%s %d %d %s %d', id, part.number, its.units, last, part.paused))
        if part.number < MOST_UNITS then call('ZADD', line.key, int(NUMBERS + part.number), int(part.number)) end
        line.held = line.held + its.units
      elseif hold > 0 then
        keep_unsettled(line, id, part.number, moment + hold)
      end
      local longest = max(moment + (hold > 0 and hold or TOLD), from_now(part.stop))
      local longer = keep_until(line, longest)
      write_line(line)
      if longer then call('PEXPIREAT', line.key, expiry(pair(line.last))) end
      words[#words + 1] = format('%s %s %d %s %s %d %s %s %d %d %d %d %d %d %s %d %d %d', its.id, its.key_size,
        #KEYS[2 * i], its.T, its.burst, its.units, part.stop, part.low, part.number, part.moved, part.generation,
        held and 1 or 0, its.settles, its.shadow and 1 or 0, line.epoch, part.paused, line.shift, part.paused)
      names[#names + 1] = KEYS[2 * i]
    end
    for _, i in ipairs(slots) do
      local its = limits[i]
      take_slot(KEYS[2 * i], id, moment + hold)
      words[#words + 1] = format('%s %s %d 0 %s 1 0 0 0 0 0 0 2 %d - 0 0 0', its.id, its.key_size, #KEYS[2 * i],
                                 its.burst, its.shadow and 1 or 0)
      names[#names + 1] = KEYS[2 * i]
    end
    for _, i in ipairs(windows) do
      local its, key, dated = limits[i], KEYS[2 * i + 1], states[i].dated
      local epoch = call('GET', key) or id
      call('SET', key, epoch, 'PXAT', expiry(pair(states[i].stop)))
      words[#words + 1] = format('%s %s %d 0 %s %d %s 0 %s 0 0 0 %d %d %s%s 0 0 0', its.id, its.key_size, #KEYS[2 * i],
                                 its.burst, its.units, states[i].stop, dated and dated.id or '0', its.settles,
                                 its.shadow and 1 or 0, dated and '@' or '+', epoch)
      names[#names + 1] = KEYS[2 * i]
    end
    local gone = hold > 0 and last or digits_of(moment + TOLD)
    call('SET', KEYS[1], table.concat(words, '\n') .. '\n' .. table.concat(names), 'PXAT', expiry(pair(gone)))
  end

  local all, retry, awaited = decide_all(0)
  if hold == 0 or looks then
    if all then charge() end
    if all or not retry then
      return answer(all and 1 or 0, 'now', 0)
    end
    -- What others have settled may be there to act now.
    if most == 0 and (count > 1 or states[1].mark == '') then return answer(0, 'now', 0) end
  end

  for i = 1, count do
    local line = not limits[i].is_slots and not limits[i].is_window and read_line(i)
    if line then count_by(line, limits[i].T, limits[i].burst) end
  end
  local function write_lines()
    for i = 1, count do
      if lines[i] then write_line(lines[i]) end
    end
  end

  if hold > 0 then
    local longest, by = 0, 0
    for i = 1, count do
      local its = limits[i]
      if its.at_most ~= '' and not its.shadow and not its.is_window then
        local ns = until_hold_fits(lines[i], its.units, its.at_most)
        if ns ~= 0 and longest >= 0 and (ns < 0 or ns > longest) then longest, by = ns, i - 1 end
      end
    end
    if longest ~= 0 then
      write_lines()
      return answer(0, 'held', longest, by)
    end
  end

  -- A moment that somebody gave up, unless its own would be earlier.
  local first, line = limits[1], lines[1]
  if count == 1 and line and not first.shadow and not first.guarantee and first.full == first.whole and not all and retry then
    local moment, own = take_hole(line, first.units, min(retry, most))
    if moment then
      own.i = 1
      parts[1] = own
      if moment > 0 or hold > 0 then keep(moment) end
      write_lines()
      return answer(1, 'hole', moment)
    end
  end

  local moment, late, by = 0, 0, awaited - 1
  if not all then
    if not retry then
      write_lines()
      return answer(0, 'now', 0)
    end
    for i = 1, count do
      local its = limits[i]
      if not its.shadow and room_of(i) ~= its.whole then most = 0 end
    end
    moment = retry
    all = decide_all(moment)
    late = moment - most
    -- No limit may be lifted so far that less than the lowest class's part of its burst would be left, unless all who
    -- come to it have to wait for the same.
    local function lift(i, of)
      local its = limits[i]
      if its.need > 0 and states[i].tat < moment and floor(its.with / 2 ^ (awaited - 1)) % 2 == 0 then
        local rest = moment - max(its.lowest - its.need, 0)
        if rest > late then late, by = rest, of - 1 end
      end
    end
    for i = 1, count do
      local its = limits[i]
      if not its.shadow then
        lift(i, i)
        if its.guarantee and limits[its.guarantee].allows then lift(its.guarantee, i) end
      end
    end
  end
  -- A debt in a shorter T may not be counted in this one ahead: until there is none, it may act but not wait.
  local debt = 0
  for i = 1, count do
    local its, state = limits[i], states[i]
    if not its.shadow and its.need > 0 and state.tat > 0 and state.T + 0.0 < its.interval then debt = max(debt, state.tat) end
  end
  debt = min(debt, moment)
  if debt > max(late, 0) then late, by = debt, awaited - 1 end
  if not all or late > 0 then
    write_lines()
    return answer(0, 'later', late, by)
  end
  charge()
  if moment > 0 or hold > 0 then keep(moment) end
  write_lines()
  return answer(1, 'later', moment)
end

if ARGV[1] == 'pause' or ARGV[1] == 'rest' then
  local id, stem, length = ARGV[3], ARGV[5], ARGV[4] + 0.0

  -- How far those who wait move, and the first of their units.
  local function find_move(line, ahead)
    local first, number
    for _, member in ipairs(ahead) do
      local at, its = time_of(line, member), match(member, ' (%d+) ') + 0.0
      first, number = min(first or at, at), min(number or its, its)
    end
    return first and max(length - first, 0) or 0, number
  end
  -- Those that have acted, and whose holds have ended, take nothing back: how far they moved no longer matters.
  local function fold_moves(line, number)
    if call('ZCOUNT', line.key, int(PAUSES), '(' .. int(WORDS)) < MOST_PAUSES / 2 then return end
    local hold = by_score(line, int(NUMBERS), '(' .. int(PAUSES), 1)[1]
    local upto = int(PAUSES + min(number, hold and hold + 0.0 or number))
    for _, member in ipairs(by_score(line, int(PAUSES), upto)) do line.all = line.all + match(member, ' (%d+) ') end
    remove_scores(line, int(PAUSES), upto)
  end
  local function add_move(line, number, by)
    local full = call('ZCOUNT', line.key, int(PAUSES), '(' .. int(WORDS)) >= MOST_PAUSES
    if full then
      local before = call('ZREVRANGEBYSCORE', line.key, int(PAUSES + number), int(PAUSES), 'LIMIT', 0, 1)[1]
      local from, sum = match(before or '', '^(%d+) (%d+) ')
      if not from or from + 0.0 ~= number then lose(line) end
      if not from then
        line.all = line.all + by
        return
      end
      call('ZREM', line.key, before)
      number, by = from + 0.0, by + sum
    end
    -- In order, those of one microsecond too.
    local time = digits_of(0)
    for _, member in ipairs(by_score(line, int(PAUSES), '(' .. int(WORDS))) do
      local other = match(member, ' (%d+)$')
      if other >= time then time = digits_of(from_now(other) + 1) end
    end
    call('ZADD', line.key, int(PAUSES + number), format('%d %d %s', number, by, time))
  end
  -- Those from that number on; what then could be taken before the pause's end is lost.
  local function move_holes(line, number, by)
    local left = {}
    for _, member in ipairs(by_score(line, int(ENDS), '(' .. int(AHEAD), MOST_MOVED)) do
      local hole = read_hole(member)
      if hole.number >= number and hole.at + by >= from_now(line.pause) then left[#left + 1] = hole end
    end
    remove_scores(line, int(HOLES), '(' .. int(AHEAD))
    for _, hole in ipairs(left) do
      hole.moment, hole.stop, hole.low = digits_of(hole.at + by), digits_of(hole.ends + by), digits_of(from_now(hole.low) + by)
      put_hole(line, hole)
    end
  end
  -- The ids of those that move, and of the holds that move with them.
  local function find_moved(line, ahead, number, by)
    local ids = {}
    for _, member in ipairs(ahead) do ids[match(member, '^m(%S+)')] = true end
    for _, member in ipairs(by_score(line, 1, '(' .. int(NUMBERS))) do
      local kind, id, its = match(member, '^(.)(%S+) (%d+)')
      if its + 0.0 >= number then
        ids[id] = true
        if kind == 'r' then call('ZADD', line.key, int(call('ZSCORE', line.key, member) + ceil(by / 1e9)), member) end
      end
    end
    return ids
  end
  -- A hold that ends later by another of its keys may be settled at this one until then, too.
  local function keep_line_of(part, left)
    local before, last, after = match(part.line_text, '^(%S+ %d+ %d+ %d+ %d+ %d+ %d+) (%d+)( .*)$')
    if left <= 0 or from_now(last) >= left then return end
    call('ZADD', part.line_key, 0, format('%s %s%s', before, digits_of(left), after))
    call('ZREM', part.line_key, part.line_text)
    call('PEXPIREAT', part.line_key, expiry(pair(digits_of(left))))
  end
  -- Their records have to stay for as much longer, and their lines; and their slots end later.
  local function keep_records(ids, by)
    for id in pairs(ids) do
      local key = stem .. id
      local left = call('PTTL', key)
      if left > 0 then
        call('PEXPIREAT', key, int(s * 1e3 + floor((n + by) / 1e6) + left + 1))
        local its = read_record(key)
        local ends = end_by_now(its, stem)
        for _, part in ipairs(its.parts) do
          local slot = part.is_slot and redis.pcall('ZSCORE', part.name, slot_of(id))
          if slot and type(slot) ~= 'table' then move_slot(part.name, id, ends) end
          if part.line_text then keep_line_of(part, ends) end
        end
      end
    end
  end

  -- As check.lua decides, with nothing kept for other classes.
  local function denies(state, T, burst, need)
    if state.tat == 0 then return false end
    if state.T == T then return state.tat + need > burst * T end
    return floor((state.tat - 1) / state.T) + 1 + floor(need / T) > burst
  end

  -- As core::PenaltyTerms has it: KEYS[1] says when n is 0 again.
  local function breach(length, growing, most)
    local forgotten = match(call('GET', KEYS[1]) or '', '^weir1n (%d+)$')
    local n = min(max(ceil((forgotten and from_now(forgotten) or 0) / most), 0), 1000)
    local digits = digits_of(min(n + 1, 1000) * most)
    call('SET', KEYS[1], 'weir1n ' .. digits, 'PXAT', expiry(pair(digits)))
    local factor, power = 1, growing
    while n > 0 do
      if n % 2 == 1 then factor = factor * power end
      n, power = floor(n / 2), power * power
    end
    return floor(min(length * factor, most))
  end

  local answer = {1, time[1], time[2]}
  for i = 1, count do
    if not read_state(i) then return no_state(i) end
    count_state_by(i, ARGV[4 + 2 * i], ARGV[5 + 2 * i] + 0.0)
  end
  if ARGV[1] == 'rest' then
    local line = read_line(1)
    if line and is_paused(line) or not denies(states[1], ARGV[6], ARGV[7] + 0.0, ARGV[8] + 0.0) then
      return {0, time[1], time[2], states[1].text, '0', '0'}
    end
    if ARGV[9] + 0.0 > 1000 then length = breach(length, ARGV[9] / 1000, ARGV[10] + 0.0) end
    answer[6] = int(length)
  end
  for i = 1, count do
    local T, burst, state = ARGV[4 + 2 * i], ARGV[5 + 2 * i] + 0.0, states[i]
    local line = lines[i] or read_line(i) or new_line(i, id, T, int(burst))
    count_by(line, T, int(burst))
    if length >= from_now(line.pause) then line.pause = digits_of(length) end
    end_holds(line, true)  -- whose time is over moves no more
    drop_moments(line)
    drop_passed(line)
    local ahead = by_score(line, int(AHEAD), '(0')
    local by, number = find_move(line, ahead)
    local moved = by > 0 and find_moved(line, ahead, number, by) or {}
    if by > 0 then
      fold_moves(line, number)
      add_move(line, number, by)
      line.shift = line.shift + by
      if from_now(line.told) > 0 then line.told = digits_of(from_now(line.told) + by) end
      keep_until(line, from_now(line.last) + by)
      move_holes(line, number, by)
    elseif is_paused(line) then
      move_holes(line, line.units + 1, 0)
    end
    local as, an, mark = 0, 0, ' @' .. line.epoch
    if state.tat > 0 then
      as, an = pair(state.digits)
      if state.T ~= T then
        lose(line)
        as, an = add(s, n, times(floor((state.tat - 1) / state.T) + 1, pair(T)))
      end
      as, an = add(as, an, pair(format('%d', by)))
    end
    local ps, pn = add(s, n, pair(format('%d', length)))
    ps, pn = add(ps, pn, times(burst - 1, pair(T)))
    if as < ps or as == ps and an < pn then as, an = ps, pn end
    answer[2 + 2 * i], answer[3 + 2 * i] = state.text, int(by)
    state.stop, state.least = line.pause, digits_of(from_now(line.pause) + (burst - 1) * T)
    write_state(i, format('%d%09d', as, an), T, mark)
    line.tat = states[i].digits
    keep_until(line, max(length, states[i].tat))
    write_line(line)
    call('PEXPIREAT', line.key, expiry(pair(line.last)))
    keep_records(moved, by)
  end
  return answer
end

if ARGV[1] == 'refund' then
  -- What a moment, a hold or a hole is part of stays, and so does all that is not known to lie after them.
  local function least_after(i, line, state, T, burst)
    local least = max(least_tat(i, line), 0)
    drop_passed(line)
    end_holds(line, true)
    local open = by_score(line, int(UNTIL), '(' .. int(NUMBERS), 1)[1]
    if not open and not has_holes(line) and not is_anybody_ahead(line) then return least end
    if state.mark ~= ' @' .. line.epoch or state.T ~= T or line.T ~= T or line.burst + 0.0 ~= burst then return nil end
    return max(least, from_now(line.tat))
  end

  local answer = {1, time[1], time[2]}
  for i = 1, count do
    if not read_state(i) then return no_state(i) end
  end
  for i = 1, count do
    local T, burst, need, state = ARGV[3 * i], ARGV[3 * i + 1] + 0.0, ARGV[3 * i + 2] + 0.0, states[i]
    count_state_by(i, T, burst)
    local line = read_line(i)
    local least = 0
    if line then least = least_after(i, line, state, T, burst) end
    answer[2 + 2 * i], answer[3 + 2 * i] = state.text, least and int(least) or '-1'
    local owed = state.tat
    if owed > 0 and state.T ~= T then owed = (floor((owed - 1) / state.T) + 1) * (T + 0.0) end
    local after = max(owed - need, min(owed, least or owed), 0)
    if after < owed then
      if after > 0 then
        write_state(i, digits_of(after), T, state.T == T and state.mark or '')
      else
        call('DEL', KEYS[2 * i])
        states[i] = {text = false, tat = 0, mark = ''}
      end
      if line and from_now(line.tat) > after then line.tat = states[i].digits or '0' end
    end
    if line then write_line(line) end
  end
  return answer
end

if ARGV[1] == 'holds' then
  local MOST_HOLDS = 1024  -- of each limit those that end first
  local most, stem = ARGV[3] + 0.0, ARGV[4]
  local costs, ids = {}, {}
  local function add(id, units)
    if not costs[id] then ids[#ids + 1] = id end
    costs[id] = max(costs[id] or 0, units + 0.0)
  end
  for i = 1, count do
    if ARGV[4 + i] == 'slots' then
      if not read_slots(i, stem, 1) then return no_state(i) end
      for _, member in ipairs(call('ZRANGEBYSCORE', KEYS[2 * i], '-inf', '+inf', 'LIMIT', 0, MOST_HOLDS)) do
        add(sub(member, 8), 1)
      end
    else
      if not read_state(i) then return no_state(i) end
      local line = read_line(i)
      if line then
        end_holds(line, true)
        write_line(line)
        for _, member in ipairs(by_score(line, int(UNTIL), '(' .. int(NUMBERS), MOST_HOLDS)) do
          add(match(member, '^o(%S+) %d+ (%d+) '))
        end
      end
    end
  end

  -- By the moments that they were granted.
  local open = {}
  for _, id in ipairs(ids) do
    local moment = match(call('GET', stem .. id) or '', '^weir1r (%d+) %d+ %d+ 1 ')
    if moment then open[#open + 1] = {id = id, moment = moment} end
  end
  table.sort(open, function(a, b)
    return a.moment < b.moment or a.moment == b.moment and a.id < b.id
  end)

  local function moment_by_now(its, id)
    local latest = #its.parts == 0 and max(from_now(its.moment), 0) or 0
    for _, part in ipairs(its.parts) do
      local kept = part.line_key and from_now(its.moment) - part.shift
      if kept and call('ZSCORE', part.line_key, format('m%s %d %s', id, part.number, digits_of(kept))) then
        latest = max(latest, kept + part.line_shift)
      end
    end
    return latest
  end
  local answer = {1, time[1], time[2]}
  for i = 1, min(most, #open) do
    local id = open[i].id
    local its = read_record(stem .. id)
    local ends = end_by_now(its, stem)
    if ends > 0 then
      for _, word in ipairs({id, int(costs[id]), int(moment_by_now(its, id)), int(ends)}) do answer[#answer + 1] = word end
    end
  end
  return answer
end

-- The others begin with the record.

local record = read_record(KEYS[1])
local moment, last, parts = record and record.moment, record and record.last, record and record.parts or {}
local id = match(KEYS[1], '[%w_-]+$')

-- Of its slots those that it still has.
local has_slots = {}
for _, part in ipairs(parts) do
  local score = part.is_slot and redis.pcall('ZSCORE', part.name, slot_of(id))
  if score and type(score) ~= 'table' then has_slots[#has_slots + 1] = part.name end
end
local function free_slots()
  for _, key in ipairs(has_slots) do call('ZREM', key, slot_of(id)) end
end
-- Those that its windows still have.
local open_windows, has_windows = {}, false
for i, part in ipairs(parts) do
  has_windows = has_windows or part.is_window
  if part.is_window and reads_its_window(i, part) and call('GET', KEYS[2 * i + 1]) == sub(part.epoch, 2) then
    open_windows[#open_windows + 1] = part
  end
end

-- What of it is still there; the others have died. `knows`: the line still knows the state.
local function live_parts()
  local live = {}
  for i, part in ipairs(parts) do
    local line = part.is_rate and read_state(i) and read_line(i)
    if line and line.epoch == part.epoch then
      live[#live + 1], part.line = part, line
      part.knows = part.generation + 0.0 == line.generation
      part.member = format('o%s %d %d %s %s', id, part.number, part.units, last, part.then_paused)
      part.ahead = format('m%s %d %s', id, part.number, digits_of(from_now(moment) - part.shift))
    end
  end
  return live
end
-- Those whose holds are open; they end.
local function take_holds(live)
  for _, part in ipairs(live) do
    local line = part.line
    part.open = part.held and call('ZREM', line.key, part.member) == 1
    if part.open then line.held = line.held - part.units end
    if not part.held then call('ZREM', line.key, format('r%s %d', id, part.number)) end
  end
end
-- Where its moment is by now at one of its keys, ns from now; at most 0 when it has come.
local function moment_at(part)
  if not call('ZSCORE', part.line.key, part.ahead) then return 0 end
  return from_now(moment) - part.shift + part.line.shift
end
-- The latest of its keys'.
local function moment_of(live)
  local latest = 0
  for _, part in ipairs(live) do latest = max(latest, moment_at(part)) end
  return latest
end
-- Whether it may not be settled any more.
local function is_over()
  return end_of_record(record, function(part) return part.line end) <= 0
end

-- The line's end has moved back; holes that are now the last go back too.
local function move_back(part, tat)
  local i, line = part.i, part.line
  local mark = states[i].mark
  local least = least_tat(i, line)
  if from_now(tat) < least then tat = digits_of(least) end
  local hole = hole_at(line, tat)
  while hole and not (hole.lasts and hole.at > 0) and from_now(hole.low) >= least do
    remove_hole(line, hole)
    tat = hole.low
    hole = hole_at(line, tat)
  end
  if from_now(tat) > 0 then
    write_state(i, tat, part.T, mark)
  else
    call('DEL', KEYS[2 * i])
    states[i] = {text = false, tat = 0, mark = ''}
  end
  line.tat = states[i].digits or '0'
end

if ARGV[1] == 'cancel' then
  if not moment then return {0, time[1], time[2]} end
  local live = live_parts()
  local at = moment_of(live)
  if at <= 0 and (live[1] or from_now(moment) <= 0) then return {0, time[1], time[2]} end
  if at <= 0 then at = from_now(moment) end
  call('DEL', KEYS[1])
  free_slots()
  take_holds(live)
  local given_back = 0

  -- The last reservation of a key goes back as if it had never been; any other leaves its moment to the next.
  local function take_back(part)
    local line, at = part.line, moment_at(part)
    call('ZREM', line.key, part.ahead)
    local stop = digits_of(end_of(line, part))
    if part.open then close_hold(line, part.number, 0) end
    if not part.knows then return false end
    drop_passed(line)
    local low = digits_of(from_now(part.low) + from_now(stop) - from_now(part.stop))
    if states[part.i].digits == stop then
      if from_now(stop) > least_tat(part.i, line) then move_back(part, low) end
      return true
    end
    -- A pause of another key may have kept it waiting beyond its moment here.
    if part.T ~= line.T or part.burst ~= line.burst or at <= 0 then return false end
    add_hole(line, {moment = digits_of(at), stop = stop, low = low, units = part.units, many = 1,
                    number = part.number, lasts = false})
    return true
  end

  for _, part in ipairs(live) do
    if take_back(part) and not part.shadow then given_back = max(given_back, part.units) end
    write_line(part.line)
  end
  for _, part in ipairs(open_windows) do
    write_window(part.i, part.stop, max(states[part.i].used - part.units, 0))
    if not part.shadow then given_back = max(given_back, part.units) end
  end
  return {floor(given_back), time[1], time[2]}
end

local live = moment and live_parts() or {}
local is_there = live[1] or has_slots[1] or has_windows or #parts == 0 and moment
-- By now, ns from then; of one that nothing was charged for as it was granted.
local acts_at = #parts == 0 and moment and max(from_now(moment), 0) or moment_of(live)

if ARGV[1] == 'moment' then
  local is_gone = not is_there or acts_at == 0 and record.held and is_over()
  return {1, time[1], time[2], is_gone and '-1' or int(acts_at)}
end

if ARGV[1] == 'extend' then
  if not is_there or not record.held or is_over() then return {1, time[1], time[2], '0'} end
  local stop = acts_at + min(ARGV[3] + 0.0, record.longest + 0.0)
  local words = digits_of(stop)
  for _, part in ipairs(live) do
    local line = part.line
    part.then_paused = int(moved_to(line, part.number))
    if part.held and call('ZREM', line.key, part.member) == 1 then
      call('ZADD', line.key, int(UNTIL + s * 1e3 + floor((n + stop) / 1e6)),
           format('o%s %d %d %s %s', id, part.number, part.units, words, part.then_paused))
    elseif not part.held then
      keep_unsettled(line, id, part.number, stop)
    end
    local longer = keep_until(line, stop)
    write_line(line)
    if longer then call('PEXPIREAT', line.key, expiry(pair(line.last))) end
  end
  for _, key in ipairs(has_slots) do take_slot(key, id, stop) end
  local text = {format('weir1r %s %s %d 1 %s', moment, words, #parts, record.longest)}
  for i, part in ipairs(parts) do text[1 + i] = string.gsub(part.words, '%d+$', part.then_paused) end
  text[#text + 1] = sub(record.text, record.names, -1)
  call('SET', KEYS[1], table.concat(text, '\n'), 'PXAT', expiry(pair(digits_of(max(stop, 0)))))
  return {1, time[1], time[2], int(stop)}
end

-- settle

if not moment or is_over() then return {0, time[1], time[2]} end
if not ARGV[4] and #parts > 0 then return {is_there and -1 or 0, time[1], time[2]} end
free_slots()
take_holds(live)
for i, part in ipairs(parts) do part.actual = ARGV[3 + i] + 0.0 end
call('DEL', KEYS[1])
local answer = {(has_slots[1] or has_windows) and 1 or 0, time[1], time[2]}

-- All that follow it: nobody has a moment that is kept, and no hole one of its own.
local function moves_up(line)
  if is_paused(line) or has_holes(line) or call('ZCOUNT', line.key, int(WORDS), '+inf') >= MOST_WORDS then return false end
  return not is_anybody_ahead(line) or acts_at <= 0 and from_now(line.told) <= 0
end

-- It cost less than it was charged, and its hold was open.
local function settle_for_less(part)
  local i, line, state = part.i, part.line, states[part.i]
  local stop = part.knows and part.number < MOST_UNITS and end_of(line, part) or 0
  local back = min(max(stop, 0), (part.units - part.actual) * part.T)
  local is_last = state.tat == stop and acts_at <= 0
  if back <= 0 then return close_hold(line, part.number, 0) end
  if is_last then
    close_hold(line, part.number, 0)
    drop_passed(line)
    return move_back(part, digits_of(stop - back))
  end
  if moves_up(line) then
    close_hold(line, part.number, back)
    write_state(i, digits_of(state.tat - back), part.T, state.mark)
    line.tat = states[i].digits
    if is_anybody_ahead(line) then
      line.shift = line.shift - back
      drop_moments(line)
    end
    return
  end
  close_hold(line, part.number, 0)
  local units = floor(back / part.T)
  if units == 0 or part.T ~= line.T or part.burst ~= line.burst then return end
  -- The last of them; the first, where those become one with a hole before them.
  local number, begin = part.number + max(part.units - units, 0), stop - part.units * part.T
  local before = begin >= 0 and hole_at(line, digits_of(begin))
  if before and before.lasts then
    stop, number = begin + units * part.T, part.number
  end
  if is_paused(line) and stop - part.burst * (part.T + 0.0) < from_now(line.pause) then return end
  add_hole(line, {moment = digits_of(stop - part.burst * (part.T + 0.0)), stop = digits_of(stop),
                  low = digits_of(stop - units * part.T), units = units, many = 1, number = number, lasts = true})
end

for _, part in ipairs(live) do
  local i, line = part.i, part.line
  answer[1] = 1
  if part.settles then
    if part.actual < part.units then
      if part.open then settle_for_less(part) end
    else
      if part.open then close_hold(line, part.number, 0) end
      if part.actual > part.units then
        -- More is a debt in the T of what is owed, up to a bound.
        local state = states[i]
        local digits, T, mark = state.digits, state.T, state.mark
        if state.tat == 0 then digits, T, mark = digits_of(0), part.T, '' end
        local bs, bn = pair(digits)
        local as, an = add(bs, bn, times(part.actual - part.units, pair(T)))
        local ms, mn = add(s, n, times(part.burst, pair(part.T)))
        ms, mn = add(ms, mn, pair(ARGV[3]))
        if ms < bs or ms == bs and mn < bn then ms, mn = bs, bn end
        if ms < as or ms == as and mn < an then
          as, an = ms, mn
          part.dropped = max(part.actual - part.units - floor(((as - bs) * 1e9 + an - bn) / T), 0)
        end
        write_state(i, format('%d%09d', as, an), T, mark)
        if mark ~= '' then line.tat = states[i].digits end
      end
    end
    if not part.shadow then
      for _, word in ipairs({part.T, part.burst, states[i].text, int(part.dropped or 0)}) do answer[#answer + 1] = word end
    end
  end
  write_line(line)
end
for _, part in ipairs(open_windows) do
  local used = states[part.i].used
  if part.settles then
    local more = part.actual > part.units and max(used, part.burst + 0.0, 4294967295) or used
    write_window(part.i, part.stop, max(min(used + part.actual - part.units, more), 0))
  end
  if not part.shadow then
    local text = format('weir1f %s %d', part.stop, states[part.i].used)
    for _, word in ipairs({'0', part.burst, text, '0'}) do answer[#answer + 1] = word end
  end
end
return answer
