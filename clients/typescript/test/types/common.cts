import weir = require('@weir/client');
import { startWeir } from '@weir/client/testing';
import { RateLimiterWeir } from '@weir/client/flexible';

export const client: weir.Client = weir.connect('weir://a', { onError: 'throw' });
export const limiter: RateLimiterWeir = new RateLimiterWeir({ points: 1 });
export { startWeir };
