-- Charges what happened outside to each of several limits, at one moment, whether there is room or not: the rules of
-- src/core/overdraft.hpp, in Redis or Valkey. check.lua has what a state is, and why times are pairs.
--
--   KEYS    one for each limit; one that comes twice is charged twice, one charge after the other
--   ARGV    for each limit four words, all lengths of time being in ns:
--             charge T most need             gcra's state owes need more, but no more than most
--             left T used 0                  gcra's state owes no less than used
--             gcra T full need               a guarantee: charged where it has room
--             each of these after 'burst n kept k ', of the limit and its class
--             'free n ' first, of all: where some are over, they are charged and no others; over is what would owe more
--             than the limit with n units beyond its own (src/store/store.hpp, OthersFree)
--             'charge ALGORITHM' cost limit period    of a fixed window; beyond the limit, too, to 2^32 - 1
--             'left ALGORITHM' used limit period      of a calendar, windows.lua has the period
--             'refund ALGORITHM' cost limit period   what was not used after all; of gcra reserve.lua has it
--           and last, only in tests, the time instead of the server's: 's us'
--   answer  1; the time, s and us; for each limit its state before; of one in a ledger what ledger.lua tells of one unit
--           after it, and the units charged
--           -1 and the time: a window of the calendar is not the one that runs, and nothing is charged

local call, floor, format, match, sub = redis.call, math.floor, string.format, string.match, string.sub
local time = #ARGV % 4 == 0 and call('TIME') or {match(ARGV[#ARGV], '^(%d+) (%d+)$')}
local s, n = time[1] + 0.0, time[2] * 1000
local kind, burst, kept, beyond

-- include times.lua

-- include debts.lua

-- include windows.lua

-- include ledger.lua

-- What its denial is told of: one more unit, or all where it is charged if it fits.
local function asked_of(at) return ARGV[at + (match(ARGV[at], 'gcra$') and 3 or 1)] + 0.0 end

-- Of a ledger: `charging` says what is charged of what is owed, in whole units.
local function raise_in(its, at, charging)
  local T, full = ARGV[at + 1] + 0.0, ARGV[at + 1] * (burst + 0.0)
  local time = time_in(its)
  local counted = counted_by(its, time, T, full)
  local need, over = charging(counted, time, T, full)
  if need > 0 then
    becomes(its, counted)
    put_over(its, time, need, full)
    counted = its
  end
  local _, view = view_of(its, counted, time, T, asked_of(at), full, full - kept)
  local free, owed = free_at(counted, time, full, full)
  if beyond then over = over or owed - time > full or free < beyond * T end
  return true, (need > 0 or match(kind, '^left')) and its, over, format('%s %d', view, need / T)
end

-- A denial is told when `need` fits; `charged`: the units that were.
local function look_in(its, at, need, charged)
  local T = ARGV[at + 1] + 0.0
  local words, time = {match(ARGV[at], 'burst (%d+) kept (%d+) ')}, time_in(its)
  local full = T * words[1]
  local _, view = view_of(its, counted_by(its, time, T, full), time, T, need, full, full - words[2])
  return format('%s %d', view, charged)
end

-- `owing` says what is owed then, of what is owed; nothing: it stays, and whether that is because it does not fit. A debt
-- in another T is counted in this one first, in whole units. `charging` says the same of a ledger.
local function raise(text, at, owing, charging)
  local T, as, an = ARGV[at + 1], 0, 0
  if type(text) == 'table' then
    local time = time_in(text)
    end_all(text, time)
    local is_remembered = match(kind, '^left') and not is_idle(text, time)
    end_all(text, time, T + 0.0, T * (burst + 0.0))
    if is_remembered then text.asked = time + ARGV[at + 2] end
    if not is_empty(text) or text.open > 0 then return raise_in(text, at, charging) end
    local plain = plain_of(text)
    local _, changed, over = raise(plain, at, owing)
    if changed then become_plain(text, changed) end
    local view = beyond and look_in(text, at, asked_of(at), changed and ARGV[at + 3] / T or 0) or plain
    return true, (changed or is_remembered) and text, over, view
  end
  if text then
    local tat, of = gcra_state(text)
    if not tat or #of > 19 then return nil end
    as, an = ahead_of(pair(tat))
    if not as then return nil end
    if as > 0 or an > 0 then
      if of ~= T then
        local units, more = divide(as, an, pair(of))
        if not units then return nil end
        as, an = times(more and units + 1 or units, pair(T))
      end
    end
  end
  local bs, bn, over = owing(as, an)
  if beyond and not over then
    local Ts, Tn = pair(T)
    local full_s, full_n = times(burst + 0.0, Ts, Tn)
    over = less(full_s, full_n, add(bs or as, bn or an, times(beyond + 0.0, Ts, Tn)))
  end
  if not bs then return true, nil, over end
  bs, bn = add(s, n, bs, bn)
  return true, with_tat(bs, bn, T), over
end

-- Each takes the state's text, or false, and the place of its words in ARGV. Whether the text is ours, the new one, and
-- with 'free' whether it is over.
local charge = {}

function charge.charge(text, at)
  local most_s, most_n = pair(ARGV[at + 2])
  local need_s, need_n = pair(ARGV[at + 3])
  return raise(text, at, function(as, an)
    if not less(as, an, most_s, most_n) or need_s == 0 and need_n == 0 then return nil end
    as, an = add(as, an, need_s, need_n)
    if less(most_s, most_n, as, an) then return most_s, most_n end
    return as, an
  end, function(its, time, T, full)
    local room = ARGV[at + 2] - (max(owed_at(its, time, full), time) - time)
    return min(ARGV[at + 3] / T, max(floor(room / T), 0)) * T
  end)
end

function charge.left(text, at)
  local used_s, used_n = pair(ARGV[at + 2])
  return raise(text, at, function(as, an)
    if less(as, an, used_s, used_n) then return used_s, used_n end
  end, function(its, time, T, full)
    return max(math.ceil((time + ARGV[at + 2] - max(owed_at(its, time, full), time)) / T), 0) * T
  end)
end

function charge.gcra(text, at)
  local full_s, full_n = pair(ARGV[at + 2])
  local need_s, need_n = pair(ARGV[at + 3])
  return raise(text, at, function(as, an)
    as, an = add(as, an, need_s, need_n)
    if less(full_s, full_n, as, an) then return nil, nil, true end
    if need_s == 0 and need_n == 0 then return nil end
    return as, an
  end, function(its, time, T, full)
    local need = ARGV[at + 3] + 0.0
    if need > free_at(its, time, full, full) then return 0, true end
    return need
  end)
end

local function used_after(used, units, limit)
  if used >= PAUSED then return used end
  if match(kind, '^refund') then return used - math.min(units, used) end
  if not match(kind, '^charge') then return math.max(used, units) end
  return used + math.min(units, math.max(used, limit, 4294967295) - used)
end

local function is_over(used, limit) return beyond and used + beyond > limit end

local function window(text, at)
  local units, limit = ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0
  local Ps, Pn = pair(ARGV[at + 3])
  local es, en, used = 0, 0, 0
  if text then
    local end_text, used_text = match(text, '^weir1f (%d+) (%d+)$')
    if not end_text or #used_text > 19 then return nil end
    es, en = pair(end_text)
    if not ahead_of(es, en) then return nil end
  end
  if less(s, n, es, en) then
    used = match(text, '(%d+)$') + 0.0
  elseif match(kind, 'clock$') then
    es, en = times(divide(s, n, Ps, Pn) + 1, Ps, Pn)
  else
    es, en = add(s, n, Ps, Pn)
  end
  local after = used_after(used, units, limit)
  if after == used then return true, nil, is_over(after, limit) end
  return true, format('weir1f %d%09d %d', es, en, after), is_over(after, limit)
end

for _, word in ipairs({'fixed_window', 'fixed_window_clock'}) do
  charge['charge ' .. word], charge['left ' .. word], charge['refund ' .. word] = window, window, window
end

local function calendar(text, at)
  local used, state = window_of(text, ARGV[at + 3])
  if not used then return nil end
  local limit = ARGV[at + 2] + 0.0
  local after = used_after(used, ARGV[at + 1] + 0.0, limit)
  return true, after ~= used and state(after), is_over(after, limit)
end
charge['charge calendar'], charge['left calendar'], charge['refund calendar'] = calendar, calendar, calendar

local function ask(i, text)
  local at = 4 * i - 3
  beyond, kind = match(ARGV[at], '^free (%d) (.*)$')
  local rest = kind or ARGV[at]
  burst, kept, kind = match(rest, '^burst (%d+) kept (%d+) (.*)$')
  kind = kind or rest
  return charge[kind](text, at)
end

local answer, texts, changed, over, some_over, firsts = {1, time[1], time[2]}, {}, {}, {}, false, {}
local function keep(key, text, i)
  if text then texts[key], changed[key] = text, 4 * i - 3 end
end
for i, key in ipairs(KEYS) do
  -- What a ledger is asked changes it.
  if texts[key] == nil or beyond and type(texts[key]) == 'table' then texts[key] = ledger_or(read('GET', key), key) end
  local is_window = match(ARGV[4 * i - 3], 'window') or match(ARGV[4 * i - 3], 'calendar$')
  if is_window and type(texts[key]) == 'table' then texts[key] = 'WRONGTYPE' end
  local ours, text, its_over, view = ask(i, texts[key])
  if outside then return {-1, time[1], time[2]} end
  if not ours then return redis.error_reply(format('WRONGTYPE key %d of this request holds no state of %s', i, kind)) end
  answer[i + 3], over[i], some_over, firsts[i] = view or texts[key], its_over, some_over or its_over, view
  if not beyond then keep(key, text, i) end
end
if beyond then
  for i, key in ipairs(KEYS) do
    if type(texts[key]) == 'table' and not changed[key] then texts[key] = open_ledger(key) end
    answer[i + 3] = firsts[i] or texts[key]
    if over[i] or not some_over then
      local _, text, _, view = ask(i, texts[key])
      if view then answer[i + 3] = match(view, '^weir1v') and format('%s|%s', firsts[i], view) or view end
      keep(key, text, i)
    elseif firsts[i] and match(firsts[i], '^weir1v') then
      answer[i + 3] = format('%s|%s', firsts[i], look_in(texts[key], 4 * i - 3, ARGV[4 * i - 2] + 0.0, 0))
    elseif changed[key] and type(texts[key]) == 'table' then
      answer[i + 3] = plain_of(texts[key])
    end
  end
end

-- Nothing has been written so far, and from here on nothing fails: an error has charged nothing.
for _, key in ipairs(KEYS) do
  local at, state = changed[key], texts[key]
  changed[key] = nil
  if at and type(state) == 'table' then
    save(state, full_for_pause(state, ARGV[at + 1] + 0.0, ARGV[at + 1] * (match(ARGV[at], 'burst (%d+) ') or 1)))
  elseif at then
    call('SET', key, state, 'PXAT', expiry(pair(match(state, '%d%d+'))))
  end
end
return answer
