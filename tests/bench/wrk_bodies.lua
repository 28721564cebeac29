-- For wrk: posts the bodies of the files named behind `--`, in turn, and prints one line of figures at the end.
-- With one file the request is made once, so that wrk itself costs as little as it can.

local requests, turn = {}, 0

local function contents(name)
	local file = assert(io.open(name, "rb"))
	local text = file:read("*a")
	file:close()
	return text
end

local function in_turn()
	turn = turn % #requests + 1
	return requests[turn]
end

function init(names)
	wrk.method = "POST"
	wrk.headers["Content-Type"] = "application/json"
	for i, name in ipairs(names) do
		wrk.body = contents(name)
		requests[i] = wrk.format()
	end
	if #requests > 1 then
		request = in_turn
	end
end

-- Times in microseconds.
function done(summary, latency)
	local errors = summary.errors
	io.write(string.format("figures %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50),
		latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
