-- decide: all rules of one key are looked at, then all recorded, or none. A script has the parts that its rules need:
-- where all are counters, no series_ is there, nor asked for; and the other way round.
--
--     KEYS   one for each rule
--     ARGV   verb (t take, p peek, r reset), now in us or '' for the server's own, and for each rule its limit, the
--            charge, window, and width (0 a counter, 1 a log)
--
-- Returns 1 accepted or 0 refused, rule, remaining, retry (-1 never), release: whole numbers, in us; for a reset 1.
local verb, now = ARGV[1], tonumber(ARGV[2])
local given = now ~= nil
if not given then
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
end

-- How long a key is kept that counts until `ends`, in ms: rounded up, and a second longer, so that no clock that is a
-- little behind finds it gone. Given times have nothing to do with how time passes: there it is an hour.
local function life(ends)
  if given then return 3600000 end
  return math.max(math.ceil((ends - now) / 1000) + 1000, 1)
end

-- of a rule as it stands
local function opens(at, charge)
  if at.width == 0 then return counter_opens(at, charge) end
  return series_opens(at, charge)
end

if verb == 'r' then
  for i, key in ipairs(KEYS) do
    local window, width = tonumber(ARGV[4 * i + 1]), tonumber(ARGV[4 * i + 2])
    if width == 0 then counter_forget(key, life, window) else series_forget(key, life, window, width) end
  end
  return 1
end

local rules, accepted = {}, 1
for i, key in ipairs(KEYS) do
  local width = tonumber(ARGV[4 * i + 2])
  local at = (width == 0 and counter_look or series_look)(key, now, tonumber(ARGV[4 * i - 1]),
    tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1]), width)
  if at.charge > at.left then accepted = 0 end
  rules[i] = at
end

-- Of the rules that refuse, the one that opens last; else the one with least left. The first of several.
local told, retry = 1, 0
if accepted == 0 then
  for i, at in ipairs(rules) do
    if retry >= 0 and at.charge > at.left then
      local wait = at.charge > at.limit and -1 or opens(at, at.charge) - now
      if wait < 0 or wait > retry then told, retry = i, wait end
    end
  end
else
  for i, at in ipairs(rules) do
    if at.left - at.charge < rules[told].left - rules[told].charge then told = i end
  end
  for i, at in ipairs(rules) do
    if verb == 't' and at.charge > 0 then
      if at.width == 0 then counter_record(at, life) else series_record(at, life) end
    end
  end
end

local at = rules[told]
local remaining, release = math.max(at.left, 0), 0
if remaining < at.limit then release = opens(at, remaining + 1) - now end
return {accepted, told - 1, remaining, retry, release}
