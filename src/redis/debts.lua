-- Debts of gcra as texts, read and written again, and what is done with pairs of seconds and nanoseconds beyond
-- times.lua: for scripts that have `s` and `n`, the time, and `floor`, `format` and `match`.

local function subtract(as, an, bs, bn)
  if an < bn then return as - bs - 1, an - bn + 1e9 end
  return as - bs, an - bn
end

local function less(as, an, bs, bn)
  return as < bs or as == bs and an < bn
end

-- a / b rounded down, and whether something is left over; nothing for a b of 0 and from 9 x 10^15 on. The first
-- guess is wrong by 4 at the most.
local function divide(as, an, bs, bn)
  local q = floor((as * 1e9 + an) / (bs * 1e9 + bn))
  if not (q <= 9e15 + 4) then return nil end
  while q > 0 and less(as, an, times(q, bs, bn)) do q = q - 1 end
  while not less(as, an, times(q + 1, bs, bn)) do q = q + 1 end
  return q, less(0, 0, subtract(as, an, times(q, bs, bn)))
end

-- How far (as, an) is ahead of now, nothing when that is 2^63 ns or more: no rule makes such a time.
local function ahead_of(as, an)
  if not less(s, n, as, an) then return 0, 0 end
  local ds, dn = subtract(as, an, s, n)
  if less(9223372036, 854775807, ds, dn) then return nil end
  return ds, dn
end

-- A value of another type is read as the error's text, which is not a state. Other errors end the script.
local function read(...)
  local value = redis.pcall(...)
  if not value or not value.err then return value end
  if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err) end
  return value.err
end

-- The tat of a state and its T; nothing for any other text. A former build has marked states that had a line.
local function gcra_state(text)
  local tat, of, mark = match(text, '^weir1g (%d+) (%d+)(.*)$')
  if tat and (mark == '' or match(mark, '^ @[%w_-]+[%d ]*$')) then return tat, of end
end
local function with_tat(ts, tn, T)
  return format('weir1g %d%09d %s', ts, tn, T)
end
