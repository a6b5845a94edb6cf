// examples/web/weir_fastify.mjs, served: node fastify_app.mjs PORT. PATIENCE is another timeout, in seconds.
import { connect } from '@weir/client';
import { application } from './weir_fastify.mjs';

const { PATIENCE } = process.env;
const client = PATIENCE && connect(undefined, { timeoutMs: 1000 * PATIENCE });
application(client || undefined).listen({ port: Number(process.argv[2]), host: '127.0.0.1' });
