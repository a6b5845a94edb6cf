// examples/web/weir_express.mjs, served: node express_app.mjs PORT. PATIENCE is another timeout, in seconds.
import { connect } from '@weir/client';
import { application } from './weir_express.mjs';

const { PATIENCE } = process.env;
const client = PATIENCE && connect(undefined, { timeoutMs: 1000 * PATIENCE });
application(client || undefined).listen(Number(process.argv[2]), '127.0.0.1');
