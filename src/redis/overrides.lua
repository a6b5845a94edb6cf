-- What operators set, for all servers: one hash, in Redis or Valkey.
--
--   KEYS    the hash. Its fields:
--             oDIGEST   an override, by the digest of its words: 'NUMBER BYTES'
--             cVERSION  the digest whose override that change set or ended; the last 1,000 of them
--             version, number, count, sought
--                       the last change; the last number given away; how many there are, and have to be sought
--   ARGV    number FIRST [SEEN]
--             takes one that no other has, after FIRST where none was taken yet: that is chosen by chance, so that
--             numbers from before the hash was lost do not come again. Where the last is before SEEN the hash is an
--             older copy of itself: a million are left out, for those that nobody here has seen
--           set DIGEST NUMBER BYTES SOUGHT MOST MOST_SOUGHT BY
--             in the place of what has that digest; BY, in us since 1970: not later. SOUGHT is 0 or 1
--           end (DIGEST NUMBER SOUGHT)...
--             those that still have these numbers
--           undo DIGEST NUMBER BYTES SOUGHT
--             a set whose outcome nobody knows: what was there before has its place again, or nothing when that is ''
--           since VERSION
--             what has changed after that
--           page CURSOR
--             some of them
--   answer  a number; the time, s and us; then
--             number: nothing more. set: the number is 1; 0 too late; -1, -2 too many, or to be sought; the version
--             end: how many; the version. undo: 1 or 0
--             since: the version that the changes lead to, and for each its digest and what is there, or '';
--                    -1 when that is not known any longer, and the version that there is
--             page: the last change; the next cursor, then digests and what is there

local call, key, verb = redis.call, KEYS[1], ARGV[1]
local time = call('TIME')
local kept = 1000
local at_once = 200

local function number_of(text) return text and string.match(text, '^%d+') or '0' end

local function get(field) return (call('HGET', key, field) or 0) + 0 end

local function changed(digest)
  local version = call('HINCRBY', key, 'version', 1)
  call('HSET', key, 'c' .. version, digest)
  call('HDEL', key, 'c' .. (version - kept))
  return version
end

local function drop(digest, sought)
  call('HDEL', key, 'o' .. digest)
  call('HINCRBY', key, 'count', -1)
  if sought == '1' then call('HINCRBY', key, 'sought', -1) end
end

local function put(digest, text, sought, fresh)
  call('HSET', key, 'o' .. digest, text)
  if not fresh then return end
  call('HINCRBY', key, 'count', 1)
  if sought == '1' then call('HINCRBY', key, 'sought', 1) end
end

if verb == 'number' then
  local last, seen = call('HGET', key, 'number'), (ARGV[3] or 0) + 0
  if not last then
    call('HSET', key, 'number', ARGV[2])
  elseif last + 0 < seen then
    call('HSET', key, 'number', string.format('%.0f', seen + 1000000))
  end
  return {call('HINCRBY', key, 'number', 1), time[1], time[2]}
end

if verb == 'set' then
  local digest, number, bytes, sought = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
  if time[1] * 1000000 + time[2] > ARGV[8] + 0 then return {0, time[1], time[2], 0} end
  local fresh = not call('HGET', key, 'o' .. digest)
  if fresh and get('count') >= ARGV[6] + 0 then return {-1, time[1], time[2], get('count')} end
  if fresh and sought == '1' and get('sought') >= ARGV[7] + 0 then return {-2, time[1], time[2], get('sought')} end
  put(digest, number .. ' ' .. bytes, sought, fresh)
  return {1, time[1], time[2], changed(digest)}
end

if verb == 'end' then
  local ended = 0
  for i = 2, #ARGV, 3 do
    if number_of(call('HGET', key, 'o' .. ARGV[i])) == ARGV[i + 1] then
      drop(ARGV[i], ARGV[i + 2])
      changed(ARGV[i])
      ended = ended + 1
    end
  end
  return {ended, time[1], time[2], get('version')}
end

if verb == 'undo' then
  local digest = ARGV[2]
  if number_of(call('HGET', key, 'o' .. digest)) ~= ARGV[3] then return {0, time[1], time[2]} end
  if ARGV[4] == '' then
    drop(digest, ARGV[5])
  else
    put(digest, ARGV[4], ARGV[5], false)
  end
  changed(digest)
  return {1, time[1], time[2]}
end

if verb == 'since' then
  local version, from = get('version'), ARGV[2] + 0
  if from > version or from < version - kept or from < 0 then return {-1, time[1], time[2], version} end
  local to = math.min(version, from + at_once)
  local answer = {to, time[1], time[2]}
  for i = from + 1, to do
    local digest = call('HGET', key, 'c' .. i)
    if not digest then return {-1, time[1], time[2], version} end
    answer[#answer + 1] = digest
    answer[#answer + 1] = call('HGET', key, 'o' .. digest) or ''
  end
  return answer
end

local page = call('HSCAN', key, ARGV[2], 'MATCH', 'o*', 'COUNT', 200)
local answer = {get('version'), time[1], time[2], page[1]}
for i = 1, #page[2], 2 do
  answer[#answer + 1] = string.sub(page[2][i], 2)
  answer[#answer + 1] = page[2][i + 1]
end
return answer
