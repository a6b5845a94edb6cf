// Of nginx_njs.conf: asks weir, and answers denied requests as weir does.
const COPIED = ['RateLimit-Policy', 'RateLimit', 'Retry-After', 'Cache-Control', 'Content-Type'];

async function handle(r) {
  const reply = await r.subrequest('/_weir', {method: 'GET'});
  // Nobody could decide: requests pass. To deny them: return r.return(503).
  if (reply.status >= 500) {
    return r.internalRedirect('@allowed');
  }
  if (reply.status === 204) {
    r.variables.limit_policy = reply.headersOut['RateLimit-Policy'] || '';
    r.variables.limit = reply.headersOut['RateLimit'] || '';
    return r.internalRedirect('@allowed');
  }
  COPIED.forEach(name => {
    if (reply.headersOut[name]) r.headersOut[name] = reply.headersOut[name];
  });
  r.return(reply.status, reply.responseText);
}

export default {handle};
