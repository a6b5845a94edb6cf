import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** What limits are counted under where nobody says it: the name in the package.json nearest to the program, or the name of its folder. */
export function guessedApp(): string {
  const folder = folderOfProgram();
  for (let each = folder; ; each = dirname(each)) {
    const name = nameIn(join(each, 'package.json'));
    if (name) return name;
    if (each === dirname(each)) return basename(folder) || 'app';
  }
}

/** Of a program that came with a package, such as a test runner, the folder where it was started. */
function folderOfProgram(): string {
  try {
    const folder = dirname(realpathSync(process.argv[1]!));
    return folder.split(sep).includes('node_modules') ? process.cwd() : folder;
  } catch {
    return process.cwd();
  }
}

function nameIn(file: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown };
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined; // there is none, or it is for somebody else
  }
}
