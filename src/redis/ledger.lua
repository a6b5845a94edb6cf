-- The ledger of a key, for scripts that have `s` and `n`, the time, times.lua, `call`, `floor`, `format`, `match` and
-- `sub`: the rules of src/store/ledger.hpp and key_ledger.hpp, which say what it is.
--
-- While anything of a key is open or paused, a hash lies in place of its state:
--
--   h        'weir1h EPOCH ID T front pause latest asked from till last due gone seqs open held nodes root height', or
--            'weir2h' and the same where the pause is afresh, which one that does not know that must not count; 'weir3h'
--            and 'weir4h' where EPOCH is 'EPOCH+N': the second that its times count from, and how many seconds the clock
--            has stepped back, by which lines and records name moments still; whose it is, and as numbers what src/store
--            has of it, '-' for no time;
--            `due` and `last`: before that none that is open is over, and then all; `gone`: then nothing of it matters;
--            `held`: the units that may be settled; which node is the root, and how many levels there are; then six
--            numbers for each plan (reserve.lua): its moment and its number in the ledger, until when it stands, since
--            when its asker has waited, its ns, and of `held` its units
--   a number a node of a tree, doubles: of a leaf MOMENT SEQ S A OPEN of each member; of others NODE MOMENT SEQ S A P Q of
--            each child, the first two of its last member's
--
-- Times are ns from the epoch, which a number in Lua counts to the ns for 104 days; so the epoch follows the time.

local max, min, NONE, EVER = math.max, math.min, -math.huge, math.huge
local MOST = 16  -- members of a node
local LEAF, INNER = 5, 7
local MOST_STEPS = 128  -- of a search
local DAY = 86400e9
local OF_PLAN = {'moment', 'seq', 'stop', 'since', 'need', 'held'}  -- the first, third and fourth are times
-- Of the head, after T; the first are times.
local NUMBERS = {'front', 'pause', 'latest', 'asked', 'from', 'till', 'last', 'due', 'gone', 'seqs', 'open', 'held', 'ids',
                 'root', 'height'}
local TIMES = 9
local unpack = table.unpack or unpack

local function new_ledger(key, id, T, front)
  return {key = key, id = id, E = s, named = s, T = T, front = front, pause = NONE, forgets = false, seqs = 0, latest = NONE,
          asked = NONE, from = NONE, till = NONE, last = NONE, due = NONE, gone = NONE, open = 0, held = 0, ids = 0, root = 0, height = 0,
          nodes = {}, dirty = {}, renews = true, plans = {}}
end
local function now_in(its) return (s - its.E) * 1e9 + n end
local function digits_from(E, ns)
  local tn = ns % 1e9
  return format('%d%09d', E + (ns - tn) / 1e9, tn)
end
local function digits_in(its, ns) return digits_from(its.E, ns) end
-- A moment as lines and records name it.
local function name_of(its, moment) return digits_from(its.named, moment) end
local function moment_of(its, name)
  local ts, tn = pair(name)
  return (ts - its.named) * 1e9 + tn
end

local function node_of(its, id)
  local node = its.nodes[id]
  if not node then
    local text = call('HGET', its.key, format('%d', id))
    node = {struct.unpack(string.rep('d', #text / 8), text)}
    node[#node] = nil
    its.nodes[id] = node
  end
  return node
end
local function new_node(its, node)
  its.ids = its.ids + 1
  its.nodes[its.ids], its.dirty[its.ids] = node, true
  return its.ids
end
local function forget_node(its, id)
  its.nodes[id], its.dirty[id] = nil, false
end
local function cut(node, at, width)
  for i = at, #node do node[i] = node[i + width] end
end
local function widen(node, at, width)
  for i = #node, at, -1 do node[i + width] = node[i] end
end
local function clear_tree(its)
  its.nodes, its.dirty, its.height, its.ids, its.renews = {}, {}, 0, 0, true
end

-- What each makes of what is owed, x: max(x + S, A); and how late that makes the latest: max(x + P, Q).
local function map_of(node, i, width)
  if width == INNER then return node[i + 3], node[i + 4], node[i + 5], node[i + 6] end
  local S, A = node[i + 2], node[i + 3]
  if node[i + 4] == 0 then return S, A, NONE, NONE end
  if S == 0 then return 0, NONE, NONE, NONE end
  return S, A, S - node[i], S
end
local function together(S, A, P, Q, s2, a2, p2, q2)
  return S + s2, max(A + s2, a2), max(P, p2 + S), max(Q, A + p2, q2)
end
local function describe(into, at, id, node, width)
  local S, A, P, Q = 0, NONE, NONE, NONE
  for i = 1, #node, width do S, A, P, Q = together(S, A, P, Q, map_of(node, i, width)) end
  local last = width == LEAF and #node - LEAF + 1 or #node - INNER + 2
  into[at], into[at + 1], into[at + 2] = id, node[last], node[last + 1]
  into[at + 3], into[at + 4], into[at + 5], into[at + 6] = S, A, P, Q
end

-- The map of those that act after `low` and up to `high`.
local function range(its, low, high)
  local S, A, P, Q = 0, NONE, NONE, NONE
  local function walk(id, level, from)
    local node, width = node_of(its, id), level == 1 and LEAF or INNER
    for i = 1, #node, width do
      if from > high then return end
      local last = node[level == 1 and i or i + 1]
      if last > low then
        if last <= high and (level == 1 or from > low or low == NONE) then
          S, A, P, Q = together(S, A, P, Q, map_of(node, i, width))
        elseif level > 1 then
          walk(node[i], level - 1, from)
        end
      end
      from = last
    end
  end
  if its.height > 0 then walk(its.root, its.height, NONE) end
  return S, A, P, Q
end
local function last_of(its)
  if its.height == 0 then return NONE end
  local root = its.nodes[its.root] or node_of(its, its.root)
  return root[its.height == 1 and #root - LEAF + 1 or #root - INNER + 2]
end
local function first_leaf(its)
  local id = its.root
  for _ = 2, its.height do id = node_of(its, id)[1] end
  return node_of(its, id)
end

-- Two that are over, and between which no pause ends.
local function join(its, leaf, i)
  local j = i + LEAF
  if i < 1 or j > #leaf or leaf[i + 4] == 1 or leaf[j + 4] == 1 then return end
  if (leaf[i] < its.pause) ~= (leaf[j] < its.pause) then return end
  leaf[i + 2], leaf[i + 3] = leaf[i + 2] + leaf[j + 2], max(leaf[i + 3] + leaf[j + 2], leaf[j + 3])
  cut(leaf, j, LEAF)
end

-- Lets edit(leaf, i) change the leaf in which a member is, or would be, i being the first that is not before it, and
-- mends what knows of it.
local function edit_leaf(its, moment, seq, edit)
  if its.height == 0 then its.root, its.height = new_node(its, {}), 1 end
  local path, id = {}, its.root
  for level = its.height, 2, -1 do
    local node, i = node_of(its, id), 1
    while i + INNER <= #node and (node[i + 1] < moment or node[i + 1] == moment and node[i + 2] < seq) do i = i + INNER end
    path[level] = {id = id, node = node, i = i}
    id = node[i]
  end
  local node, width, level, i = node_of(its, id), LEAF, 1, 1
  while i <= #node and (node[i] < moment or node[i] == moment and node[i + 1] < seq) do i = i + LEAF end
  local found = edit(node, i)

  -- With one beside it, where both are small.
  local function merge(up)
    local left = up.i > 1 and up.i - INNER or up.i
    if #up.node == INNER or #node > MOST * width / 4 then return end
    local first, second = node_of(its, up.node[left]), node_of(its, up.node[left + INNER])
    if #first + #second > 3 * MOST * width / 4 then return end
    local border = #first
    for j = 1, #second do first[border + j] = second[j] end
    if level == 1 then join(its, first, border - LEAF + 1) end
    forget_node(its, up.node[left + INNER])
    cut(up.node, left + INNER, INNER)
    node, id, up.i = first, up.node[left], left
  end
  while true do
    local up, two = path[level + 1], nil
    if up and #node > 0 then merge(up) end
    its.dirty[id] = true
    if #node > MOST * width then
      two = {}
      local half = floor(#node / width / 2) * width
      for j = half + 1, #node do two[j - half] = node[j] end
      for j = #node, half + 1, -1 do node[j] = nil end
    end
    if not up then
      if two then
        local top = {}
        describe(top, 1, id, node, width)
        describe(top, 1 + INNER, new_node(its, two), two, width)
        its.root, its.height = new_node(its, top), its.height + 1
      elseif #node == 0 then
        forget_node(its, id)
        its.height = 0
      elseif width == INNER and #node == INNER then
        forget_node(its, id)
        its.root, its.height = node[1], its.height - 1
      end
      return found
    end
    if #node == 0 then
      forget_node(its, id)
      cut(up.node, up.i, INNER)
    else
      describe(up.node, up.i, id, node, width)
      if two then
        widen(up.node, up.i + INNER, INNER)
        describe(up.node, up.i + INNER, new_node(its, two), two, width)
      end
    end
    id, node, width, level = up.id, up.node, INNER, level + 1
  end
end

local function insert(its, moment, seq, need)
  edit_leaf(its, moment, seq, function(leaf, i)
    widen(leaf, i, LEAF)
    leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3], leaf[i + 4] = moment, seq, need, moment + need, 1
  end)
end
local function keep_over(its, moment, seq, S, A)
  edit_leaf(its, moment, seq, function(leaf, i)
    widen(leaf, i, LEAF)
    leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3], leaf[i + 4] = moment, seq, S, A, 0
    join(its, leaf, i)
    join(its, leaf, i - LEAF)
  end)
end
local function put(its, moment, need)
  its.seqs = its.seqs + 1
  insert(its, moment, its.seqs, need)
  return its.seqs
end
-- It cost that, and nothing can change it any more; without `need` what it has cost. False: it is not there.
local function close(its, moment, seq, need)
  return its.height > 0 and edit_leaf(its, moment, seq, function(leaf, i)
    if leaf[i] ~= moment or leaf[i + 1] ~= seq or leaf[i + 4] ~= 1 then return false end
    need = need or leaf[i + 2]
    leaf[i + 2], leaf[i + 3], leaf[i + 4] = need, moment + need, 0
    if need == 0 then
      cut(leaf, i, LEAF)
    else
      join(its, leaf, i)
    end
    join(its, leaf, i - LEAF)
    return true
  end)
end
-- What it has cost changes, and may again.
local function change(its, moment, seq, need)
  return its.height > 0 and edit_leaf(its, moment, seq, function(leaf, i)
    if leaf[i] ~= moment or leaf[i + 1] ~= seq or leaf[i + 4] ~= 1 then return false end
    leaf[i + 2], leaf[i + 3] = need, moment + need
    return true
  end)
end

-- `full`: burst x T of those who ask; `mine`: without what their class leaves to others. By another T than the ledger's
-- a pause that has ended stays, as recounted() counts it, and full_for_pause() makes it ask for as much.
local function full_for_pause(its, T, full) return full - T + its.T end
local function owed_at_end(its, x, full) return its.forgets and its.pause or max(x, its.pause + full - its.T) end
local function end_pause(its, full)
  its.front, its.pause, its.forgets = owed_at_end(its, its.front, full), NONE, false
end
-- All that acts before the end of a pause that is afresh; what is open of that can no longer be changed.
local function forget(its)
  while its.height > 0 do
    local leaf = first_leaf(its)
    if leaf[1] >= its.pause then break end
    edit_leaf(its, leaf[1], leaf[2], function(first) cut(first, 1, LEAF) end)
  end
  its.asked = NONE
  end_pause(its, 0)
end
-- Another begins. Where something before it is open, it stays in its place: in the front it would ask, beyond what it
-- does, for all that has acted before it.
local function keep_pause(its, full)
  local moment, tat = its.pause, its.pause + full - its.T
  its.pause = NONE
  keep_over(its, moment, 0, 0, tat)
end
-- Without `full` no pause ends.
local function fold(its, at, full)
  while its.height > 0 do
    local leaf = first_leaf(its)
    if leaf[5] == 1 then break end
    if leaf[1] >= its.pause and its.pause ~= NONE then
      if not full then return end
      end_pause(its, full)
    end
    its.front = max(its.front + leaf[3], leaf[4])
    edit_leaf(its, leaf[1], leaf[2], function(first) cut(first, 1, LEAF) end)
  end
  if full and its.pause <= at and (its.height == 0 or first_leaf(its)[1] >= its.pause) then end_pause(its, full) end
end
local function owed_by_grants(its, at)
  local forgotten = its.forgets and at >= its.pause
  local S, A = range(its, forgotten and its.pause - 1 or NONE, at)
  return max((forgotten and its.pause or its.front) + S, A)
end
local function owed_at(its, at, full)
  if at < its.pause or its.pause == NONE then return owed_by_grants(its, at) end
  local S, A = range(its, its.pause - 1, at)
  return max(owed_at_end(its, owed_by_grants(its, its.pause - 1), full) + S, A)
end
-- The ns that may be charged at that moment, so that nobody later is late; what is owed then; and the map of those later.
local function free_at(its, at, full, mine)
  local x = max(owed_at(its, at, full), at)
  local S, A, P, Q = range(its, at, EVER)
  if at < its.pause or Q > full then return 0, x, S, A end
  return max(min(at + mine - x, full - P - x), 0), x, S, A
end
-- The moment of the last who comes late where x is owed after `at`.
local function late_from(its, at, x, full)
  local function walk(id, level, from, x)
    local node, width = node_of(its, id), level == 1 and LEAF or INNER
    local late, entering, found
    for i = 1, #node, width do
      local last = node[level == 1 and i or i + 1]
      if last > at and (level == 1 or from > at) then
        local S, A, P, Q = map_of(node, i, width)
        if max(x + P, Q) > full then late, entering, found = i, x, last end
        x = max(x + S, A)
      elseif last > at then
        x, found = walk(node[i], level - 1, from, x)
      end
      from = last
    end
    if late and level > 1 then
      local _, moment = walk(node[late], level - 1, EVER, entering)
      found = moment
    end
    return x, found
  end
  if last_of(its) <= at then return nil end
  local _, found = walk(its.root, its.height, NONE, x)
  return found
end
-- When those in line have acted, who need all from `from` to `stop` of what nobody else is told.
local function end_of_line(its, from, stop)
  local all = max(stop - from, 0)
  from = max(from, its.pause)
  stop = from + all
  for _ = 1, MOST_STEPS do
    local later = from + all + range(its, from, stop)
    if later == stop then return stop end
    stop = later
  end
  return max(stop, last_of(its))
end
-- The first moment from `at` on at which it fits, need being at most `mine`; after those in line have acted, at `line`,
-- who then owe that much.
local function earliest(its, at, need, full, mine, line)
  if need == 0 then return at end
  local function owed(moment)
    if not line then return owed_at(its, moment, full) end
    local S, A = range(its, line, moment)
    return max(max(owed_at(its, line, full), line + mine) + S, A)
  end
  at = max(at, its.pause, line or at)
  for _ = 1, MOST_STEPS do
    local x = owed(at)
    local later = late_from(its, at, max(x, at) + need, full) or max(at, x + need - mine)
    if later == at then return at end
    at = later
  end
  at = max(at, last_of(its))
  return max(at, owed(EVER) + need - mine)
end

-- By another T: what is owed now, in whole units, and those that act later.
local function recounted(its, at, T, full)
  local function counted(ns) return ns > 0 and (floor((ns - 1) / its.T) + 1) * T or 0 end
  local other = new_ledger(its.key, its.id, T, at + counted(owed_by_grants(its, at) - at))
  for _, name in ipairs({'E', 'named', 'seqs', 'latest', 'asked', 'from', 'till', 'last', 'due', 'gone', 'open', 'held', 'plans'}) do
    other[name] = its[name]
  end
  if its.pause > at then
    other.pause, other.forgets = its.pause, its.forgets
  elseif its.pause ~= NONE and not its.forgets then
    local since = range(its, its.pause - 1, at)
    other.front = max(other.front, its.pause + full - T + counted(since))
  end
  local function walk(id, level)
    local node = node_of(its, id)
    for i = 1, #node, level == 1 and LEAF or INNER do
      if level > 1 then
        if node[i + 1] > at then walk(node[i], level - 1) end
      elseif node[i] > at and node[i + 4] == 1 then
        insert(other, node[i], node[i + 1], node[i + 2] / its.T * T)
      end
    end
  end
  if last_of(its) > at then walk(its.root, its.height) end
  return other
end
local function counted_by(its, at, T, full) return its.T == T and its or recounted(its, at, T, full) end
-- Its tree and its numbers from now on.
local function becomes(its, other)
  if its == other then return end
  for _, plan in ipairs(its.plans) do plan.need = plan.need / its.T * other.T end
  for name, value in pairs(other) do its[name] = value end
  its.renews = true
end

-- One that nothing can change; `at` is now.
local function put_over(its, at, need, full)
  fold(its, at, full)
  its.latest = max(its.latest, at)
  if its.height == 0 or at < first_leaf(its)[1] then
    its.front = max(its.front, at) + need
    return
  end
  its.seqs = its.seqs + 1
  keep_over(its, at, its.seqs, need, at + need)
end
local function is_empty(its) return its.height == 0 and its.pause == NONE end
local function time_in(its) return max(now_in(its), its.latest) end

-- When a request fits by another T: until then what is owed drains as it was counted.
local function first_under(its, at, T, need, full, mine)
  local left = (mine - need) / T * its.T
  for _ = 1, 8 do
    local first = earliest(recounted(its, at, T, full), at, need, full, mine)
    if first == at then return at end
    local drained = owed_by_grants(its, at) - left
    at = drained > at and not (its.forgets and at < its.pause) and drained or first
  end
  return max(at + full, owed_by_grants(its, EVER))
end

-- What a client makes a decision of, in ns from now: T; what is free; what is owed, and max(that + S, A) after all; until
-- `need` fits; and what is owed after all where nothing is counted by other numbers.
local function view_of(its, other, at, T, need, full, mine)
  if other ~= its then mine = floor(mine / T) * T end
  local free, x, S, A = free_at(other, at, full, mine)
  local retry, now = 0, now_in(its)
  if need > free and need <= mine then
    retry = (its == other and earliest(its, at, need, full, mine) or first_under(its, at, T, need, full, mine)) - now
  end
  local rest = max(owed_at(its, EVER, full_for_pause(its, T, full)) - now, 0)
  return free, format('weir1v %d %d %d %d %d %d %d', T, free, x - now, S, max(A - now, 0), retry, rest)
end

-- Of a key that is in none.
local function ledger_of_state(key, id, T, tat)
  local its = new_ledger(key, id, T, 0)
  if tat then
    local ts, tn = pair(tat)
    its.front = (ts - s) * 1e9 + tn
  else
    its.front = n
  end
  return its
end
local function plain_of(its) return format('weir1g %s %d', digits_in(its, its.front), its.T) end

-- The epoch is the day.
local function follow_time(its)
  local days = floor((s - its.E) / 86400)
  if days < 1 then return end
  local by = days * DAY
  local function walk(id, level)
    local node = node_of(its, id)
    its.dirty[id] = true
    for i = 1, #node, level == 1 and LEAF or INNER do
      if level == 1 then
        node[i], node[i + 3] = node[i] - by, node[i + 3] - by
      else
        walk(node[i], level - 1)
        node[i + 1], node[i + 4], node[i + 5] = node[i + 1] - by, node[i + 4] - by, node[i + 5] + by
      end
    end
  end
  if its.height > 0 then walk(its.root, its.height) end
  for i = 1, TIMES do its[NUMBERS[i]] = its[NUMBERS[i]] - by end
  for _, plan in ipairs(its.plans) do
    plan.moment, plan.stop, plan.since = plan.moment - by, plan.stop - by, plan.since - by
  end
  its.E, its.named = its.E + days * 86400, its.named + days * 86400
end

local function become_plain(its, text)
  local tat, T = match(text, '^weir1g (%d+) (%d+)$')
  local ts, tn = pair(tat)
  its.front, its.T = (ts - its.E) * 1e9 + tn, T + 0.0
end

-- It has charged nothing.
local function take_plan(its, i)
  local plan = table.remove(its.plans, i)
  close(its, plan.moment, plan.seq, 0)
  its.held, its.changed = its.held - plan.held, true
  return plan
end

local function begin_of(its)
  local kind = (its.forgets and 2 or 1) + (its.named > its.E and 2 or 0)
  return format(kind > 2 and 'weir%dh %d+%d' or 'weir%dh %d', kind, its.E, its.named - its.E)
end
-- Once the clock has stepped back nothing else knows that a told moment has come, for a minute.
local function known_until(its) return its.named > its.E and its.last + 60e9 or NONE end
-- Nothing: something else lies there, or one that is gone, which it then says.
local function open_ledger(key)
  local head = redis.pcall('HGET', key, 'h')
  if type(head) ~= 'string' or not match(head, '^weir[1-4]h ') then return nil end
  local words = {}
  for word in string.gmatch(sub(head, 8), '%S+') do words[#words + 1] = word end
  local its = new_ledger(key, words[2], words[3] + 0.0, 0)
  local E, ahead = match(words[1], '^(%d+)%+?(%d*)$')
  its.E, its.named = E + 0.0, E + (tonumber(ahead) or 0)
  its.renews, its.is_stored, its.forgets = false, true, sub(head, 5, 5) % 2 == 0
  for i, name in ipairs(NUMBERS) do its[name] = words[3 + i] == '-' and NONE or words[3 + i] + 0.0 end
  for i = 3 + #NUMBERS, #words - 1, #OF_PLAN do
    local plan = {}
    for j, name in ipairs(OF_PLAN) do plan[name] = words[i + j] + 0.0 end
    its.plans[#its.plans + 1] = plan
  end
  -- A clock that has stepped back goes on from where it was.
  local back = floor((its.latest - now_in(its)) / 1e9)
  if back > 0 then
    its.E = its.E - back
    call('HSET', key, 'h', begin_of(its) .. sub(head, 8 + #words[1]))
  end
  follow_time(its)
  if max(its.gone, known_until(its)) <= now_in(its) then return nil, true end
  -- Those whose server asks no longer.
  for i = #its.plans, 1, -1 do
    if its.plans[i].stop <= now_in(its) then take_plan(its, i) end
  end
  if its.forgets and its.pause <= time_in(its) then forget(its) end
  return its
end
-- Of a key's text, where it may have a ledger.
local function ledger_or(text, key)
  if not text or sub(text, 1, 9) ~= 'WRONGTYPE' then return text end
  local its, gone = open_ledger(key)
  return its or not gone and text
end
-- Once all that are open are over it is one number, by the numbers of a T and `full`.
local function end_all(its, at, T, full)
  full = its.T == T and full or nil
  if its.last > at then return fold(its, at, full) end
  its.open, its.held, its.plans = 0, 0, {}
  if its.height == 0 then return fold(its, at, full) end
  local stays = not full and its.pause <= at and its.pause or NONE
  local to = stays ~= NONE and stays - 1 or its.forgets and its.pause - 1 or EVER
  local front = (stays ~= NONE or at < its.pause) and owed_by_grants(its, to)
  local S, A = range(its, stays == NONE and EVER or stays - 1, EVER)
  its.front = front or owed_at(its, EVER, full)
  clear_tree(its)
  if stays == NONE then
    if its.pause <= at then its.pause = NONE end
  elseif A > NONE then
    keep_over(its, stays, 1, S, A)
  end
end

-- Nothing of it matters but what it owes.
local function is_idle(its, at)
  return is_empty(its) and its.open == 0 and max(its.asked, known_until(its)) <= at and its.latest <= now_in(its)
end
-- It takes the place of the key's state, or a plain state its place. One in which only something is over is gone when it
-- was: nobody counted it.
local function save(its, full)
  local now = now_in(its)
  if is_idle(its, now) then
    its.is_stored = false
    if its.front <= now then return call('DEL', its.key) end
    return call('SET', its.key, plain_of(its), 'PXAT', expiry(pair(digits_in(its, its.front))))
  end
  if its.changed ~= 'over' then its.gone = max(owed_at(its, EVER, full), its.last, known_until(its), its.asked, its.pause, now + 1) end
  local function word(number) return number == NONE and '-' or format('%d', number) end
  local head = {begin_of(its), its.id, word(its.T)}
  for _, name in ipairs(NUMBERS) do head[#head + 1] = word(its[name]) end
  for _, plan in ipairs(its.plans) do
    for _, name in ipairs(OF_PLAN) do head[#head + 1] = word(plan[name]) end
  end
  local words = {'h', table.concat(head, ' ')}
  if its.renews then call('DEL', its.key) end
  for id, is_node in pairs(its.dirty) do
    local node = its.nodes[id]
    if is_node then
      words[#words + 1] = word(id)
      words[#words + 1] = struct.pack(string.rep('d', #node), unpack(node))
    elseif not its.renews then
      call('HDEL', its.key, word(id))
    end
    if #words > 500 then
      call('HSET', its.key, unpack(words))
      words = {}
    end
  end
  if #words > 0 then call('HSET', its.key, unpack(words)) end
  its.dirty, its.renews, its.is_stored = {}, false, true
  call('PEXPIREAT', its.key, expiry(pair(digits_in(its, its.gone))))
end

-- As check.lua decides it, numbers instead of pairs: whether it is allowed, the ledger where it changes, and what there
-- was before.
local function decide_by_ledger(its, T, full, mine, need)
  local at = time_in(its)
  local other = counted_by(its, at, T, full)
  local free, view = view_of(its, other, at, T, need, full, mine)
  if need == 0 then return true, nil, view end
  if need > free then return false, nil, view end
  becomes(its, other)
  put_over(its, at, need, full)
  return true, its, view
end
