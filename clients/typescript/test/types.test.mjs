// The types as a strict program sees them, from ES modules and CommonJS.
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));

test('what is right compiles, and what is wrong does not', async () => {
  const tsc = createRequire(import.meta.url).resolve('typescript/package.json').replace('package.json', 'bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', join(here, 'types')], { timeout: 60_000 })
    .catch(({ stdout }) => Promise.reject(new Error(stdout)));
});
