-- series: a log, or buckets; a log is buckets of one microsecond. A sorted set, scored by the number of the bucket:
-- stamp / width. A member is
--
--     total stamp           of a charge of 1
--     total stamp charge    else
--
-- in 7 bytes each, the highest first, where `total` is the running sum of all charges up to and with its own: so members
-- are unique, those of one score stand in order, and what counts is the difference of two totals, however many members
-- lie between. Buckets of more than a microsecond have one member each, with the newest stamp. It decides at the later
-- of now and the newest stamp of all. A charge of 0 stands alone: it keeps the time after a reset. What has left the
-- window is removed with the next record.
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

-- The oldest member that still counts at `time`, where the newest does; and whether there are older ones.
local function series_first(key, time, window, width)
  local oldest = redis.call('ZRANGE', key, 0, 1)
  local total, stamp, charge = series_unpack(oldest[1])
  if series_leaves(stamp, window, width) > time then return oldest[1], total, stamp, charge, false end
  total, stamp, charge = series_unpack(oldest[2])
  if series_leaves(stamp, window, width) > time then return oldest[2], total, stamp, charge, true end
  local from = math.floor((time - window + 1) / width)
  local first = redis.call('ZRANGEBYSCORE', key, from, '+inf', 'LIMIT', 0, 1)[1]
  total, stamp, charge = series_unpack(first)
  return first, total, stamp, charge, true
end

local function series_look(key, now, limit, charge, window, width)
  local member = redis.call('ZRANGE', key, -1, -1)[1]
  if not member then
    return {key = key, limit = limit, charge = charge, window = window, width = width, left = limit, time = now,
      total = 0}
  end
  local total, last, last_charge = series_unpack(member)
  local time = now > last and now or last
  local at = {key = key, limit = limit, charge = charge, window = window, width = width, left = limit, time = time,
    total = total, last = last, last_charge = last_charge, first = false, first_total = 0, first_member = false,
    stale = false, replaced = false}
  if last_charge == 0 then
    at.replaced = member
  elseif series_leaves(last, window, width) <= time then
    at.stale = true
  else
    local first_charge
    at.first_member, at.first_total, at.first, first_charge, at.stale = series_first(key, time, window, width)
    at.left = limit - (total - (at.first_total - first_charge))
    if width > 1 and last - last % width == time - time % width then at.replaced = member end
  end
  return at
end

-- The stamp of the member that brings the total to `target`, which lies between the first and the newest. Each member
-- adds 1 at least, which tells how far it can be: so far exactly, where each adds 1.
local function series_find(at, target)
  local low = at.stale and redis.call('ZRANK', at.key, at.first_member) or 0
  local high = math.min(low + target - at.first_total, redis.call('ZCARD', at.key) - 1)
  local rank = high
  while true do
    local total, stamp, charge = series_unpack(redis.call('ZRANGE', at.key, rank, rank)[1])
    if total < target then
      low = rank
    elseif total - charge < target then
      return stamp
    else
      high = rank
    end
    rank = math.floor((low + high) / 2)
  end
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

-- The lowest score that counts.
local function series_from(at)
  return math.floor((at.time - at.window + 1) / at.width)
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
  local total, own, ends = at.total + charge, charge, series_leaves(time, at.window, at.width)
  if at.replaced then own = own + at.last_charge end
  -- First what needs memory: where Redis has none, it refuses that, and nothing was written.
  redis.call('ZADD', key, (time - time % at.width) / at.width, series_pack(total, time, own))
  if at.replaced then redis.call('ZREM', key, at.replaced) end
  if at.stale then redis.call('ZREMRANGEBYSCORE', key, '-inf', series_from(at) - 1) end
  -- A key that is there has its time already, and mostly the same.
  if given or not at.last or life(series_leaves(at.last, at.window, at.width)) ~= life(ends) then
    redis.call('PEXPIRE', key, life(ends))
  end
  if not at.first then at.first, at.first_total = time, total end
  at.total, at.last, at.last_charge, at.left = total, time, own, at.left - charge
end

local function series_forget(key, window, width)
  local member = redis.call('ZRANGE', key, -1, -1)[1]
  if not member then return end
  local _, stamp = series_unpack(member)
  redis.call('DEL', key)
  redis.call('ZADD', key, math.floor(stamp / width), series_pack(0, stamp, 0))
  redis.call('PEXPIRE', key, life(series_leaves(stamp, window, width)))
end
