import { WeirClient, type Client } from './client.js';
import { settingsOf, type Options } from './options.js';
import { Source } from './source.js';

/**
 * A client of the weir at `url`; without one, of that at WEIR_URL, or of one that is started on this machine, as it is
 * at the first question. It connects then; a TypeError says what is wrong with the URL or an option.
 */
export function connect(url?: string, options: Options = {}): Client {
  const settings = settingsOf(options, url);
  return new WeirClient(new Source(url, settings), settings);
}
