-- series: a log, or buckets; a log is buckets of one microsecond. A sorted set, scored by the number of the bucket:
-- stamp / width. A member is
--
--     total stamp           of a charge of 1
--     total stamp charge    else
--
-- in 7 bytes each, the highest first, where `total` is the running sum of all charges up to and with its own: so
-- members are unique, those of one score stand in order, and what counts is the difference of two totals, however many
-- members lie between. Buckets of more than a microsecond have one member each, with the newest stamp. It decides at
-- the later of now and the newest stamp of all. A charge of 0 stands alone: it keeps the time after a reset. What has
-- left the window is removed with the next record.
local TOTAL_MAX = 9007199254740991

local function series_pack(total, stamp, charge)
  if charge == 1 then return struct.pack('>I7I7', total, stamp) end
  return struct.pack('>I7I7I7', total, stamp, charge)
end

-- total, stamp, charge
local function series_unpack(member)
  if #member > 14 then return struct.unpack('>I7I7I7', member) end
  local total, stamp = struct.unpack('>I7I7', member)
  return total, stamp, 1
end

-- When what bears this stamp counts no more.
local function series_leaves(stamp, window, width)
  if width == 1 then return stamp + window end
  return stamp - stamp % width + width + window - 1
end

-- The lowest score that counts.
local function series_from(at)
  return math.floor((at.time - at.window + 1) / at.width)
end

-- Finds the oldest member that counts, if any, and what that leaves. `stale`: 1, one before it counts no more, as
-- mostly where a key is busy; true, several.
local function series_look_back(at)
  local two = redis.call('ZRANGE', at.key, '0', '1')
  local first, stale = two[1], false
  local total, stamp, charge = series_unpack(first)
  if series_leaves(stamp, at.window, at.width) <= at.time then
    first, stale = two[2], 1
    if first then total, stamp, charge = series_unpack(first) end
    if first and series_leaves(stamp, at.window, at.width) <= at.time then
      first, stale = redis.call('ZRANGEBYSCORE', at.key, series_from(at), '+inf', 'LIMIT', '0', '1')[1], true
      if first then total, stamp, charge = series_unpack(first) end
    end
  end
  at.stale = stale
  if first then
    at.first, at.first_total, at.first_member, at.left = stamp, total, first, at.limit - (at.total - total + charge)
  end
end

local function series_look(key, now, limit, charge, window, width)
  local member = redis.call('ZRANGE', key, '-1', '-1')[1]
  local at = {key = key, limit = limit, charge = charge, window = window, width = width, left = limit, time = now,
    total = 0, last = false, last_charge = 0, first = false, first_total = 0, first_member = false, stale = false,
    replaced = false}
  if member then
    local total, last, last_charge = series_unpack(member)
    if last > now then at.time = last end
    at.total, at.last, at.last_charge = total, last, last_charge
    if last_charge == 0 then
      at.replaced = member
    else
      series_look_back(at)
      if width > 1 and at.first and last - last % width == at.time - at.time % width then at.replaced = member end
    end
  end
  return at
end

-- The stamp of the member that brings the total to `target`, which lies between the first and the newest. Each member
-- adds 1 at least, which tells how far it can be: so far exactly, where each adds 1. Ends whatever a key may hold.
local function series_find(at, target)
  local low = at.stale and redis.call('ZRANK', at.key, at.first_member) or 0
  local high = math.min(low + target - at.first_total, redis.call('ZCARD', at.key) - 1)
  local rank, found = high, nil
  repeat
    local total, stamp, charge = series_unpack(redis.call('ZRANGE', at.key, rank, rank)[1])
    if total < target then
      low = rank
    else
      high, found = rank, stamp
      if total - charge < target then break end
    end
    rank = math.floor((low + high) / 2)
  until rank == low
  return found
end

-- When a charge is accepted that is at most the limit, and is not accepted now.
local function series_opens(at, charge)
  local target, stamp = at.total - (at.limit - charge), at.first
  if at.total - at.last_charge < target then
    stamp = at.last
  elseif at.first_total < target then
    stamp = series_find(at, target)
  end
  return series_leaves(stamp, at.window, at.width)
end

-- Is a key kept longer that counts until `ends` than one until `before`? Mostly it is the same second.
local function series_outlives(ends, before)
  return given or math.floor(ends / 1000000) > math.floor(before / 1000000)
end

-- Totals begin again, before they pass what a double counts.
local function series_renumber(at)
  local total, member = 0, false
  local kept = redis.call('ZRANGEBYSCORE', at.key, series_from(at), '+inf')
  redis.call('DEL', at.key)
  for i = 1, #kept do
    local _, stamp, charge = series_unpack(kept[i])
    total = total + charge
    member = series_pack(total, stamp, charge)
    redis.call('ZADD', at.key, math.floor(stamp / at.width), member)
    if i == 1 then at.first_total = total end
  end
  at.total, at.stale, at.last, at.replaced = total, false, false, at.replaced and member
end

local function series_record(at)
  local key, time, charge = at.key, at.time, at.charge
  if at.total + charge > TOTAL_MAX then series_renumber(at) end
  local total, own = at.total + charge, charge
  if at.replaced then own = own + at.last_charge end
  -- First what needs memory: where Redis has none, it refuses that, and nothing was written.
  redis.call('ZADD', key, (time - time % at.width) / at.width, series_pack(total, time, own))
  if at.replaced then redis.call('ZREM', key, at.replaced) end
  if at.stale == 1 then
    redis.call('ZREMRANGEBYRANK', key, '0', '0')
  elseif at.stale then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', series_from(at) - 1)
  end
  -- A key that is there has its time already, and mostly the same.
  local ends = series_leaves(time, at.window, at.width)
  if not at.last or series_outlives(ends, series_leaves(at.last, at.window, at.width)) then
    redis.call('PEXPIRE', key, life(ends))
  end
  if not at.first then at.first, at.first_total = time, total end
  at.total, at.last, at.last_charge, at.left = total, time, own, at.left - charge
end
