-- decide: all rules of one key are looked at, then all recorded, or none. A script has the parts that its rules need:
-- where all are counters, no series_ is there, nor asked for; and the other way round. It returns 1 accepted or 0
-- refused, rule, remaining, retry (-1 never), release: whole numbers, in us.

local function look(key, limit, charge, window, width)
  if width > 0 then return series_look(key, now, limit, charge, window, width) end
  local index, current, previous, elapsed, stored = counter_look(key, now, window)
  return {key = key, limit = limit, charge = charge, window = window, width = 0, index = index, current = current,
    previous = previous, stored = stored, left = counter_left(limit, current, previous, elapsed, window)}
end

-- of a rule as it stands
local function opens(at, charge)
  if at.width > 0 then return series_opens(at, charge) end
  return counter_opens(at.limit, charge, at.index, at.current, at.previous, at.window)
end

local function record(at)
  if at.width > 0 then return series_record(at) end
  at.current, at.left = at.current + at.charge, at.left - at.charge
  counter_store(at.key, at.index, at.current, at.previous, at.window, at.stored)
end

local rules, accepted = {}, 1
for i = 1, #KEYS do
  local at = look(KEYS[i], tonumber(ARGV[4 * i - 2]), tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i]),
    tonumber(ARGV[4 * i + 1]))
  if at.charge > at.left then accepted = 0 end
  rules[i] = at
end

-- Of the rules that refuse, the one that opens last; else the one with least left. The first of several.
local told, retry = 1, 0
if accepted == 0 then
  for i = 1, #rules do
    local at = rules[i]
    if retry >= 0 and at.charge > at.left then
      local wait = at.charge > at.limit and -1 or opens(at, at.charge) - now
      if wait < 0 or wait > retry then told, retry = i, wait end
    end
  end
else
  for i = 2, #rules do
    if rules[i].left - rules[i].charge < rules[told].left - rules[told].charge then told = i end
  end
  for i = 1, #rules do
    if verb == 't' and rules[i].charge > 0 then record(rules[i]) end
  end
end

local at = rules[told]
local remaining, release = math.max(at.left, 0), 0
if remaining < at.limit then release = opens(at, remaining + 1) - now end
return {accepted, told - 1, remaining, retry, release}
