import type { Client } from './client.js';
import { connect } from './connect.js';

const clients = new Map<string | undefined, Client>();

/** The one client of this process for those that are given none, by the same limits file. */
export function sharedClient(limits?: string): Client {
  const client = clients.get(limits) ?? connect(undefined, { ...(limits !== undefined && { limits }) });
  clients.set(limits, client);
  return client;
}
