// A Fastify application with weir_fastify.mjs: node fastify_app.mjs PORT FOLDER
import fastify from 'fastify';

const [port, folder] = process.argv.slice(2);
const { askWeir } = await import(`${folder}/weir_fastify.mjs`);

const app = fastify({ logger: { level: 'warn' } });
app.addHook('onRequest', async (request) => {
  if (request.headers['x-user']) request.user = { id: request.headers['x-user'] };
});
app.addHook('onRequest', askWeir);
app.get('/hello', async () => 'hello');
app.get('/healthz', async () => 'well');
app.post('/login', async () => 'login');
await app.listen({ port: Number(port), host: '127.0.0.1' });
