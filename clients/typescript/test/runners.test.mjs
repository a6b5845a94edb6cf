// /testing in another test runner, which replaces timers and modules.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Weir } from './support.mjs';

const package_ = join(dirname(fileURLToPath(import.meta.url)), '..');

const run = async (words, env) => {
  const vitest = join(package_, 'node_modules/vitest/vitest.mjs');
  await promisify(execFile)(process.execPath, [vitest, 'run', '--dir', 'test/vitest', ...words], { cwd: package_, timeout: 60_000, env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env } })
    .catch(({ stdout, stderr }) => Promise.reject(new Error(stdout + stderr)));
};

test('vitest', () => run([]));

test('vitest, with a weir that somebody else has started', async (t) => {
  const weir = await Weir.start();
  t.after(() => weir.stop());
  await run(['--no-file-parallelism'], { WEIR_TEST_URL: weir.url, WEIR_PROGRAM: '/nowhere' });
});
