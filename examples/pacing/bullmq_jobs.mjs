// BullMQ workers under the quota of somebody else's API, over all workers together: npm install bullmq @weir/client
//
//   new Worker('jobs', partner(call), { connection });
//
// A job asks weir for its moment, keeps it in its data, and is put away until then: no worker waits, and a job that
// comes back does not ask again. WEIR_URL says where weir is (weirs:// too), WEIR_PASSWORD is its password. While weir is
// away, or does not take the password, no call is made: it is logged once, and each job comes back later.
// `abandon(job)` of @weir/client/bullmq takes a job out of the queue, and gives its moment to the next.
import { paced } from '@weir/client/bullmq';

const RULE = process.env.RULE ?? '20/s burst 5';

/** A processor that runs `call(data)` when the partner's quota allows; `options.client` is a client of your own. */
export const partner = (call, options) => paced({ key: 'partner', rule: RULE }, call, options);
