// express-rate-limit, an independent writer of the same fields: node other_writer.mjs PORT. Five an hour at /draft-6,
// /draft-7 and /draft-8, and at /legacy the X-RateLimit fields. X-User is the key.
import express from 'express';
import { rateLimit } from 'express-rate-limit';

const app = express();
for (const form of ['draft-6', 'draft-7', 'draft-8', 'legacy']) {
  const limiter = rateLimit({
    windowMs: 3_600_000,
    limit: 5,
    identifier: 'user',
    standardHeaders: form === 'legacy' ? false : form,
    legacyHeaders: form === 'legacy',
    keyGenerator: (req) => req.get('X-User'),
  });
  app.get(`/${form}`, limiter, (_, res) => res.type('text').send('passed'));
}
app.listen(Number(process.argv[2]), '127.0.0.1');
