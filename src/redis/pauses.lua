-- Pauses and rests, for reserve.lua, whose words they are: nobody acts before their end.
if verb == 'pause' or verb == 'rest' then
  local length, forgets = ARGV[4] + 0.0, ARGV[5] == 'afresh'
  local first = 6
  local function T_of(i) return ARGV[first + 3 * (i - 1)] + 0.0 end
  local function full_of(i) return T_of(i) * ARGV[first + 1 + 3 * (i - 1)] end
  local function mine_of(i) return full_of(i) - ARGV[first + 2 + 3 * (i - 1)] end
  local function is_window(i) return ARGV[first + 3 * (i - 1)] == 'window' end
  for i = 1, count do
    if is_window(i) then
      if not read_window(i) then return no_state(i) end
    else
      if not read_state(i, ARGV[3], T_of(i)) then return no_state(i) end
      end_holds(i)
    end
  end

  -- As core::PenaltyTerms has it: KEYS[1] says when n is 0 again.
  local function breach(growing, most)
    local forgotten = match(call('GET', KEYS[1]) or '', '^weir1n (%d+)$')
    local times_before = min(max(ceil((forgotten and from_now(forgotten) or 0) / most), 0), 1000)
    local digits = digits_of(min(times_before + 1, 1000) * most)
    call('SET', KEYS[1], 'weir1n ' .. digits, 'PXAT', expiry(pair(digits)))
    local factor, power = 1, growing
    while times_before > 0 do
      if times_before % 2 == 1 then factor = factor * power end
      times_before, power = floor(times_before / 2), power * power
    end
    return floor(min(length * factor, most))
  end
  local need = verb == 'rest' and ARGV[9] + 0.0 or nil
  local rests = true
  if verb == 'rest' then
    local its = ledgers[1]
    if is_window(1) then
      local used, most = states[1].used, ARGV[first + 1] + 0.0
      rests = used < PAUSED and need > most - used and need <= most
    else
      local at, full = time_in(its), full_of(1)
      local free = free_at(counted_by(its, at, T_of(1), full), at, full, full)
      rests = its.pause <= now_in(its) and need > free and need <= full
    end
    if rests and ARGV[10] + 0.0 > 1000 then length = breach(ARGV[10] / 1000, ARGV[11] + 0.0) end
  end
  -- The later end stands; what was counted before gives nothing back.
  local function pause_window(i)
    local its = states[i]
    call('DEL', KEYS[2 * i + 1])
    write_window(i, its.used >= PAUSED and its.left > length and its.stop or digits_of(length), PAUSED)
  end
  local function pause_ledger(i)
    local its, T, full, charged = ledgers[i], T_of(i), full_of(i), 0
    if rests and length > 0 then
      local at = time_in(its)
      becomes(its, counted_by(its, at, T, full))
      fold(its, at, full)
      if its.pause ~= NONE and its.pause <= at then keep_pause(its, full) end
      local stop = max(at + length, its.pause)
      local function units_at_end() return max(ceil((owed_at(its, stop, full) - stop) / T), 0) end
      local before = units_at_end()
      if at + length > its.pause then its.forgets = forgets end
      its.forgets = its.forgets and (forgets or at + length < its.pause)
      its.pause = stop
      if at >= its.till then its.from = at end
      if not its.forgets then its.asked = stop + full - T end
      its.till, its.latest, its.changed = stop, max(its.latest, at), true
      charged = max(units_at_end() - before, 0)
    end
    return tell(i, T, full, mine_of(i), need or T) or false, int(charged)
  end
  local answer = {rests and 1 or 0, time[1], time[2]}
  for i = 1, count do
    if is_window(i) then
      if rests and length > 0 then pause_window(i) end
      answer[2 + 2 * i], answer[3 + 2 * i] = states[i].text or false, '0'
    else
      answer[2 + 2 * i], answer[3 + 2 * i] = pause_ledger(i)
    end
  end
  save_changed(function(i) return full_for_pause(ledgers[i], T_of(i), full_of(i)) end)
  if verb == 'rest' then answer[6] = rests and int(length) or '0' end
  return answer
end
