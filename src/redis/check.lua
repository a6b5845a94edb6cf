-- Decides one request against one or several limits of it, at one moment, and charges all of them or none. Or
-- one request that came several times, each by itself.
--
--   KEYS    one for each limit
--   ARGV    for each limit four words, all lengths of time being in ns:
--             gcra T full need                 full = burst x T, less what the class keeps free; need = cost x T
--             ALGORITHM cost limit period      for each other algorithm; of a calendar, windows.lua has the period
--             give_back T need at              what gcra has charged at that time, as far as it is still owed
--             cap T full period                gcra's state owes no more than full; a window, or a log, that counts for
--                                              longer than that is forgotten; the second of two keys is its line
--           before the first of the four, in this order:
--             'look '                          nothing of this call is charged
--             'shadow '                        it stops no other, and is charged when it allows and none is stopped
--             'inside k full '                 the full that holds when limit k, an earlier one, is allowed
--             'burst n '                       of gcra, where full is less than the limit's burst
--           for one limit that is asked for n times at this moment, two more: 'times n'
--           and last, only in tests, the time instead of the server's: 's us'
--           nothing goes back to a ledger (ledger.lua), because those who wait or hold count on what was owed before
--           them; of one what is over is cut, as a clock that steps back changes nothing else of it
--           or 'reset' n: the keys are limits to forget, all of this one call; the last n of them are the lines of limits
--           (reserve.lua), and when their breaches are forgotten, which go too and are not counted
--   answer  1 when it was charged, 0 when a limit that is not a shadow's denies, or how many of n, the first ones; the
--           time, s and us; for each limit its state before, or what ledger.lua tells of that
--           of a reset: how many keys had something to forget
--           -1 and the time: a window of the calendar is not the one that runs, and nothing is charged
--
-- A cost of 0 is a look and takes nothing. A cost above the limit is said as limit + 1. A sliding window log is
-- not asked for n times.
--
-- What is under a key is text for a person to read, and begins with a mark: weir, the number of this form, a
-- letter for the algorithm. Times are ns since 1970:
--
--   gcra                    'weir1g tat T'; while anything of it is open or paused, a ledger (ledger.lua)
--   fixed_window, _clock    'weir1f end used'
--   sliding_window_counter  'weir1c end prev cur', the end being that of the window after the one of cur
--   calendar                'weir1d kept id used', `kept` being a while after the end of the window
--   sliding_window_log      a list: 'weir2l gone', then 'at total' for each admission, oldest first: the units that have
--                           been admitted since the list began, and of those the ones that are no longer in it
--
-- Anything else is not ours: WRONGTYPE, and it stays as it is, whatever is asked.
--
-- What lies between `part` and `end` is also take.lua's.
--
-- The rules are those of src/core, and the client makes the decision of the state and the time with those: here is only
-- what it takes to say yes or no. A number in Lua holds 53 bits and a time in ns has 63, so times go as pairs of seconds
-- and nanoseconds, and no number goes through tostring or '..', which keep 14 digits.
--
-- Their Lua is 5.1, and Dragonfly's 5.4, where a whole number is an integer of 64 bits that wraps: what is read from a
-- text is + 0.0, which makes it a double in both; what is answered as a number comes from floor, which makes it whole.
--
-- For Redis 6.2 and later, and Valkey. What is replicated are the writes (SET with its expiry), not the script.

local call = redis.call
local time = #ARGV % 2 == 0 and call('TIME') or {string.match(ARGV[#ARGV], '^(%d+) (%d+)$')}
local s, n = time[1] + 0.0, time[2] * 1000

-- Nearly every call is one limit by gcra whose T has not changed and whose burst takes less than 104 days, 9 x
-- 10^15 ns, to drain. It is decided here, before any function is made, with no table but the answer, and in ns
-- from now. Anything less simple continues below and is decided there from the start.
local kind, floor = ARGV[1], math.floor
if (kind == 'gcra' or string.sub(kind, 1, 6) == 'burst ') and not KEYS[2] then
  local key, T, full, need = KEYS[1], ARGV[2], ARGV[3] + 0.0, ARGV[4] + 0.0
  local text = redis.pcall('GET', key)
  local ts, tn, of = s, n, T
  if text then
    -- An error has a member err, which is not of this form; a text has none. Seconds have ten digits from 2001
    -- to 2286, and to match ten takes 0.4 us where any number of them takes 1.1.
    ts, tn, of = string.match(text.err or text, '^weir1g (%d%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d%d%d%d) (%d+)$')
  end
  if of == T and full + need < 9e15 then
    local ahead = (ts - s) * 1e9 + (tn - n)
    if ahead < 0 then ahead = 0 end
    local count = #ARGV < 6 and 1 or floor(ARGV[6] + 0.0)
    if need == 0 or ahead > full - need then
      return {need == 0 and count or 0, time[1], time[2], text}
    end
    if count > 1 then
      -- Of whole numbers below 2^53 a quotient never rounds up to the next one.
      local most = floor((full - ahead) / need)
      if count > most then count = most end
      need = need * count
    end
    local ns = n + ahead + need
    tn = ns % 1e9
    ts = s + (ns - tn) / 1e9
    local format = string.format
    call('SET', key, format('weir1g %d%09d ', ts, tn) .. T, 'PXAT', format('%d', ts * 1000 + math.ceil(tn / 1e6)))
    return {count, time[1], time[2], text}
  end
end

-- part rules
local floor, format, match, sub = math.floor, string.format, string.match, string.sub

-- include times.lua

-- include debts.lua

-- include windows.lua

-- include ledger.lua

local has_ledger = {gcra = true, give_back = true, cap = true}
-- Text, false, or a ledger.
local function state_at(key)
  local text = read('GET', key)
  if not has_ledger[kind] then return text end
  return ledger_or(text, key)
end
local function full_of(at)
  local T, burst = ARGV[at + 1] + 0.0, match(ARGV[at], 'burst (%d+) ')
  return (burst or floor(ARGV[at + 2] / T)) * T
end
local function write_state(key, state)
  if type(state) == 'table' then return save(state, state.full) end
  -- The first of its times: it has ten digits or more, as nothing before it has.
  call('SET', key, state, 'PXAT', expiry(pair(match(state, '%d%d+'))))
end

-- Each takes the state's text, false, or its ledger, and the place of its words in ARGV, and returns whether the request
-- is allowed and, if it is to be changed, the new one; of a ledger, what there was before. Nothing at all means: this is
-- not ours.
local decide = {}

function decide.gcra(text, at)
  local T = ARGV[at + 1]
  local Ts, Tn = pair(T)
  local full_s, full_n = pair(ARGV[at + 2])
  local need_s, need_n = pair(ARGV[at + 3])
  local burst = divide(full_s, full_n, Ts, Tn)
  local cost = divide(need_s, need_n, Ts, Tn)

  if type(text) == 'table' then
    local full = full_of(at)
    text.full = full_for_pause(text, T + 0.0, full)
    end_all(text, time_in(text), T + 0.0, full)
    if not is_empty(text) then
      return decide_by_ledger(text, T + 0.0, full, ARGV[at + 2] + 0.0, ARGV[at + 3] + 0.0)
    end
    local plain = plain_of(text)
    local allowed, changed = decide.gcra(plain, at)
    if changed then become_plain(text, changed) end
    return allowed, changed and text, plain
  end

  local ts, tn, as, an = s, n, 0, 0
  if text then
    local tat, of = gcra_state(text)
    if not tat or #of > 19 then return nil end
    ts, tn = pair(tat)
    as, an = ahead_of(ts, tn)
    if not as then return nil end
    local of_s, of_n = pair(of)
    if as == 0 and an == 0 then
      ts, tn = s, n
    elseif of_s ~= Ts or of_n ~= Tn then
      -- Whole units are owed, and drain at their own T until a request passes.
      local units, more = divide(as, an, of_s, of_n)
      if not units then return nil end
      if more then units = units + 1 end
      if cost == 0 then return true end
      if units + cost > burst then return false end
      ts, tn = add(s, n, times(units + cost, Ts, Tn))
      return true, with_tat(ts, tn, T)
    end
  end

  if cost == 0 then return true end
  if cost > burst or less(full_s, full_n, add(as, an, need_s, need_n)) then return false end
  ts, tn = add(ts, tn, need_s, need_n)
  return true, with_tat(ts, tn, T)
end

-- What was charged at a time drains first, so at + need - now is still owed of it. That is what goes back, and not
-- more: what has drained meanwhile others have been admitted for. A debt in another T stays as it is.
function decide.give_back(text, at)
  if not text or type(text) == 'table' then return true end
  local tat, of = gcra_state(text)
  if not tat then return nil end
  if of ~= ARGV[at + 1] then return true end
  local ts, tn = pair(tat)
  local debt_s, debt_n = ahead_of(ts, tn)
  local need_s, need_n = pair(ARGV[at + 2])
  local charged_s, charged_n = pair(ARGV[at + 3])
  local back_s, back_n = ahead_of(add(charged_s, charged_n, need_s, need_n))
  if not debt_s or not back_s then return true end
  -- When the clock has stepped back, not more than was charged; and never more than is owed by anybody.
  if less(need_s, need_n, back_s, back_n) then back_s, back_n = need_s, need_n end
  if less(debt_s, debt_n, back_s, back_n) then back_s, back_n = debt_s, debt_n end
  if back_s == 0 and back_n == 0 then return true end
  ts, tn = subtract(ts, tn, back_s, back_n)
  return true, with_tat(ts, tn, of)
end

-- What was charged while this clock was ahead, by those who reserve nothing.
function decide.cap(text, at)
  if not text then return true end
  if type(text) == 'table' then
    local T, full, now = ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0, time_in(text)
    if text.T ~= T or text.front <= now + full then return true end
    text.full, text.front = full_for_pause(text, T, full), now + full
    return true, text
  end
  local most_s, most_n = pair(ARGV[at + 2])
  most_s, most_n = add(s, n, most_s, most_n)
  local ends, used = match(text, '^weir1[cf] (%d+) (%d+)')
  local es, en = pair(ends or '0')
  if sub(text, 1, 9) == 'WRONGTYPE' and match(read('LINDEX', KEYS[1], 0) or '', '^weir[12]l %d+$') then
    ends, used = match(call('LINDEX', KEYS[1], -1), '^(%d+) %d+$'), 0
    if not ends then return nil end
    es, en = pair(ends)
    es, en = add(es, en, pair(ARGV[at + 3]))
  end
  if ends then
    -- A pause says its end. What was reserved from it goes back to no later one.
    if less(most_s, most_n, es, en) and used + 0.0 < PAUSED then call('DEL', KEYS[1], KEYS[2]) end
    return true
  end
  local tat, of = gcra_state(text)
  if not tat then return nil end
  if of ~= ARGV[at + 1] then return true end
  local ts, tn = pair(tat)
  if not less(most_s, most_n, ts, tn) then return true end
  return true, with_tat(most_s, most_n, of)
end

-- The end of the window that now is in, windows being multiples of the period.
local function end_of_window(Ps, Pn)
  return times(divide(s, n, Ps, Pn) + 1, Ps, Pn)
end

local function fixed(text, at)
  local cost, limit = ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0
  local es, en, used, live = 0, 0, 0, false
  if text then
    local end_text, used_text = match(text, '^weir1f (%d+) (%d+)$')
    if not end_text or #used_text > 19 then return nil end
    es, en = pair(end_text)
    if not ahead_of(es, en) then return nil end
    live = less(s, n, es, en)
    if live then used = used_text + 0.0 end
  end
  if cost == 0 then return true end
  if cost > limit - used then return false end
  if not live then
    local Ps, Pn = pair(ARGV[at + 3])
    if kind == 'fixed_window' then
      es, en = add(s, n, Ps, Pn)
    else
      es, en = end_of_window(Ps, Pn)
    end
  end
  return true, format('weir1f %d%09d %d', es, en, used + cost)
end
decide.fixed_window, decide.fixed_window_clock = fixed, fixed

function decide.calendar(text, at)
  local cost, limit = ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0
  local used, state = window_of(text, ARGV[at + 3])
  if not used then return nil end
  if cost == 0 then return true end
  if cost > limit - used then return false end
  return true, state(used + cost)
end

function decide.sliding_window_counter(text, at)
  local cost, limit = ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0
  local Ps, Pn = pair(ARGV[at + 3])
  local es, en, prev, cur
  local left_s, left_n = 0, 0
  if text then
    local end_text, prev_text, cur_text = match(text, '^weir1c (%d+) (%d+) (%d+)$')
    if not end_text then return nil end
    es, en = pair(end_text)
    left_s, left_n = ahead_of(es, en)
    prev, cur = prev_text + 0.0, cur_text + 0.0
    if not left_s or prev > 0xffffffff or cur > 0xffffffff then return nil end
  end
  if left_s == 0 and left_n == 0 then
    es, en = end_of_window(Ps, Pn)
    prev, cur = 0, 0
  elseif less(Ps, Pn, left_s, left_n) then
    es, en = subtract(es, en, Ps, Pn)
    left_s, left_n = subtract(left_s, left_n, Ps, Pn)
    if less(Ps, Pn, left_s, left_n) then left_s, left_n = Ps, Pn end
  else
    prev, cur = cur, 0
  end
  if cost == 0 then return true end
  -- prev x left / P, rounded down, + cur + cost <= limit
  local spare = limit - cost - cur
  if spare < 0 then return false end
  local weighed_s, weighed_n = times(prev, left_s, left_n)
  if not less(weighed_s, weighed_n, times(spare + 1, Ps, Pn)) then return false end
  es, en = add(es, en, Ps, Pn)
  return true, format('weir1c %d%09d %d %d', es, en, prev, cur + cost)
end

-- A log is not one text but a list, in which nothing is read one by one: its times and its totals only grow, so what
-- is looked for lies between two entries that are found by halves. Returns whether the request is allowed; what the
-- client needs for its decision, {used, the newest time, the time of the admission that has to leave first}, or false
-- when nothing counts; and how to charge it. Nothing at all: as above.
local MOST_TOTAL = 9e15
local unpack = table.unpack or unpack

-- One of a former build, 'weir1l used' and then 'at units', or one whose totals have grown too large: written again,
-- from a total of 0, which has to come to `used`. All of it is read, once. Returns the total.
local function renew_log(key, used, units_of, ends_at)
  local entries, total, before, first, chunk = {}, 0, 0, 1, nil
  repeat
    chunk = call('LRANGE', key, first, first + 999)
    for _, each in ipairs(chunk) do
      local at_text, number = match(each, '^(%d+) (%d+)$')
      if not at_text then return nil end
      total, before = total + units_of(number + 0.0, before), number + 0.0
      entries[#entries + 1] = format('%s %d', at_text, total)
    end
    first = first + 1000
  until #chunk < 1000
  if total ~= used then return nil end
  call('DEL', key)
  call('RPUSH', key, 'weir2l 0')
  for i = 1, #entries, 1000 do call('RPUSH', key, unpack(entries, i, math.min(i + 999, #entries))) end
  call('PEXPIREAT', key, ends_at)
  return total
end

local function decide_log(key, at)
  local cost, limit = ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0
  local Ps, Pn = pair(ARGV[at + 3])
  local fits = cost > 0 and cost <= limit
  local last = read('LINDEX', key, -1)
  local function begin()
    return fits or cost == 0, false,
           fits and {cost = cost, gone = 0, total = cost, stale = last, s = s, n = n, Ps = Ps, Pn = Pn}
  end
  if not last then return begin() end
  local newest, total = match(last, '^(%d+) (%d+)$')
  if not newest or #newest > 19 then return nil end
  local form, gone = match(call('LINDEX', key, 0), '^weir([12])l (%d+)$')
  if not form then return nil end
  local ls, ln = pair(newest)
  local ends_s, ends_n = add(ls, ln, Ps, Pn)
  if less(9223372036, 854775807, ls, ln) or not ahead_of(ends_s, ends_n) then return nil end

  -- It is never decided earlier than its newest admission.
  local ds, dn = s, n
  if less(ds, dn, ls, ln) then ds, dn = ls, ln end
  local function has_left(as, an)
    return not less(ds, dn, add(as, an, Ps, Pn))
  end
  if has_left(ls, ln) then return begin() end
  gone, total = gone + 0.0, total + 0.0
  if form == '1' then
    total = renew_log(key, gone, function(units) return units end, expiry(ends_s, ends_n))
    gone = 0
  elseif total + cost > MOST_TOTAL then
    local left = gone
    total = renew_log(key, total - gone, function(its, before) return its - math.max(before, left) end,
                      expiry(ends_s, ends_n))
    gone = 0
  end
  if not total then return nil end

  -- The first entry after `from` for which that holds; nothing where something else lies among them.
  local function first_after(from, holds)
    local low, high, step = from, from + 1, 1
    local function at_index(i)
      local text = call('LINDEX', key, i)
      if not text then return true end
      local at_text, its = match(text, '^(%d+) (%d+)$')
      if not at_text then return nil end
      return holds(at_text, its + 0.0), at_text, its + 0.0
    end
    while true do
      local found = at_index(high)
      if found == nil then return nil end
      if found then break end
      low, high, step = high, high + 2 * step, 2 * step
    end
    while high - low > 1 do
      local middle = floor((low + high) / 2)
      local found = at_index(middle)
      if found == nil then return nil end
      if found then high = middle else low = middle end
    end
    local _, at_text, its = at_index(high)
    return high, at_text, its
  end

  local live = first_after(0, function(at_text) return not has_left(pair(at_text)) end)
  if not live then return nil end
  if live > 1 then gone = match(call('LINDEX', key, live - 1), '(%d+)$') + 0.0 end
  local used = total - gone
  if used < 1 or used > 0xffffffff then return nil end

  local state = {floor(used), newest, newest}
  if cost == 0 or cost > limit then return cost == 0, state end
  if cost <= limit - used then
    return true, state, {cost = cost, gone = gone, total = total + cost, left = live - 1, s = ds, n = dn, Ps = Ps,
                         Pn = Pn, merged = ds == ls and dn == ln}
  end
  local must_leave = gone + used + cost - limit
  local _, leaves = first_after(live - 1, function(_, its) return its >= must_leave end)
  if not leaves then return nil end
  state[3] = leaves
  return false, state
end

local function charge_log(key, log)
  if not log.left then
    if log.stale then call('DEL', key) end
    call('RPUSH', key, 'weir2l 0')
  elseif log.left > 0 then
    call('LTRIM', key, log.left, -1)
    call('LSET', key, 0, format('weir2l %d', log.gone))
  end
  local entry = format('%d%09d %d', log.s, log.n, log.total)
  if log.merged then call('LSET', key, -1, entry) else call('RPUSH', key, entry) end
  call('PEXPIREAT', key, expiry(add(log.s, log.n, log.Ps, log.Pn)))
end

local function no_state(i, kind)
  if outside then return {-1, time[1], time[2]} end
  return redis.error_reply(format('WRONGTYPE key %d of this request holds no state of %s', i, kind))
end

-- end rules

-- Each form that weir has ever had, or will have, is its own to forget. What is not stays, and is told when the
-- others are forgotten.
if ARGV[1] == 'reset' then
  local forgotten, foreign = 0, 0
  for i, key in ipairs(KEYS) do
    local value = i <= #KEYS - ARGV[2] and read('GET', key)
    -- A line, or nothing.
    if not value then call('DEL', key) end
    if value and sub(value, 1, 9) == 'WRONGTYPE' then
      local it = redis.pcall('LINDEX', key, 0)
      -- Of slots, a hold that has one (reserve.lua); of a ledger its head.
      if it.err then it = match(redis.pcall('ZRANGE', key, 0, 0)[1] or '', '^weir%ds .*') end
      local head = not it and redis.pcall('HGET', key, 'h')
      if type(head) == 'string' then it = match(head, '^weir%dh .*') end
      value = it or value
    end
    if value and match(value, '^weir%d%l ') then
      forgotten = forgotten + call('DEL', key)
    elseif value then
      foreign = foreign + 1
    end
  end
  if foreign == 0 then return forgotten end
  return redis.error_reply(format('WRONGTYPE %d of these keys hold something other than a limit', foreign))
end

-- Of one that is denied, by what there was: a ledger of which nothing is left but what it owes is told as a state.
local function retry_in(view)
  local tat = gcra_state(view)
  if not tat then return match(view, '(%d+) %d+$') end
  local ts, tn = pair(tat)
  return format('%d', (ts - s) * 1e9 + (tn - n) + ARGV[4] - ARGV[3])
end

if #ARGV % 4 > 1 then
  local key, count = KEYS[1], floor(ARGV[6] + 0.0)
  kind = match(kind, '%S+$')
  local state, granted, written, before = state_at(key), 0, nil, nil
  while granted < count do
    local allowed, changed, view = decide[kind](state, 1)
    if allowed == nil then return no_state(1, kind) end
    -- The first that is denied says for how long.
    if before == nil then
      before = view or state
    elseif view and not allowed and sub(before, 1, 7) == 'weir1v ' then
      local head, rest = match(before, '^(weir1v %d+ %d+ %d+ %d+ %d+ )%d+( %d+)$')
      before = head .. retry_in(view) .. rest
    end
    if changed then state, written = changed, true end
    if not allowed then break end
    granted = granted + 1
  end
  if written then write_state(key, state) end
  return {granted, time[1], time[2], before}
end

-- part all
local answer = {1, time[1], time[2]}
local allows = {}   -- by the limit's number
local kinds = {}    -- by key, the algorithm that it was asked for by
local after = {}    -- by key, its text or ledger when all limits so far are written down
local logs = {}     -- by key, how to charge it
local at = 1
for i, key in ipairs(KEYS) do
  local word, shadow = ARGV[at], false
  kind = decide[word] and word or match(word, '%S+$')
  if word ~= kind then
    shadow = match(word, 'shadow ')
    if match(word, '^look ') then answer[1] = 0 end
    local guarantee, full = match(word, 'inside (%d+) (%d+) ')
    if guarantee and allows[guarantee + 0.0] then ARGV[at + 2] = full end
  end
  if kinds[key] and (kinds[key] ~= kind or kind == 'sliding_window_log') then
    return redis.error_reply(format('ERR key %d of this request is asked for twice', i))
  end
  kinds[key] = kind
  local allowed, changed
  if kind == 'sliding_window_log' then
    allowed, answer[i + 3], logs[key] = decide_log(key, at)
  else
    local state, view = after[key] or state_at(key), nil
    allowed, changed, view = decide[kind](state, at)
    answer[i + 3] = view or state
    after[key] = changed or after[key]
  end
  if allowed == nil then
    return no_state(i, kind)
  end
  if not allowed and not shadow then answer[1] = 0 end
  allows[i] = allowed
  at = at + 4
  if kind == 'cap' then break end
end

-- end all

-- Nothing has been written so far, and from here on nothing fails: an error has charged nothing.
if answer[1] == 1 then
  -- part charge
  for key, state in pairs(after) do write_state(key, state) end
  for key, log in pairs(logs) do
    if log then charge_log(key, log) end
  end
  -- end charge
end
return answer
