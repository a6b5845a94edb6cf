-- Of haproxy.cfg: asks weir, and answers denied requests as weir does. Only what stands here is sent, so that no header
-- of a client comes along but the one that names the user, which is one text even if it came twice.
local URL = "http://127.0.0.1:6399/v1/gate/haproxy"
local TOKEN = os.getenv("GATE_TOKEN")
-- A web page of this origin may read what its denied requests are told (CORS).
local ORIGIN = "https://app.example.com"
local EXPOSED = "RateLimit, RateLimit-Policy, Retry-After"

local function first(headers, name)
  return headers[name] and headers[name][0]
end

local function deny(txn, weir)
  local reply = txn:reply({ status = weir.status, body = weir.body })
  for _, name in ipairs({ "retry-after", "ratelimit-policy", "ratelimit", "cache-control", "content-type", "proxy-status" }) do
    if first(weir.headers, name) then reply:add_header(name, first(weir.headers, name)) end
  end
  if txn.sf:req_fhdr("origin") == ORIGIN then
    reply:add_header("access-control-allow-origin", ORIGIN)
    reply:add_header("access-control-expose-headers", EXPOSED)
  end
  txn:done(reply)
end

core.register_action("weir", { "http-req" }, function(txn)
  local headers = {
    ["x-original-method"] = { txn.sf:method() },
    ["x-original-uri"] = { txn.sf:pathq() },
    ["x-original-host"] = { txn.sf:req_fhdr("host") },
    ["x-real-ip"] = { txn.sf:src() },
  }
  if txn.sf:req_fhdr("x-user-id") ~= "" then
    headers["x-user-id"] = { txn.sf:req_fhdr("x-user-id") }
  end
  if TOKEN then headers["x-gate-token"] = { TOKEN } end
  local weir = core.httpclient():get({ url = URL, headers = headers, timeout = 1000 })
  if not weir or weir.status == 0 or weir.status >= 500 then
    return  -- FAIL MODE: or return txn:done(txn:reply({ status = 503 }))
  end
  if weir.status ~= 200 then return deny(txn, weir) end
  local policy = first(weir.headers, "ratelimit-policy")
  local limit = first(weir.headers, "ratelimit")
  local reservation = first(weir.headers, "weir-reservation")  -- HOLD: of a profile with hold: true
  if reservation then txn.http:req_set_header("weir-reservation", reservation) end
  if policy then txn:set_var("txn.weir_policy", policy) end
  if limit then txn:set_var("txn.weir_limit", limit) end
end)
