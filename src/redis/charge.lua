-- Charges what happened outside to each of several limits, at one moment, whether there is room or not: the rules of
-- src/core/overdraft.hpp, in Redis or Valkey. check.lua has what a state is, and why times are pairs.
--
--   KEYS    one for each limit, all of them different
--   ARGV    for each limit four words, all lengths of time being in ns:
--             charge T most need             gcra's state owes need more, but no more than most
--             left T used 0                  gcra's state owes no less than used
--             gcra T full need               a guarantee: charged where it has room
--             each of these before ' redis-cell': in redis-cell's format; else after 'burst n ', of the limit
--             'charge ALGORITHM' cost limit period    of a fixed window; beyond the limit, too, to 2^32 - 1
--             'left ALGORITHM' used limit period      of a calendar, windows.lua has the period
--             'refund ALGORITHM' cost limit period   what was not used after all; of gcra reserve.lua has it
--           and last, only in tests, the time instead of the server's: 's us'
--   answer  1; the time, s and us; for each limit its state before
--           -1 and the time: a window of the calendar is not the one that runs, and nothing is charged

local call, floor, format, match, sub = redis.call, math.floor, string.format, string.match, string.sub
local time = #ARGV % 4 == 0 and call('TIME') or {match(ARGV[#ARGV], '^(%d+) (%d+)$')}
local s, n = time[1] + 0, time[2] * 1000
local kind, burst

-- include times.lua

-- include debts.lua

-- include windows.lua

-- `owing` says what is owed then, of what is owed; nothing: it stays. A debt in another T is counted in this one first,
-- in whole units.
local function raise(text, at, owing)
  local T, as, an, mark = ARGV[at + 1], 0, 0, ''
  if text then
    local tat, of, its = tat_of(text)
    if not tat or of and #of > 19 then return nil end
    as, an = ahead_of(pair(tat))
    if not as then return nil end
    if as > 0 or an > 0 then
      if of then
        tat, of, its = by_numbers(tat, of, its, T, burst + 0)
        as, an = ahead_of(pair(tat))
      end
      mark = its
      if of and of ~= T then
        local units, more = divide(as, an, pair(of))
        if not units then return nil end
        as, an = times(more and units + 1 or units, pair(T))
        mark = ''
      end
    end
  end
  as, an = owing(as, an)
  if not as then return true end
  as, an = add(s, n, as, an)
  return true, with_tat(as, an, not match(kind, 'redis%-cell$') and T, mark)
end

-- Each takes the state's text, or false, and the place of its words in ARGV. Whether the text is ours, and the new one.
local charge = {}

function charge.charge(text, at)
  local most_s, most_n = pair(ARGV[at + 2])
  local need_s, need_n = pair(ARGV[at + 3])
  return raise(text, at, function(as, an)
    if not less(as, an, most_s, most_n) or need_s == 0 and need_n == 0 then return nil end
    as, an = add(as, an, need_s, need_n)
    if less(most_s, most_n, as, an) then return most_s, most_n end
    return as, an
  end)
end

function charge.left(text, at)
  local used_s, used_n = pair(ARGV[at + 2])
  return raise(text, at, function(as, an)
    if less(as, an, used_s, used_n) then return used_s, used_n end
  end)
end

function charge.gcra(text, at)
  local full_s, full_n = pair(ARGV[at + 2])
  local need_s, need_n = pair(ARGV[at + 3])
  return raise(text, at, function(as, an)
    as, an = add(as, an, need_s, need_n)
    if need_s == 0 and need_n == 0 or less(full_s, full_n, as, an) then return nil end
    return as, an
  end)
end

for _, word in ipairs({'charge', 'left', 'gcra'}) do charge[word .. ' redis-cell'] = charge[word] end

local function used_after(used, units, limit)
  if match(kind, '^refund') then return used - math.min(units, used) end
  if not match(kind, '^charge') then return math.max(used, units) end
  return used + math.min(units, math.max(used, limit, 4294967295) - used)
end

local function window(text, at)
  local units, limit = ARGV[at + 1] + 0, ARGV[at + 2] + 0
  local Ps, Pn = pair(ARGV[at + 3])
  local es, en, used = 0, 0, 0
  if text then
    local end_text, used_text = match(text, '^weir1f (%d+) (%d+)$')
    if not end_text or #used_text > 19 then return nil end
    es, en = pair(end_text)
    if not ahead_of(es, en) then return nil end
  end
  if less(s, n, es, en) then
    used = match(text, '(%d+)$') + 0
  elseif match(kind, 'clock$') then
    es, en = times(divide(s, n, Ps, Pn) + 1, Ps, Pn)
  else
    es, en = add(s, n, Ps, Pn)
  end
  local after = used_after(used, units, limit)
  if after == used then return true end
  return true, format('weir1f %d%09d %d', es, en, after)
end

for _, word in ipairs({'fixed_window', 'fixed_window_clock'}) do
  charge['charge ' .. word], charge['left ' .. word], charge['refund ' .. word] = window, window, window
end

local function calendar(text, at)
  local used, state = window_of(text, ARGV[at + 3])
  if not used then return nil end
  local after = used_after(used, ARGV[at + 1] + 0, ARGV[at + 2] + 0)
  return true, after ~= used and state(after)
end
charge['charge calendar'], charge['left calendar'], charge['refund calendar'] = calendar, calendar, calendar

local answer, after = {1, time[1], time[2]}, {}
for i, key in ipairs(KEYS) do
  burst, kind = match(ARGV[4 * i - 3], '^burst (%d+) (.*)$')
  kind = kind or ARGV[4 * i - 3]
  local text = read('GET', key)
  local ours, changed = charge[kind](text, 4 * i - 3)
  if outside then return {-1, time[1], time[2]} end
  if not ours then return redis.error_reply(format('WRONGTYPE key %d of this request holds no state of %s', i, kind)) end
  answer[i + 3], after[i] = text, changed or false
end

-- Nothing has been written so far, and from here on nothing fails: an error has charged nothing.
for i, text in ipairs(after) do
  if text then call('SET', KEYS[i], text, 'PXAT', expiry(pair(match(text, '%d%d+')))) end
end
return answer
