import { type EventRequest, event } from '../events.ts';
import { createRoute } from '../under-test.ts';

/** Returns the event that the gateway would make of a request that adds an item. */
export const proxyEvent = (body: string | undefined, change: Pick<EventRequest, 'headers' | 'isBase64Encoded'> = {}) =>
  event({ routeKey: createRoute, body, ...change });
