// Asks a server by npm's gRPC: the calls of its input, one JSON object a line, one after the other, and what each came to
// as one of its output. Messages are bytes, in hexadecimal. `node ask.mjs ADDRESS`.
import readline from 'node:readline';
import { Client, compressionAlgorithms, credentials } from '@grpc/grpc-js';

const clients = [false, true].map((gzip) => new Client(process.argv[2], credentials.createInsecure(), {
  'grpc.default_compression_algorithm': gzip ? compressionAlgorithms.gzip : compressionAlgorithms.identity,
}));
const same = (bytes) => bytes;

function ask({ path, message, timeout, gzip, streams }) {
  const client = clients[gzip ? 1 : 0];
  const options = { deadline: Date.now() + timeout * 1000 };
  return new Promise((resolve) => {
    const told = (error, answer) => resolve({ code: error?.code ?? 0, details: error?.details ?? '', message: (answer ?? Buffer.alloc(0)).toString('hex') });
    if (!streams) return client.makeUnaryRequest(path, same, same, Buffer.from(message, 'hex'), options, told);
    const stream = client.makeServerStreamRequest(path, same, same, Buffer.from(message, 'hex'), options);
    stream.on('data', (answer) => {
      told(null, answer);
      stream.cancel();
    });
    stream.on('error', (error) => told(error));
  });
}

for await (const line of readline.createInterface({ input: process.stdin }))
  process.stdout.write(JSON.stringify(await ask(JSON.parse(line))) + '\n');
for (const client of clients) client.close();
