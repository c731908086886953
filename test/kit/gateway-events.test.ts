import { expect, test } from 'vitest';
import { event } from './gateway-events.ts';

test('event() joins the values of a repeated query parameter with commas, as the gateway does, but not in rawQueryString', () => {
  const queryStringParameters = { tag: ['a b', 'c'], limit: '2' };
  expect(event({ routeKey: 'GET /plants', queryStringParameters })).toMatchObject({
    rawQueryString: 'tag=a+b&tag=c&limit=2',
    queryStringParameters: { tag: 'a b,c', limit: '2' },
  });
  expect(event({ routeKey: 'GET /plants' })).not.toHaveProperty('queryStringParameters');
});
