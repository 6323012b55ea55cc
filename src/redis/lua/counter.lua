-- counter: three numbers in one string, 7 bytes each, the highest first: the index of a window, which begins at
-- index * window, what was charged in it, and what in the one before. It decides at the later of now and that start.

-- index, current, previous, and how much of the window is over: at the time of the decision; and the index as stored.
local function counter_look(key, now, window)
  local state = redis.call('GET', key)
  if not state then
    local elapsed = now % window
    return (now - elapsed) / window, 0, 0, elapsed
  end
  local index, current, previous = struct.unpack('>I7I7I7', state)
  local elapsed = now - index * window
  if elapsed < 0 then return index, current, previous, 0, index end
  if elapsed < window then return index, current, previous, elapsed, index end
  elapsed = now % window
  local this = (now - elapsed) / window
  return this, 0, this == index + 1 and current or 0, elapsed, index
end

-- What the limit leaves, below 0 in debt. A difference too large to be exact still has the right sign.
local function counter_left(limit, current, previous, elapsed, window)
  if previous == 0 then return limit - current end
  return limit - current - ceil_product(previous, window - elapsed, window)
end

-- When a charge is accepted that is at most the limit, and is not accepted now. Within a window the previous one wears
-- off; at its end, what counts is what was charged in it.
local function counter_opens(limit, charge, index, current, previous, window)
  local room, start = limit - current - charge, index * window
  if room >= 0 then return start + window - floor_product(window, room, previous) end
  room, start = limit - charge, start + window
  if current <= room then return start end
  return start + window - floor_product(window, room, current)
end

-- `stored`: the index that the key had, if any; with the same one it ends at the same time.
local function counter_store(key, index, current, previous, window, stored)
  local state = struct.pack('>I7I7I7', index, current, previous)
  if index == stored and not given then
    redis.call('SET', key, state, 'KEEPTTL')
  else
    redis.call('SET', key, state, 'PX', life((index + 2) * window))
  end
end
