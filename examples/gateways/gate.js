// Of nginx_njs.conf: asks weir, and answers denied requests as weir does.
const COPIED = ['RateLimit-Policy', 'RateLimit', 'Retry-After', 'Cache-Control', 'Content-Type', 'Proxy-Status'];
// Web pages of this origin may read what their denied requests are told (CORS).
const ORIGIN = 'https://app.example.com';

function token() {
  return process.env.GATE_TOKEN || '';
}

async function handle(r) {
  // A preflight is not asked for: it comes before the request that it is about, which is.
  if (r.method === 'OPTIONS' && r.headersIn.Origin && r.headersIn['Access-Control-Request-Method']) {
    return r.internalRedirect('@allowed');
  }
  const reply = await r.subrequest('/_weir', {method: 'GET'});
  // Nobody could decide: requests pass. To deny them: return r.return(503).
  if (reply.status >= 500) {
    return r.internalRedirect('@allowed');
  }
  if (reply.status === 200) {
    r.variables.limit_policy = reply.headersOut['RateLimit-Policy'] || '';
    r.variables.limit = reply.headersOut['RateLimit'] || '';
    r.variables.reservation = reply.headersOut['Weir-Reservation'] || '';  // HOLD: of a profile with hold: true
    return r.internalRedirect('@allowed');
  }
  COPIED.forEach(name => {
    if (reply.headersOut[name]) r.headersOut[name] = reply.headersOut[name];
  });
  if (r.headersIn.Origin === ORIGIN) {
    r.headersOut['Access-Control-Allow-Origin'] = ORIGIN;
    r.headersOut['Access-Control-Expose-Headers'] = 'RateLimit, RateLimit-Policy, Retry-After';
  }
  r.return(reply.status, reply.responseText);
}

export default {handle, token};
