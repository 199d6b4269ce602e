-- What wrk sends: load.py says it in the environment. Row i is read with token i.
local method, path, body = os.getenv("METHOD"), os.getenv("TARGET"), os.getenv("BODY")
local first, last = tonumber(os.getenv("FIRST")), tonumber(os.getenv("LAST"))
local with_token = os.getenv("WITH_TOKEN") ~= ""
math.randomseed(tonumber(os.getenv("SEED")))

function request()
  local row = math.random(first, last)
  local headers = {}
  if with_token then headers["Authorization"] = string.format("%064d", row) end
  if body then headers["Content-Type"] = "application/json" end
  return wrk.format(method, (string.gsub(path, "{id}", row)), headers, body)
end
