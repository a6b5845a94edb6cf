import { accessSync, constants } from 'node:fs';
import * as modules from 'node:module';
import { delimiter, join } from 'node:path';
import { Refused } from './error.js';
import { here } from './here.js';

const CONTAINER = 'docker run --rm -p 127.0.0.1:6390:6390 weir --resp 0.0.0.0:6390 --insecure';

/** The weir program: WEIR_PROGRAM, that of the package for this platform, or the one on the PATH. */
export function findProgram(): string {
  const named = process.env['WEIR_PROGRAM'];
  if (named) {
    if (runs(named)) return named;
    throw new Refused(`WEIR_PROGRAM names '${named}', which is not a program`);
  }
  const found = ofPackage() ?? process.env['PATH']?.split(delimiter).map((folder) => join(folder, 'weir')).find(runs);
  if (found && process.platform !== 'win32') return found;
  throw new Refused(process.platform === 'linux'
    ? `there is no weir program: install @weir/linux-${process.arch}, or name one in WEIR_PROGRAM, or give a URL`
    : `the weir program runs on Linux; here start its image, \`${CONTAINER}\`, and connect to weir://127.0.0.1`);
}

function ofPackage(): string | undefined {
  try {
    // By another name, since bundlers look for what a call of createRequire would bring along.
    const requireFrom = modules.createRequire;
    const program = requireFrom(here() ?? join(process.cwd(), 'package.json')).resolve(`@weir/${process.platform}-${process.arch}/bin/weir`);
    return runs(program) ? program : undefined;
  } catch {
    return undefined; // an optional dependency
  }
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
