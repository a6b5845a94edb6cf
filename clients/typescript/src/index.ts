export { connect } from './connect.js';
export type { Charged, Decision } from './answer.js';
export type { Call, Client, InSlot } from './client.js';
export { Denied, Refused, Unauthorized, Unavailable, WeirError, type Code } from './error.js';
export type { Options } from './options.js';
export type { OnError } from './policy.js';
export type { Asked, Forgotten, Outside, Question, Value, Waits } from './question.js';
export type { Granted, Reservation } from './reservation.js';
export { VERSION } from './version.js';
