-- Grants one request as many units as all its limits admit at one moment, and charges each of them that many times
-- what one unit costs there; or says how many there are. The rules are those of check.lua, whose parts it has.
--
--   KEYS    one for each limit
--   ARGV    for each limit the four words of check.lua, for the cost of one unit, without 'look '
--           for each limit the units above which more of them are denied all the same
--           'take', or 'look': nothing is charged
--           the least and the most units
--           and last, only in tests, the time instead of the server's: 's us'
--   answer  the units, 0 when a limit that is not a shadow's denies the least; the time, s and us; for each limit its
--           state before, as check.lua answers it for that many units, or for the least
--           -1 and the time: as check.lua
--
-- What admits a number of units admits every smaller one, so the greatest is found by halves.

local call = redis.call
local words, caps = {}, {}
for i = 1, 4 * #KEYS do words[i] = table.remove(ARGV, 1) end
for i = 1, #KEYS do caps[i] = table.remove(ARGV, 1) + 0.0 end
local looks, least, most = ARGV[1] == 'look', ARGV[2] + 0.0, ARGV[3] + 0.0
local time = ARGV[4] and {string.match(ARGV[4], '^(%d+) (%d+)$')} or call('TIME')
local s, n = time[1] + 0.0, time[2] * 1000
local kind

-- part rules of check.lua

-- The answer of check.lua for that many units, and what it would write.
local function ask(units)
  for i = 1, #words do ARGV[i] = words[i] end
  for i = 1, #KEYS do
    local at, count = 4 * i - 3, math.min(units, caps[i])
    if match(words[at], 'gcra$') or match(words[at], 'redis%-cell$') then
      ARGV[at + 3] = format('%d%09d', times(count, pair(words[at + 3])))
    else
      ARGV[at + 1] = format('%d', count * words[at + 1])
    end
  end
  -- part all of check.lua
  return answer, after, logs
end

local answer, after, logs = ask(least)
if answer.err or answer[1] == -1 then return answer end
local units = 0
if answer[1] == 1 then
  local low, high = least, most + 1
  local middle = most
  while high - low > 1 do
    local found, texts, entries = ask(middle)
    if found[1] == 1 then
      low, answer, after, logs = middle, found, texts, entries
    else
      high = middle
    end
    middle = floor((low + high) / 2)
  end
  units = low
end

if units > 0 and not looks then
  -- part charge of check.lua
end
answer[1] = math.floor(units)
return answer
