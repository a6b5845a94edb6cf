// Limits an Express application by weir: app.use(askWeir), after what authenticates your users.
//
// Denied: 429 with Retry-After and the RateLimit fields, which answers of the application carry too. When weir is
// down, takes longer than 200 ms or cannot decide, the request passes and a line is logged; `return
// res.sendStatus(503)` would refuse it.
import { once } from 'node:events';
import http from 'node:http'; // not fetch(): that of Debian 12's Node 18 can miss that its time is up

const weir = new URL('/v1/check', process.env.WEIR_URL ?? 'http://127.0.0.1:6391');
const agent = new http.Agent({ keepAlive: true });

async function check(attributes) {
  const question = http.request(weir, { method: 'POST', agent }).on('error', () => {}); // once() throws it
  const late = setTimeout(() => question.destroy(new Error('no answer within 200 ms')), 200);
  try {
    question.end(JSON.stringify({ attributes }));
    const [answer] = await once(question, 'response');
    const told = JSON.parse((await answer.setEncoding('utf8').toArray()).join(''));
    // 400: the attributes are not what the limits require.
    if (told.allowed === undefined && answer.statusCode !== 400) throw new Error(JSON.stringify(told));
    return { allowed: told.allowed, status: answer.statusCode, headers: answer.headers };
  } finally {
    clearTimeout(late);
  }
}

export async function askWeir(req, res, next) {
  // As Express compares paths: /Login/ is /login to it, so it is to be the same limit.
  const path = (req.baseUrl + req.path).toLowerCase().replace(/(?<=.)\/$/, '');
  const user = req.user && String(req.user.id);
  const answer = await check({ ip: req.ip, method: req.method, path, user }).catch((error) =>
    console.warn('weir did not decide, the request passes:', error.message));
  if (!answer) return next();
  for (const [name, value] of Object.entries(answer.headers))
    if (/^(x-)?ratelimit|^retry-/.test(name)) res.setHeader(name, value);
  if (answer.allowed) return next();
  res.status(answer.status).type('text').send('Too many requests\n');
}
