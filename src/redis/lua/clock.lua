-- KEYS   one for each rule
-- ARGV   verb (t take, p peek, r reset); for each rule its limit, the charge, window and width (0 a counter, 1 a log);
--        and where the time is given, that. All times are whole microseconds.
local verb, now = ARGV[1], tonumber(ARGV[4 * #KEYS + 2])
local given = now ~= nil
if not given then
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
end

-- How long, in ms, a key is kept that counts until `ends`: to the end of that second, and a second longer, so that no
-- clock that is a little behind finds it gone. Given times say nothing on how time passes: there it is an hour.
local function life(ends)
  if given then return 3600000 end
  return math.max((math.floor(ends / 1000000) + 2) * 1000 - math.floor(now / 1000), 1)
end
