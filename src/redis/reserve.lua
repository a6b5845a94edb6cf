-- Charges requests for a later moment, takes such charges back, and charges what they turned out to cost: the
-- rules of src/store/reservations.cpp, in Redis or Valkey. check.lua has what a state is, and why times are pairs.
--
--   KEYS    the reservation's record; then for each limit its state, and its line: what the state cannot tell
--   ARGV    reserve TIME id max_wait hold     and for each limit six words:
--             marks T full need burst more      the first four as in check.lua; '' marks nothing. burst is the
--                                               limit's. more: 'at_most key_size id', of the limit: the units that
--                                               may be held, '' for one that is never settled, 'any' without a
--                                               bound; two numbers for the client, which the record keeps; 'room
--                                               with': what the lowest class may use of full; a bit for each limit
--                                               that all who come to this one have to wait for too
--           cancel TIME
--           settle TIME actual
--           TIME is 's us', in tests; '' the server's. Lengths of time are ns.
--   answer  of reserve: 1 when it was charged, else 0; the time, s and us; how; ns; by; for each limit its state before
--             now      charged, or denied, as a check
--             later    ns: until its moment; denied: how long it is too late
--             hole     the moment of a cancelled one, ns from now
--             held     denied: the units that may be held are, of limit `by`; ns: until they fit, -1 if never
--           of cancel: units; s; us
--           of settle: 1, or 0 when there is none; s; us; for each limit that it settled T, burst, its state now. Or
--             -1; s; us; burst, when `actual` is more than 4 times that
--
-- A record is 'weir1r MOMENT UNTIL COUNT', then a line of words for each limit, then the names of the states, one
-- after the other: limit's id, lengths of key and of name, T, burst, units, the tat at which they have drained, whether
-- it is whole (no part of a hole), settles, is a shadow's, the number of the move before its hold or '-', the epoch
-- of its line, and the state before it or '-'.
--
-- A line is one sorted set. The score says what a member is; each range is searched by time or by number:
--
--   0               'EPOCH T burst holes moves held until tat T'  the numbers that holes were charged by; how many
--                   holes and moves there have ever been; units held; the last time that anything in it matters; and
--                   the state as its last change left it
--   1 ... 10^11     'number end by tat'     a move: so long (by) of what ended there (end) has gone back, and what was
--                                           charged after it has moved up; of no use once that tat is past
--   10^12 ...       'o' id units until      what may still be settled; the score is the ms of until
--   10^15 ...       'm' id                  a moment that somebody has; the score is its us, rounded up
--   -10^16 + us     'moment number units end whole before'    a hole
--
-- The state alone says what is owed; plain checks never look at a line. A state that owes less than its line knows
-- (it was evicted, or a failover has lost it) is not the one that was charged: the line and its ids die.

local call, format, match, sub = redis.call, string.format, string.match, string.sub
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local time = ARGV[2] == '' and call('TIME') or {match(ARGV[2], '^(%d+) (%d+)$')}
local s, n = time[1] + 0, time[2] * 1000
local now_us = s * 1e6 + time[2]

-- Most reservations are of one limit and can act now, as a check: decided as in check.lua, before any function is made.
if ARGV[1] == 'reserve' and not KEYS[4] and ARGV[5] == '0' and ARGV[6] == '' then
  local T, full, need = ARGV[7], ARGV[8] + 0, ARGV[9] + 0
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

local HOLES = 1e16
local MOST = 1024  -- holes, and moves, of a key

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
  local state = {text = text, tat = 0}
  if text then
    local tat, T = match(text, '^weir1g (%d+) (%d+)$')
    if not tat or #T > 19 then return false end
    state.digits, state.T, state.tat = tat, T, max(from_now(tat), 0)
    if state.tat >= 9223372036854775807 or state.tat > 0 and T + 0 == 0 then return false end
  end
  states[i] = state
  return true
end

local function write_state(i, digits, T)
  local text = format('weir1g %s %s', digits, T)
  call('SET', KEYS[2 * i], text, 'PXAT', expiry(pair(digits)))
  states[i] = {text = text, digits = digits, T = T, tat = max(from_now(digits), 0)}
end

local function read_line(i)
  local key, state = KEYS[2 * i + 1], states[i]
  local text = call('ZRANGEBYSCORE', key, 0, 0)[1]
  if not text then return nil end
  local epoch, T, burst, holes, moves, held, last, tat, of =
    match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  local owed = from_now(tat)
  if owed > 0 and state.tat < owed and (not state.text or state.T == of) then
    call('DEL', key)
    return nil
  end
  lines[i] = {key = key, text = text, epoch = epoch, T = T, burst = burst, holes = holes + 0, moves = moves + 0,
              held = held + 0, last = last, tat = tat, of = of}
  return lines[i]
end

-- As the last change has left the state.
local function note_state(line, state)
  line.tat, line.of = state.digits or '0', state.T or '0'
end

local function write_line(line)
  local text = format('%s %s %s %d %d %d %s %s %s', line.epoch, line.T, line.burst, line.holes, line.moves,
                      line.held, line.last, line.tat, line.of)
  if text == line.text then return end
  call('ZADD', line.key, 0, text)
  if line.text then call('ZREM', line.key, line.text) end
  line.text = text
end

-- A hole belongs to the numbers that it was charged by.
local function count_by(line, T, burst)
  if line.T == T and line.burst == burst then return end
  call('ZREMRANGEBYSCORE', line.key, '-inf', '(0')
  line.T, line.burst = T, burst
end

local function is_anybody_ahead(line)
  return call('ZRANGEBYSCORE', line.key, '(' .. int(now_us), '+inf', 'LIMIT', 0, 1)[1]
end
local function holes_of(line, from, to)
  return call('ZRANGEBYSCORE', line.key, '(' .. int(us_of(from) - HOLES), to and int(us_of(to) - HOLES) or '(0')
end

local function read_hole(member)
  local moment, number, units, stop, whole, before = match(member, '^(%d+) (%d+) (%d+) (%d+) (%d) (.*)$')
  return {member = member, moment = moment, number = number, units = units + 0, stop = stop, whole = whole == '1',
          before = before}
end
local function add_hole(line, hole)
  call('ZADD', line.key, int(us_of(from_now(hole.moment)) - HOLES),
       format('%s %010d %d %s %d %s', hole.moment, hole.number, hole.units, hole.stop, hole.whole and 1 or 0,
              hole.before))
end

-- The first ones that have ended; all of them where they are counted.
local function end_holds(line, all)
  repeat
    local ended = 0
    for _, member in ipairs(call('ZRANGEBYSCORE', line.key, '1000000000000', int(floor(now_us / 1e3)), 'LIMIT', 0, 64)) do
      local units, stop = match(member, ' (%d+) (%d+)$')
      if from_now(stop) <= 0 then
        ended = ended + call('ZREM', line.key, member)
        line.held = line.held - units
      end
    end
  until not all or ended == 0
end

-- How long until `units` more fit beside those that are held; below 0: they never do.
local function until_hold_fits(line, units, at_most)
  if at_most == 'any' then return 0 end
  at_most = at_most + 0
  if units > at_most then return -1 end
  if not line then return 0 end
  end_holds(line, true)
  local held = min(line.held, at_most)
  if held + units <= at_most then return 0 end
  local open = {}
  for i, member in ipairs(call('ZRANGEBYSCORE', line.key, '1000000000000', '10000000000000', 'LIMIT', 0, MOST)) do
    local its, stop = match(member, ' (%d+) (%d+)$')
    open[i] = {units = its, stop = from_now(stop)}
  end
  table.sort(open, function(a, b) return a.stop < b.stop end)
  local last = 0
  for _, each in ipairs(open) do
    held, last = max(held - each.units, 0), each.stop
    if held + units <= at_most then break end
  end
  return last
end

if ARGV[1] == 'reserve' then
  local id, most, hold = ARGV[3], ARGV[4] + 0, ARGV[5] + 0
  local looks, befores = true, {}
  for i = 1, count do
    local at = 5 + 6 * (i - 1)
    local marks = ARGV[at + 1]
    local T, full, need = ARGV[at + 2], ARGV[at + 3] + 0, ARGV[at + 4] + 0
    local guarantee, inside = match(marks, 'inside (%d+) (%d+) ')
    local name, key_size, limit, lowest, with = match(ARGV[at + 6], '^(%S*) (%d+) (%d+) (%d+) (%d+)$')
    limits[i] = {T = T, interval = T + 0, full = full, need = need, units = need / T, burst = ARGV[at + 5],
                 whole = ARGV[at + 5] * T, at_most = name, key_size = key_size, id = limit,
                 lowest = lowest + 0, with = with + 0,
                 shadow = match(marks, 'shadow ') ~= nil, guarantee = guarantee and guarantee + 0,
                 inside = inside and inside + 0}
    looks = looks and need == 0
    if not read_state(i) then return no_state(i) end
    befores[i] = states[i].text
  end

  local function answer(granted, how, ns, by)
    local all = {granted, time[1], time[2], how, int(ns), by or 0}
    for i = 1, count do all[6 + i] = befores[i] end
    return all
  end

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
      local units, of = floor(full / its.interval), state.T + 0
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
      if its.allows and its.need > 0 then
        local digits = digits_of(its.next)
        parts[#parts + 1] = {i = i, stop = digits, whole = true, before = before.text or '-'}
        write_state(i, digits, its.T)
        if lines[i] then note_state(lines[i], states[i]) end
      end
    end
  end

  local function keep(moment)
    local digits, last = digits_of(moment), digits_of(moment + hold)
    local words, names = {format('weir1r %s %s %d', digits, last, #parts)}, {}
    for _, part in ipairs(parts) do
      local i = part.i
      local its, line = limits[i], lines[i]
      if not line then
        line = {key = KEYS[2 * i + 1], epoch = id, T = its.T, burst = its.burst, holes = 0, moves = 0, held = 0,
                last = '0'}
        note_state(line, states[i])
        lines[i] = line
      end
      call('ZREMRANGEBYSCORE', line.key, '1000000000000000', int(now_us))
      if moment > 0 then call('ZADD', line.key, int(us_of(moment)), 'm' .. id) end
      local move = '-'
      if hold > 0 and its.at_most ~= '' and not its.shadow then
        end_holds(line, false)
        call('ZADD', line.key, int(s * 1e3 + floor((n + moment + hold) / 1e6)), format('o%s %d %s', id, its.units, last))
        line.held, move = line.held + its.units, int(line.moves)
      end
      local longer = from_now(line.last) < moment + hold
      if longer then line.last = last end
      write_line(line)
      if longer then call('PEXPIREAT', line.key, expiry(pair(last))) end
      words[#words + 1] = format('%s %s %d %s %s %d %s %d %d %d %s %s %s', its.id, its.key_size, #KEYS[2 * i], its.T,
        its.burst, its.units, part.stop, part.whole and 1 or 0, its.at_most ~= '' and 1 or 0, its.shadow and 1 or 0,
        move, line.epoch, part.before)
      names[#names + 1] = KEYS[2 * i]
    end
    call('SET', KEYS[1], table.concat(words, '\n') .. '\n' .. table.concat(names), 'PXAT', expiry(pair(last)))
  end

  local all, retry, awaited = decide_all(0)
  if hold == 0 or looks then
    if all then charge() end
    if all or not retry or most == 0 then
      return answer(all and 1 or 0, 'now', 0)
    end
  end

  for i = 1, count do
    local line = read_line(i)
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
      if its.at_most ~= '' and not its.shadow then
        local ns = until_hold_fits(lines[i], its.units, its.at_most)
        if ns ~= 0 and longest >= 0 and (ns < 0 or ns > longest) then longest, by = ns, i - 1 end
      end
    end
    if longest ~= 0 then
      write_lines()
      return answer(0, 'held', longest, by)
    end
  end

  -- The moment of one that was cancelled, unless its own would be earlier.
  local first, line = limits[1], lines[1]
  if count == 1 and line and not first.shadow and not first.guarantee and first.full == first.whole and not all and retry then
    local latest = min(retry, most)
    for _, member in ipairs(holes_of(line, 0, latest)) do
      local hole = read_hole(member)
      local moment = from_now(hole.moment)
      if moment <= latest and hole.units >= first.units then
        call('ZREM', line.key, member)
        local rest = hole.units - first.units
        local part = {i = 1, stop = hole.stop, whole = hole.whole and rest == 0, before = hole.before}
        if rest > 0 then
          part.stop = digits_of(from_now(hole.stop) - rest * first.interval)
          hole.units, hole.whole, hole.before = rest, false, '-'
          add_hole(line, hole)
        end
        parts[1] = part
        keep(moment)
        return answer(1, 'hole', moment)
      end
    end
  end

  local moment, late = 0, 0
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
    local function lift(i)
      local its = limits[i]
      if its.need > 0 and states[i].tat < moment and floor(its.with / 2 ^ (awaited - 1)) % 2 == 0 then
        late = max(late, moment - max(its.lowest - its.need, 0))
      end
    end
    for i = 1, count do
      local its = limits[i]
      if not its.shadow then
        lift(i)
        if its.guarantee and limits[its.guarantee].allows then lift(its.guarantee) end
      end
    end
  end
  if not all or late > 0 then
    write_lines()
    return answer(0, 'later', late)
  end
  charge()
  if moment > 0 or hold > 0 then keep(moment) end
  write_lines()
  return answer(1, 'later', moment)
end

-- The two others begin with the record.

local record = call('GET', KEYS[1])
local moment, last, parts_count = match(record or '', '^weir1r (%d+) (%d+) (%d+)\n')
local parts = {}
if moment then
  local at = string.find(record, '\n', 1, true) + 1
  for i = 1, parts_count do
    local stop = string.find(record, '\n', at, true)
    local part = {}
    part.T, part.burst, part.units, part.stop, part.whole, part.settles, part.shadow, part.move, part.epoch, part.before =
      match(sub(record, at, stop - 1), '^%d+ %d+ %d+ (%d+) (%d+) (%d+) (%d+) (%d) (%d) (%d) (%S+) (%S+) (.*)$')
    part.i, part.units, part.whole = i, part.units + 0, part.whole == '1'
    part.settles, part.shadow = part.settles == '1', part.shadow == '1'
    parts[i], at = part, stop + 1
  end
end

-- What of it is still there; the others have died.
local function live_parts()
  local id = match(KEYS[1], '[%w_-]+$')
  local live = {}
  for i, part in ipairs(parts) do
    local line = read_state(i) and read_line(i)
    if line and line.epoch == part.epoch then
      live[#live + 1], part.line = part, line
      if part.move ~= '-' and call('ZREM', line.key, format('o%s %d %s', id, part.units, last)) == 1 then
        line.held = line.held - part.units
      end
    end
  end
  return live, id
end

if ARGV[1] == 'cancel' then
  if not moment or from_now(moment) <= 0 then return {0, time[1], time[2]} end
  call('DEL', KEYS[1])
  local given_back = 0
  local live, id = live_parts()

  local function restore(i, text)
    local digits, T = match(text, '^weir1g (%d+) (%d+)$')
    if digits and from_now(digits) > 0 then
      write_state(i, digits, T)
    else
      call('DEL', KEYS[2 * i])
      states[i] = {text = false, tat = 0}
    end
  end
  -- The last reservation of a key goes back as if it had never been; any other leaves its moment to the next.
  local function take_back(part)
    local i, line = part.i, part.line
    if part.whole and states[i].text == format('weir1g %s %s', part.stop, part.T) then
      restore(i, part.before)
      -- The one before it may have been cancelled earlier, and is now the last.
      local by_stop
      while states[i].digits and states[i].T == line.T do
        if not by_stop then
          by_stop = {}
          for _, member in ipairs(holes_of(line, 0)) do
            local hole = read_hole(member)
            if hole.whole then by_stop[hole.stop] = hole end
          end
        end
        local hole = by_stop[states[i].digits]
        if not hole then break end
        call('ZREM', line.key, hole.member)
        restore(i, hole.before)
      end
      note_state(line, states[i])
      return true
    end
    call('ZREMRANGEBYSCORE', line.key, '-inf', int(now_us - HOLES))
    if call('ZCOUNT', line.key, '-inf', '(0') >= MOST or part.T ~= line.T or part.burst ~= line.burst then
      return false
    end
    line.holes = line.holes + 1
    add_hole(line, {moment = moment, number = line.holes, units = part.units, stop = part.stop, whole = part.whole,
                    before = part.before})
    return true
  end

  for _, part in ipairs(live) do
    if take_back(part) and not part.shadow then given_back = max(given_back, part.units) end
    call('ZREM', part.line.key, 'm' .. id)
    write_line(part.line)
  end
  return {given_back, time[1], time[2]}
end

-- settle

if not moment or from_now(last) <= 0 then return {0, time[1], time[2]} end
local actual = ARGV[3] + 0
for _, part in ipairs(parts) do
  if part.settles and actual > 4 * part.burst then return {-1, time[1], time[2], part.burst} end
end
call('DEL', KEYS[1])
local answer = {0, time[1], time[2]}

-- Where its own units end, after what has gone back of others meanwhile; ns from now.
local function end_of(part)
  local stop = from_now(part.stop)
  for _, move in ipairs(call('ZRANGEBYSCORE', part.line.key, '(' .. part.move, '100000000000')) do
    local of, by = match(move, '^%d+ (%d+) (%d+) ')
    if stop > from_now(of) then stop = stop - by end
  end
  return stop
end

for _, part in ipairs(live_parts()) do
  local i, line = part.i, part.line
  answer[1] = 1
  if part.settles then
    local state = states[i]
    if actual > part.units then
      -- More is a debt in the T of what is owed.
      local digits, T = state.digits, state.T
      if state.tat == 0 then digits, T = digits_of(0), part.T end
      local as, an = pair(digits)
      as, an = add(as, an, times(actual - part.units, pair(T)))
      if as > s + 9e9 then as = s + 9e9 end
      write_state(i, format('%d%09d', as, an), T)
    elseif part.move ~= '-' and not is_anybody_ahead(line) and not holes_of(line, 0)[1] then
      for _, member in ipairs(call('ZRANGEBYSCORE', line.key, 1, '100000000000', 'LIMIT', 0, 8)) do
        if from_now(match(member, '(%d+)$')) <= 0 then call('ZREM', line.key, member) end
      end
      local stop = end_of(part)
      local back = min(max(stop, 0), (part.units - actual) * part.T)
      if back > 0 and call('ZCOUNT', line.key, 1, '100000000000') < MOST then
        line.moves = line.moves + 1
        call('ZADD', line.key, int(line.moves), format('%d %s %d %s', line.moves, digits_of(stop), back, state.digits or '0'))
        if state.tat > 0 and state.T == part.T then
          write_state(i, digits_of(state.tat - min(back, state.tat)), part.T)
        end
      end
    end
    note_state(line, states[i])
    if not part.shadow then
      for _, word in ipairs({part.T, part.burst, states[i].text}) do answer[#answer + 1] = word end
    end
  end
  write_line(line)
end
return answer
