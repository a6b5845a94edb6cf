// /testing in another test runner, which replaces timers and modules.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import './support.mjs';

const package_ = join(dirname(fileURLToPath(import.meta.url)), '..');

test('vitest', async () => {
  const vitest = join(package_, 'node_modules/vitest/vitest.mjs');
  await promisify(execFile)(process.execPath, [vitest, 'run', '--dir', 'test/vitest'], { cwd: package_, timeout: 60_000, env: { ...process.env, NODE_TEST_CONTEXT: undefined } })
    .catch(({ stdout, stderr }) => Promise.reject(new Error(stdout + stderr)));
});
