-- reset: forgets the charges of all rules of one key, not its time: what bears that stays, charged 0. Returns 1.

-- The newest window that was charged: its start is the time.
local function counter_forget(key, window)
  local state = redis.call('GET', key)
  if state then
    local index = struct.unpack('>I7', state)
    counter_store(key, index, 0, 0, window, index)
  end
end

-- A member with the newest stamp.
local function series_forget(key, window, width)
  local member = redis.call('ZRANGE', key, '-1', '-1')[1]
  if member then
    local _, stamp = series_unpack(member)
    redis.call('DEL', key)
    redis.call('ZADD', key, math.floor(stamp / width), series_pack(0, stamp, 0))
    redis.call('PEXPIRE', key, life(series_leaves(stamp, window, width)))
  end
end

for i = 1, #KEYS do
  local window, width = tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1])
  if width > 0 then series_forget(KEYS[i], window, width) else counter_forget(KEYS[i], window) end
end
return 1
