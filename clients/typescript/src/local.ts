import type { Address } from './dialer.js';
import { findProgram } from './program.js';

export async function joinLocal(limits: string | undefined): Promise<Address[]> {
  void limits;
  throw findProgram();
}
