// Run by vitest, with its fake timers.
import { expect, test, vi } from 'vitest';
import { startWeir } from '@weir/client/testing';

test('the limit has recovered after a minute', async () => {
  vi.useFakeTimers();
  const weir = await startWeir();
  const client = weir.connect();
  expect((await client.check('ann', '1/min')).allowed).toBe(true);
  expect((await client.check('ann', '1/min')).allowed).toBe(false);
  await weir.advance(60_000);
  expect((await client.check('ann', '1/min')).allowed).toBe(true);
  await weir.close();
  vi.useRealTimers();
});
