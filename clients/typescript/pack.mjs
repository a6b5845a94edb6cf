// node pack.mjs OUT [linux-x64=FOLDER] [linux-arm64=FOLDER]: what is published, as .tgz in OUT, after `node build.mjs`.
// A FOLDER is an unpacked weir-linux-*.tar.gz of `./dev package`, with the program and its LICENSES.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const license = [join(here, 'LICENSE'), join(here, '../../LICENSE')].find(existsSync);
const PLATFORMS = ['linux-x64', 'linux-arm64'];

function packed(out, fill) {
  const stage = mkdtempSync(join(tmpdir(), 'weir-pack-'));
  try {
    fill(stage);
    execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: stage, stdio: ['ignore', 'ignore', 'inherit'] });
  } finally {
    rmSync(stage, { recursive: true });
  }
}

function client(stage) {
  const { devDependencies: _, scripts: __, ...published } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  // Not before: a lock file cannot name what is published with it.
  published.optionalDependencies = Object.fromEntries(PLATFORMS.map((each) => [`@weir/${each}`, published.version]));
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  cpSync(join(here, 'dist'), join(stage, 'dist'), { recursive: true });
  cpSync(join(here, 'README.md'), join(stage, 'README.md'));
  cpSync(license, join(stage, 'LICENSE'));
}

function platform(name, folder) {
  return (stage) => {
    cpSync(join(here, 'platforms', name), stage, { recursive: true });
    mkdirSync(join(stage, 'bin'));
    cpSync(join(folder, 'bin/weir'), join(stage, 'bin/weir'), { dereference: true });
    cpSync(license, join(stage, 'LICENSE'));
    cpSync(join(folder, 'LICENSES'), join(stage, 'LICENSES'));
  };
}

const [out, ...programs] = process.argv.slice(2);
if (!out) throw new Error('usage: node pack.mjs OUT [linux-x64=FOLDER] [linux-arm64=FOLDER]');
mkdirSync(out, { recursive: true });
packed(resolve(out), client);
for (const each of programs) {
  const [name, folder] = each.split('=');
  if (!PLATFORMS.includes(name) || !folder) throw new Error(`'${each}' is not PLATFORM=FOLDER, with one of ${PLATFORMS.join(', ')}`);
  packed(resolve(out), platform(name, folder));
}
