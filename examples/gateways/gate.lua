-- Of haproxy.cfg: asks weir, and leaves its answer in variables. Only what stands here is sent, so that no header of
-- a client comes along but the one that names the user, which is one text even if it came twice.
local function first(headers, name)
  return headers[name] and headers[name][0]
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
  local reply = core.httpclient():get({ url = "http://127.0.0.1:6391/v1/gate/haproxy", headers = headers, timeout = 500 })
  if not reply or reply.status == 0 or reply.status >= 500 then
    return txn:set_var("txn.weir", "down")
  end
  local retry_after = first(reply.headers, "retry-after")
  local policy = first(reply.headers, "ratelimit-policy")
  local limit = first(reply.headers, "ratelimit")
  if retry_after then txn:set_var("txn.weir_retry_after", retry_after) end
  if policy then txn:set_var("txn.weir_policy", policy) end
  if limit then txn:set_var("txn.weir_limit", limit) end
  if reply.status ~= 204 then
    txn:set_var("txn.weir", "denied")
    txn:set_var("txn.weir_body", reply.body)
  end
end)
