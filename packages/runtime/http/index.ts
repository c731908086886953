/** An operation's HTTP: the chain of Middy middlewares, and its errors. */
export { type ErrorRows, type ErrorTable, responseOf } from './error-response.ts';
export { type ErrorResponse, errors } from './errors.ts';
export { httpOperation, timeLeft } from './http-operation.ts';
export { jsonBody, maxBodyBytes } from './json-body.ts';
export { jsonResponse } from './json-response.ts';
export { storeTime } from './store-time.ts';
export { validEvent } from './valid-event.ts';
