-- alone: a counter that is the only rule, the commonest limiter: what decide.lua does, without what others need.
local key, limit, charge, window = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local index, current, previous, elapsed, stored = counter_look(key, now, window)
local left = counter_left(limit, current, previous, elapsed, window)
local accepted, retry, release = 1, 0, 0
if charge > left then
  accepted = 0
  retry = charge > limit and -1 or counter_opens(limit, charge, index, current, previous, window) - now
elseif verb == 't' and charge > 0 then
  current, left = current + charge, left - charge
  counter_store(key, index, current, previous, window, stored)
end
if left < 0 then left = 0 end
if left < limit then release = counter_opens(limit, left + 1, index, current, previous, window) - now end
return {accepted, 0, left, retry, release}
