-- Times in a script: pairs of seconds and nanoseconds, because a number in Lua holds 53 bits and a time in ns
-- has 63. `sub` and `format` are those of string.

local function pair(digits)
  return (tonumber(sub(digits, 1, -10)) or 0) + 0.0, tonumber(sub(digits, -9)) + 0.0
end

local function add(as, an, bs, bn)
  if an + bn >= 1e9 then return as + bs + 1, an + bn - 1e9 end
  return as + bs, an + bn
end

-- count x (as, an), exact while the product is below 2^64 ns or (count below 2^32) 2^53 s: no part is above
-- 2^53, as count = high x 10^6 + low. Beyond, it is still no smaller than that.
local function times(count, as, an)
  local low = count % 1e6
  local ms = (count - low) / 1e6 * an
  local ms_low = ms % 1000
  local ns = low * an + ms_low * 1e6
  local ns_low = ns % 1e9
  return count * as + (ms - ms_low) / 1000 + (ns - ns_low) / 1e9, ns_low
end

-- The millisecond in which (as, an) has come.
local function expiry(as, an)
  return format('%d', as * 1000 + math.ceil(an / 1e6))
end
