import type { Client } from './client.js';
import { connect } from './connect.js';

let client: Client | undefined;

/** The one client of this process for those that are given none. */
export const sharedClient = (): Client => (client ??= connect());
