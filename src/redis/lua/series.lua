-- series: a log, or buckets; a log is buckets of one microsecond. A sorted set, scored by the number of the bucket,
-- time / width. Each member begins with the running total of all charges up to and with its own: so members are unique,
-- those of one score stand in order, and what counts is the difference of two totals, however many lie between.
--
--     log        total             of a charge of 1
--                total charge
--     buckets    total charge stamp         one member a bucket; the newest stamp in it, from its start
--
-- in 7 bytes each, the highest first. It decides at the later of now and the newest stamp. A charge of 0 stands alone:
-- it keeps the time after a reset. What left the window before is removed with the next record.
local TOTAL_MAX = 9007199254740991

local function series_pack(total, charge, width, bucket, stamp)
  if width > 1 then return struct.pack('>I7I7I7', total, charge, stamp - bucket * width) end
  if charge == 1 then return struct.pack('>I7', total) end
  return struct.pack('>I7I7', total, charge)
end

-- total, charge
local function series_unpack(member)
  if #member == 7 then return struct.unpack('>I7', member), 1 end
  return struct.unpack('>I7I7', member)
end

local function series_stamp(member, width, bucket)
  if width == 1 then return bucket end
  return bucket * width + struct.unpack('>I7', member, 15)
end

-- When what is in the bucket counts no more.
local function series_leaves(bucket, width, window)
  return (bucket + 1) * width + window - 1
end

-- The oldest member that counts: its bucket, total, charge and bytes; and whether there are older ones.
local function series_first(key, from)
  local found, stale = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES'), false
  if tonumber(found[2]) < from then
    found, stale = redis.call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1), true
  end
  local total, charge = series_unpack(found[1])
  return tonumber(found[2]), total, charge, found[1], stale
end

local function series_look(key, now, limit, charge, window, width)
  local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  local member, last = newest[1], tonumber(newest[2])
  if not member then
    return {key = key, limit = limit, charge = charge, window = window, width = width, left = limit,
      time = now, bucket = math.floor(now / width), total = 0}
  end
  local time = math.max(now, series_stamp(member, width, last))
  local bucket, from = math.floor(time / width), math.floor((time - window + 1) / width)
  local total, last_charge = series_unpack(member)
  local base, stale, replaced = total, last < from, false
  local first, first_total, first_charge, first_member
  if last_charge == 0 then
    replaced = member
  elseif not stale then
    first, first_total, first_charge, first_member, stale = series_first(key, from)
    base = first_total - first_charge
    replaced = width > 1 and last == bucket and member
  end
  return {key = key, limit = limit, charge = charge, window = window, width = width, left = limit - (total - base),
    time = time, bucket = bucket, total = total, base = base, from = from, stale = stale, replaced = replaced,
    last = last, last_charge = last_charge, first = first, first_total = first_total, first_member = first_member}
end

-- The bucket of the member that brings the total to `target`, which lies between the first and the newest. Each member
-- adds 1 at least, which tells how far it can be: so far exactly, where each adds 1.
local function series_find(at, target)
  local low = at.stale and redis.call('ZRANK', at.key, at.first_member) or 0
  local high = math.min(low + target - at.first_total, redis.call('ZCARD', at.key) - 1)
  local rank = high
  while true do
    local found = redis.call('ZRANGE', at.key, rank, rank, 'WITHSCORES')
    local total, charge = series_unpack(found[1])
    if total < target then
      low = rank
    elseif total - charge < target then
      return tonumber(found[2])
    else
      high = rank
    end
    rank = math.floor((low + high) / 2)
  end
end

-- When a charge is accepted that is at most the limit, and is not accepted now.
local function series_opens(at, charge)
  local target, bucket = at.total - (at.limit - charge), at.first
  if at.total - at.last_charge < target then
    bucket = at.last
  elseif at.first_total < target then
    bucket = series_find(at, target)
  end
  return series_leaves(bucket, at.width, at.window)
end

-- Totals begin again, before they pass what a double counts.
local function series_renumber(at)
  local key, width, total, member = at.key, at.width, 0, false
  local kept = redis.call('ZRANGEBYSCORE', key, at.from, '+inf', 'WITHSCORES')
  redis.call('DEL', key)
  for i = 1, #kept, 2 do
    local bucket = tonumber(kept[i + 1])
    local _, charge = series_unpack(kept[i])
    total = total + charge
    member = series_pack(total, charge, width, bucket, series_stamp(kept[i], width, bucket))
    redis.call('ZADD', key, bucket, member)
    if i == 1 then at.first_total = total end
  end
  at.total, at.stale, at.replaced = total, false, at.replaced and member
end

local function series_record(at, life)
  local key, width, bucket, charge = at.key, at.width, at.bucket, at.charge
  if at.total + charge > TOTAL_MAX then series_renumber(at) end
  local total, own = at.total + charge, charge
  if at.replaced then own = own + at.last_charge end
  -- First what needs memory: where Redis has none, it refuses that, and nothing was written.
  redis.call('ZADD', key, bucket, series_pack(total, own, width, bucket, at.time))
  if at.replaced then redis.call('ZREM', key, at.replaced) end
  if at.stale then redis.call('ZREMRANGEBYSCORE', key, '-inf', at.from - 1) end
  redis.call('PEXPIRE', key, life(series_leaves(bucket, width, at.window)))
  if not at.first or (at.replaced and at.first == bucket) then at.first, at.first_total = bucket, total end
  at.total, at.last, at.last_charge, at.left = total, bucket, own, at.left - charge
end

local function series_forget(key, life, window, width)
  local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  local member, last = newest[1], tonumber(newest[2])
  if not member then return end
  redis.call('DEL', key)
  redis.call('ZADD', key, last, series_pack(0, 0, width, last, series_stamp(member, width, last)))
  redis.call('PEXPIRE', key, life(series_leaves(last, width, window)))
end
