// Of delay_or_drop.conf: rate=10r/s burst=20 delay=5. The first request and `delay` more pass at once, so the burst is
// 6; the 15 between `delay` and `burst` wait, the last of them for 15 / 10 s; the next is dropped.
const LIMIT = '10/s burst 6';
const MAX_WAIT = 1.5;

function authorization() {
  return process.env.WEIR_TOKEN ? 'Bearer ' + process.env.WEIR_TOKEN : '';
}

async function handle(r) {
  const asked = {key: 'ip:' + r.variables.remote_addr, limit: LIMIT, max_wait: MAX_WAIT};
  const reply = await r.subrequest('/_weir', {method: 'POST', body: JSON.stringify(asked)});
  if (reply.status === 429) {
    r.headersOut['Retry-After'] = reply.headersOut['Retry-After'];
    return r.return(429, 'too many requests\n');
  }
  if (reply.status === 200) {
    const wait = JSON.parse(reply.responseText).wait;
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, Math.ceil(wait * 1000)));
  }
  if (reply.status >= 400 && reply.status < 500) {  // a wrong token, for example
    r.error('weir cannot be asked like this: ' + reply.responseText);
    return r.return(500);
  }
  r.internalRedirect('@passes');  // while nobody can decide too
}

export default {handle, authorization};
