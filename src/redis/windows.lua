-- Windows of the calendar, for scripts that have `s` and `n`, the time, and times.lua, `less` of debts.lua and `match`.
-- Which one runs weir says, in place of a period: 'BEGIN END KEPT ID', times in ns, KEPT that until which the state is
-- kept. It is for the time that weir takes this to be: where that is not in it, `outside` says so, and weir asks again.
local outside
-- The units used of a fixed window's key that is paused so that it is afresh at its end (src/core/fixed_window.hpp).
local PAUSED = 9223372036854774784

-- What the window that runs has used, how its state is written, KEPT and ID of it; nothing for a text that is not ours.
-- One that is later than weir's has begun, and goes on.
local function window_of(text, words)
  local from, to, kept, id = match(words, '^(%d+) (%d+) (%d+) (%d+)$')
  outside = less(s, n, pair(from)) or not less(s, n, pair(to))
  if outside then return nil end
  local used = 0
  if text then
    local its_kept, its_id, its_used = match(text, '^weir1d (%d+) (%d+) (%d+)$')
    if not its_kept or #its_used > 11 then return nil end
    if its_id + 0.0 >= id + 0.0 and less(s, n, pair(its_kept)) then
      if its_id + 0.0 > id + 0.0 then kept, id = its_kept, its_id end
      used = its_used + 0.0
    end
  end
  return used, function(units) return format('weir1d %s %s %d', kept, id, units) end, kept, id
end
