// Run by vitest, beside the other file: neither knows what the other has asked.
import { expect, test } from 'vitest';
import { startWeir } from '@weir/client/testing';

test('weir is as new for each test', async () => {
  for (let each = 0; each < 2; ++each) {
    const weir = await startWeir();
    expect((await weir.connect().check('ann', '1/min')).allowed).toBe(true);
    await weir.close();
  }
});
