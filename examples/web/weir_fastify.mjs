// Limits a Fastify application by weir: app.addHook('onRequest', askWeir), after what authenticates your users.
//
// Denied: 429 with Retry-After and the RateLimit fields, which answers of the application carry too. When weir is
// down, takes longer than 200 ms or cannot decide, the request passes and a line is logged; `return
// reply.code(503).send()` would refuse it.
const weir = process.env.WEIR_URL ?? 'http://127.0.0.1:6391';

export async function askWeir(request, reply) {
  const attributes = { ip: request.ip, method: request.method };
  // The route's own path, as in /users/:id: a client can write a URL of it in many ways.
  if (request.routeOptions.url) attributes.path = request.routeOptions.url;
  if (request.user) attributes.user = String(request.user.id);
  let answer, told;
  try {
    const body = JSON.stringify({ attributes });
    const headers = { 'Content-Type': 'application/json' };
    answer = await fetch(`${weir}/v1/check`, { method: 'POST', headers, body, signal: AbortSignal.timeout(200) });
    told = await answer.json();
    // 400: the attributes are not what the limits require.
    if (told.allowed === undefined && answer.status !== 400) throw new Error(JSON.stringify(told));
  } catch (error) {
    request.log.warn(`weir did not decide, the request passes: ${error.cause?.code ?? error.message}`);
    return;
  }
  for (const [name, value] of answer.headers)
    if (/^(x-)?ratelimit|^retry-/.test(name)) reply.header(name, value);
  if (!told.allowed) return reply.code(answer.status).send('Too many requests\n');
}
