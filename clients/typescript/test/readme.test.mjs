// Each snippet of README.md is a program of its own, which ends.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PROGRAM } from './support.mjs';

const package_ = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(package_, 'README.md'), 'utf8');
const folder = mkdtempSync(join(package_, 'dist/readme-')); // in the package, which may import itself
const runtime = mkdtempSync(join(tmpdir(), 'weir-readme-'));
after(() => [folder, runtime].forEach((each) => rmSync(each, { recursive: true })));
writeFileSync(join(folder, 'limits.yaml'), `version: 1\nattributes: [api]\n${/`(limits: .*)`/.exec(text)[1]}\n`);

const snippets = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
test('there are snippets', () => assert.ok(snippets.length >= 8));

for (const [number, code] of snippets.entries())
  test(`snippet ${number}: ${code.split('\n').findLast((line) => line.startsWith('import'))}`, async () => {
    const file = join(folder, `snippet${number}.mjs`);
    writeFileSync(file, code);
    const env = { ...process.env, WEIR_PROGRAM: PROGRAM, XDG_RUNTIME_DIR: runtime, NODE_TEST_CONTEXT: undefined };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env, timeout: 60_000 });
    const said = /console\.log\(.*\); \/\/ (.*)/.exec(code)?.[1];
    if (said) assert.equal(stdout.trim(), said);
  });
