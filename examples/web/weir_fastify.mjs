// Limits a Fastify application by weir: app.addHook('onRequest', askWeir), after what authenticates your users.
//
// WEIR_URL says where weir is (https too), WEIR_TOKEN is its --http-token. Denied: 429 with Retry-After and the
// RateLimit fields, which answers of the application carry too. When weir is down, takes longer than 200 ms or cannot
// decide, the request passes; `return reply.code(503).send()` would refuse it. When weir refuses to be
// asked, for want of the right token or of a limits file, requests get 500. Each is logged when it begins and ends.
import { once } from 'node:events';
import http from 'node:http'; // not fetch(): that of Debian 12's Node 18 can miss that its time is up
import https from 'node:https';

const weir = new URL('/v1/check', process.env.WEIR_URL ?? 'http://127.0.0.1:6391');
const { request, Agent } = weir.protocol === 'https:' ? https : http;
const agent = new Agent({ keepAlive: true });
const token = process.env.WEIR_TOKEN;
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const QUICK = 200, PATIENT = 2000; // ms; weir holds the answer to a wrong token back for a second
const DECIDES = 'decides again', PASSES = 'did not decide, the request passes';
const REFUSES = 'cannot be asked like this, requests get 500';
let state = DECIDES, waited = -Infinity;

// One line when that changes, and not one for each request.
function tell(log, what, why) {
  if (what !== state) (what === REFUSES ? log.error : log.warn).call(log, `weir ${what}: ${why}`);
  state = what;
}

// Little, but at first and then every 10 s of an outage enough to be told what is wrong.
function patience() {
  if (waited > -Infinity && (state === DECIDES || Date.now() <= waited + 10_000)) return QUICK;
  waited = Date.now();
  return PATIENT;
}

async function check(attributes) {
  const question = request(weir, { method: 'POST', agent, headers }).on('error', () => {}); // once() throws it
  const late = setTimeout(() => question.destroy(new Error('no answer in time')), patience());
  try {
    question.end(JSON.stringify({ attributes }));
    const [answer] = await once(question, 'response');
    const text = (await answer.setEncoding('utf8').toArray()).join('');
    const { allowed } = JSON.parse(text);
    const status = answer.statusCode;
    if (allowed === undefined && status >= 500) throw new Error(text);
    // Any other 400: the request lacks an attribute that a limit requires.
    if (allowed === undefined && (status !== 400 || text.includes('no limits file'))) return { state: REFUSES, why: text };
    return { state: DECIDES, why: 'requests are limited', allowed, status, headers: answer.headers };
  } catch (error) {
    return { state: state === REFUSES ? REFUSES : PASSES, why: error.message };
  } finally {
    clearTimeout(late);
  }
}

export async function askWeir(request, reply) {
  // The route's own path, as in /users/:id: a client can write a URL of it in many ways.
  const path = request.routeOptions.url;
  const user = request.user && String(request.user.id);
  const answer = await check({ ip: request.ip, method: request.method, path, user });
  tell(request.log, answer.state, answer.why);
  if (answer.state === PASSES) return;
  if (answer.state === REFUSES) return reply.code(500).send('Internal Server Error\n');
  for (const [name, value] of Object.entries(answer.headers))
    if (/^(x-)?ratelimit|^retry-/.test(name)) reply.header(name, value);
  if (!answer.allowed) return reply.code(answer.status).send('Too many requests\n');
}
