-- Lua counts in doubles: whole numbers are exact below 2^53, quotients are rounded. Below 2^52 a rounded quotient still
-- lies on the right side of every whole number: next to k = a/b the true quotients nearest to it are 1/b away, and
-- doubles of that size stand no further apart, since k * b < 2^52. So floor and ceil of it are exact. Beyond, by hand.
local EXACT = 4503599627370496

-- floor(a * b / c) and the remainder, where 0 <= a < 2^53 and 0 <= b <= c < 2^53: bit after bit of `a` is shifted in,
-- and the remainder kept below c; nothing on the way reaches 2^53.
local function divide_product(a, b, c)
  local whole, rest, bit = 0, 0, EXACT
  while bit > a do bit = bit / 2 end
  while bit >= 1 do
    whole = whole + whole
    if rest >= c - rest then
      whole, rest = whole + 1, rest - (c - rest)
    else
      rest = rest + rest
    end
    if a >= bit then
      a = a - bit
      if rest >= c - b then
        whole, rest = whole + 1, rest - (c - b)
      else
        rest = rest + b
      end
    end
    bit = bit / 2
  end
  return whole, rest
end

local function floor_product(a, b, c)
  local product = a * b
  if product < EXACT then return math.floor(product / c) end
  return (divide_product(a, b, c))
end

local function ceil_product(a, b, c)
  local product = a * b
  if product < EXACT then return math.ceil(product / c) end
  local whole, rest = divide_product(a, b, c)
  return rest > 0 and whole + 1 or whole
end
