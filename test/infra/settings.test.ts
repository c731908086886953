import { RootConstruct } from 'constructs';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../infra/settings.ts';

const read = (context: Record<string, unknown>) => {
  const { node } = new RootConstruct();
  for (const [key, value] of Object.entries(context)) node.setContext(key, value);
  return readSettings(node);
};

const defaults = { stage: 'prod', throttle: { rateLimit: 500, burstLimit: 1_000 }, tracing: false };

describe('the settings', () => {
  test('have defaults if the context is empty', () => {
    expect(read({})).toEqual(defaults);
  });

  test('include a stage, a throttle and a mail address for alarms', () => {
    expect(read({ stage: 'dev', rateLimit: '50', burstLimit: 7, alarmEmail: 'me@a.example' })).toEqual({
      ...defaults,
      stage: 'dev',
      throttle: { rateLimit: 50, burstLimit: 7 },
      alarmEmail: 'me@a.example',
    });
  });

  test.each([
    ['on', true],
    ['off', false],
  ])('turn tracing %s', (tracing, expected) => {
    expect(read({ tracing })).toEqual({ ...defaults, tracing: expected });
  });

  test('include an issuer, its audience and the URL of its keys', () => {
    const context = { issuer: 'https://a.example/x', audience: 'api', jwksUri: 'https://b.example/keys' };
    expect(read(context)).toEqual({ ...defaults, externalIssuer: { ...context, scopeClaim: 'scope' } });
  });

  test('say in one sentence what to do if an issuer has no audience', () => {
    expect(() => read({ issuer: 'https://a.example' })).toThrow(
      'The context value audience is not set, but it must be set together with issuer: to the aud of its tokens, or to "none" if they have no aud.',
    );
  });

  test.each(['none', 'None', 'https://a.example/?x=1, y'])('keep the audience "%s" unchanged', (audience) => {
    expect(read({ issuer: 'https://a.example', audience }).externalIssuer?.audience).toBe(audience);
  });

  test('accept an http issuer on this machine, but no http URL of its keys', () => {
    const issuer = 'http://127.0.0.1:9000/x';
    const audience = 'api';
    expect(read({ issuer, audience, jwksUri: 'https://127.0.0.1:9001/keys' }).externalIssuer?.issuer).toBe(issuer);
    expect(() => read({ issuer, audience })).toThrow('jwksUri is not set, but it must be an https:// URL');
  });

  test('refuse the key scope of older versions, in a sentence that says where the scopes are now', () => {
    expect(() => read({ scope: 'plants/create' })).toThrow(
      'The context value scope is "plants/create", but it must be left out: schemas/openapi.yaml has the scopes of each operation.',
    );
  });

  test.each(['https://a.example', 'https://a.example/'])('default to the usual URL for the keys of %s', (issuer) => {
    expect(read({ issuer, audience: 'api' }).externalIssuer).toEqual({
      issuer,
      jwksUri: 'https://a.example/.well-known/jwks.json',
      audience: 'api',
      scopeClaim: 'scope',
    });
  });

  test.each(['scp', 'scp,roles', 'https://example.com/roles', '__proto__', 'a"b\\c,ü'])(
    'accept "%s" as the claims that may contain the scope',
    (scopeClaim) => {
      const context = { issuer: 'https://a.example', audience: 'api', scopeClaim };
      expect(read(context).externalIssuer?.scopeClaim).toBe(scopeClaim);
    },
  );

  test.each<[key: string, context: Record<string, unknown>, value: string]>([
    ['issuer', { issuer: 'http://a.example' }, '"http://a.example"'],
    ['issuer', { issuer: 'a.example' }, '"a.example"'],
    ['issuer', { issuer: 'http://127.0.0.1.example' }, '"http://127.0.0.1.example"'],
    ['stage', { stage: 'Prod' }, '"Prod"'],
    ['stage', { stage: '' }, '""'],
    ['rateLimit', { rateLimit: '0' }, '"0"'],
    ['rateLimit', { rateLimit: '1e3' }, '"1e3"'],
    ['rateLimit', { rateLimit: 1.5 }, '1.5'],
    ['rateLimit', { rateLimit: true }, 'true'],
    ['rateLimit', { rateLimit: ['5'] }, '["5"]'],
    ['burstLimit', { burstLimit: '-1' }, '"-1"'],
    ['burstLimit', { burstLimit: '' }, '""'],
    ['burstLimit', { burstLimit: '1000000000' }, '"1000000000"'],
    ['tracing', { tracing: 'On' }, '"On"'],
    ['tracing', { tracing: '' }, '""'],
    ['tracing', { tracing: true }, 'true'],
    ['alarmEmail', { alarmEmail: 'me' }, '"me"'],
    ['alarmEmail', { alarmEmail: 'me@a.example,you@a.example' }, '"me@a.example,you@a.example"'],
    ['alarmEmail', { alarmEmail: 'me;you@a.example' }, '"me;you@a.example"'],
    ['issuer', { issuer: 7 }, '7'],
    ['jwksUri', { issuer: 'https://a.example', jwksUri: 'http://a.example/keys' }, '"http://a.example/keys"'],
    ['jwksUri', { jwksUri: 'https://a.example/keys' }, '"https://a.example/keys"'],
    ['audience', { audience: 'api' }, '"api"'],
    ['issuer', { issuer: '' }, '""'],
    ['issuer', { issuer: ' https://a.example' }, '" https://a.example"'],
    ['issuer', { issuer: 'https://user:password@a.example' }, '"https://user:password@a.example"'],
    ['issuer', { issuer: 'https://a.example?x' }, '"https://a.example?x"'],
    ['issuer', { issuer: 'https://a.example#x' }, '"https://a.example#x"'],
    ['issuer', { issuer: 'https://[a' }, '"https://[a"'],
    ['audience', { issuer: 'https://a.example' }, 'not set'],
    ['audience', { issuer: 'https://a.example', jwksUri: 'https://a.example/keys' }, 'not set'],
    ['audience', { issuer: 'https://a.example', audience: ' ' }, '" "'],
    ['audience', { issuer: 'https://a.example', audience: 'api ' }, '"api "'],
    ['audience', { issuer: 'https://a.example', audience: '' }, '""'],
    ['audience', { issuer: 'https://a.example', audience: ['a', 'b'] }, '["a","b"]'],
    ['audience', { issuer: 'https://a.example', audience: null }, 'null'],
    ['audience', { audience: 'none' }, '"none"'],
    ...['', ' ', ',', 'scp,', ',scp', 'scp,,roles', 'scp, roles', 'scp roles', 'scp\n'].map(
      (scopeClaim): [string, Record<string, unknown>, string] => [
        'scopeClaim',
        { issuer: 'https://a.example', audience: 'api', scopeClaim },
        JSON.stringify(scopeClaim),
      ],
    ),
    ['scopeClaim', { scopeClaim: 'scp' }, '"scp"'],
    ['scopeClaim', { issuer: 'https://a.example', audience: 'api', scopeClaim: ['scp'] }, '["scp"]'],
    ['scope', { scope: '' }, '""'],
    ['scope', { issuer: 'https://a.example', audience: 'none', scope: 'a b' }, '"a b"'],
    ['scope', { scope: ['plants/create'] }, '["plants/create"]'],
  ])('refuse a wrong %s, in a sentence with its key, its value and what is allowed: %j', (key, context, value) => {
    expect(() => read(context)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^The context value .* must be .*\.$/) }),
    );
    expect(() => read(context)).toThrow(`${key} is ${value}`);
  });
});
