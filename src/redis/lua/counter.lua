-- counter: two numbers, in one string "index current previous": what was charged in the window `index`, from
-- index * window on, and in the one before. It decides at the later of now and the start of that window.

local function counter_look(key, now, limit, charge, window)
  local index, current, previous = 0, 0, 0
  local state = redis.call('GET', key)
  if state then
    index, current, previous = string.match(state, '(%d+) (%d+) (%d+)')
    index, current, previous = tonumber(index), tonumber(current), tonumber(previous)
  end
  local elapsed = now - index * window
  if elapsed < 0 then
    elapsed = 0
  elseif elapsed >= window then
    elapsed = now % window
    local this = (now - elapsed) / window
    previous = this == index + 1 and current or 0
    index, current = this, 0
  end
  -- Smaller numbers first: a difference that is not exact has the right sign.
  local left = limit - current
  if previous > 0 then left = left - ceil_product(previous, window - elapsed, window) end
  return {key = key, limit = limit, charge = charge, window = window, width = 0, left = left,
    index = index, current = current, previous = previous}
end

-- When a charge is accepted that is at most the limit, and is not accepted now. Within a window the previous one wears
-- off; at its end, what counts is what was charged in it.
local function counter_opens(at, charge)
  local window, room = at.window, at.limit - at.current - charge
  local start = at.index * window
  if room >= 0 then return start + window - floor_product(window, room, at.previous) end
  room, start = at.limit - charge, start + window
  if at.current <= room then return start end
  return start + window - floor_product(window, room, at.current)
end

local function counter_store(at, life)
  local state = string.format('%.0f %.0f %.0f', at.index, at.current, at.previous)
  redis.call('SET', at.key, state, 'PX', life((at.index + 2) * at.window))
end

local function counter_record(at, life)
  at.current = at.current + at.charge
  at.left = at.left - at.charge
  counter_store(at, life)
end

-- The newest window that was charged is kept as it stands: its start is the key's time.
local function counter_forget(key, life, window)
  local index = string.match(redis.call('GET', key) or '', '%d+')
  if index then counter_store({key = key, window = window, index = index, current = 0, previous = 0}, life) end
end
