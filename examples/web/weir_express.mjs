// Limits an Express application by weir: app.use(askWeir), after what authenticates your users.
//
// Denied: 429 with Retry-After and the RateLimit fields, which answers of the application carry too. When weir is
// down, takes longer than 200 ms or cannot decide, the request passes and a line is logged; `return
// res.sendStatus(503)` would refuse it.
const weir = process.env.WEIR_URL ?? 'http://127.0.0.1:6391';

export async function askWeir(req, res, next) {
  // As Express compares paths: /Login/ is /login to it, so it is to be the same limit.
  const path = (req.baseUrl + req.path).toLowerCase().replace(/(?<=.)\/$/, '');
  const attributes = { ip: req.ip, method: req.method, path };
  if (req.user) attributes.user = String(req.user.id);
  let answer, told;
  try {
    const body = JSON.stringify({ attributes });
    const headers = { 'Content-Type': 'application/json' };
    answer = await fetch(`${weir}/v1/check`, { method: 'POST', headers, body, signal: AbortSignal.timeout(200) });
    told = await answer.json();
    // 400: the attributes are not what the limits require.
    if (told.allowed === undefined && answer.status !== 400) throw new Error(JSON.stringify(told));
  } catch (error) {
    console.warn('weir did not decide, the request passes:', error.cause?.code ?? error.message);
    return next();
  }
  for (const [name, value] of answer.headers)
    if (/^(x-)?ratelimit|^retry-/.test(name)) res.setHeader(name, value);
  if (told.allowed) return next();
  res.status(answer.status).type('text').send('Too many requests\n');
}
