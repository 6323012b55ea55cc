-- reset: forgets the charges of all rules of one key, not its time: what bears that stays, charged 0. Returns 1.

-- The newest window that was charged: its start is the time.
local function counter_forget(key, state, window)
  local index = struct.unpack('>I7', state)
  counter_store(key, index, 0, 0, window, index)
end

-- A member with the newest stamp.
local function series_forget(key, member, window, width)
  local _, stamp = series_unpack(member)
  redis.call('DEL', key)
  redis.call('ZADD', key, math.floor(stamp / width), series_pack(0, stamp, 0))
  redis.call('PEXPIRE', key, life(series_leaves(stamp, window, width)))
end

-- All are read before the first is written: where one is of another type, nothing was forgotten.
local found = {}
for i = 1, #KEYS do
  if tonumber(ARGV[4 * i + 1]) > 0 then
    found[i] = redis.call('ZRANGE', KEYS[i], '-1', '-1')[1]
  else
    found[i] = redis.call('GET', KEYS[i])
  end
end
for i = 1, #KEYS do
  local window, width = tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1])
  if found[i] and width > 0 then
    series_forget(KEYS[i], found[i], window, width)
  elseif found[i] then
    counter_forget(KEYS[i], found[i], window)
  end
end
return 1
