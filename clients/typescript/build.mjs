// node build.mjs: dist/esm and dist/cjs of src, each with its types, by tsc twice.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/package.json').replace('package.json', 'bin/tsc');
const HERE = `import { fileURLToPath } from 'node:url';\nexport const here = () => import.meta.url && fileURLToPath(import.meta.url);\n`;

process.chdir(folder);
rmSync('dist', { recursive: true, force: true });
for (const [out, type] of [['dist/esm', 'module'], ['dist/cjs', 'commonjs']]) {
  // The nearest package.json says which kind a module is, of the sources too.
  cpSync('src', join(out, 'src'), { recursive: true });
  writeFileSync(join(out, 'package.json'), `{ "type": "${type}" }\n`);
  writeFileSync(join(out, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include: ['src'], exclude: [],
    compilerOptions: { rootDir: 'src', outDir: '.' } }));
  execFileSync(process.execPath, [tsc, '-p', join(out, 'tsconfig.json')], { stdio: 'inherit' });
  rmSync(join(out, 'src'), { recursive: true });
  rmSync(join(out, 'tsconfig.json'));
}
writeFileSync('dist/esm/here.js', HERE);
