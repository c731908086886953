import { named, zone } from '@lambda-service/testing/stack';
import { RootConstruct } from 'constructs';
import { describe, expect, test } from 'vitest';
import { cdkKeys, maxWriteUnits, readSettings } from '../settings.ts';

type Context = Record<string, unknown>;

const read = (context: Context) => {
  const { node } = new RootConstruct();
  for (const [key, value] of Object.entries(context)) node.setContext(key, value);
  return readSettings(node);
};

const throttle = { rateLimit: 500, burstLimit: 1_000 };
const defaults = read({});
const prod = { stage: 'prod', stageName: 'prod' };
const issuer = 'https://a.example';
const trusted = { issuer, audience: 'api' };
const atHome = { issuer: 'http://127.0.0.1:9000/x', audience: 'api', clientIds: 'a', scopeClaim: 'scp,roles' };
const keysWithQuery = `${issuer}/keys?p=a@b&v=1?`;
const mail = 'me@a.example';
const owner = 'Équipe_a.b:c/d=e+f@example.com';
const manyTags = Array.from({ length: 49 }, (_, index) => `tag${index}=x`).join();
const inZone = (zoneName: string) => ({ ...named, zone: { hostedZoneId: zone.hostedZoneId, zoneName } });
const keysAt = (jwksUri: string) => ({ jwksUri, clientIds: 'any', scopeClaim: 'scope' });

describe('the settings', () => {
  test('have defaults', () => {
    expect(defaults).toMatchObject({
      stage: 'dev',
      stageName: 'dev',
      throttle,
      authorizerCache: 0,
      allowOrigins: [],
      tags: {},
      tracing: false,
    });
    const optional = { alarmEmail: undefined, domain: undefined, externalIssuer: undefined, budget: undefined };
    expect(defaults).toMatchObject({ ...optional, permissionsBoundary: undefined });
  });

  test.each<[context: Context, differences: object]>([
    [
      { stage: 'prod', alarmEmail: mail },
      { stage: 'prod', stageName: 'prod', alarmEmail: mail },
    ],
    [{ stage: 'prod', alarmEmail: 'none' }, prod],
    [
      { stage: 'prod-anna', alarmEmail: 'none' },
      { ...prod, stageName: 'prod-anna' },
    ],
    [{ stage: `dev-${'a'.repeat(20)}` }, { stageName: `dev-${'a'.repeat(20)}` }],
    [{ rateLimit: '50', burstLimit: 7 }, { throttle: { rateLimit: 50, burstLimit: 7 } }],
    [{ authorizerCache: '3600' }, { authorizerCache: 3_600 }],
    [{ authorizerCache: 0 }, {}],
    [{ tags: `owner=${owner},cost center=4 2` }, { tags: { owner, 'cost center': '4 2' } }],
    [
      { alarmEmail: mail, budget: '50' },
      { alarmEmail: mail, budget: 50 },
    ],
    [{ tracing: 'on' }, { tracing: true }],
    [{ tracing: 'off' }, {}],
    [{ permissionsBoundary: 'A-b_c+d=e,f.g@h' }, { permissionsBoundary: 'A-b_c+d=e,f.g@h' }],
    [
      { allowOrigins: 'https://a.example:8443,http://localhost,http://127.0.0.1:5173' },
      { allowOrigins: ['https://a.example:8443', 'http://localhost', 'http://127.0.0.1:5173'] },
    ],
    [named, { domain: named }],
    [{ ...named, defaultAddress: 'on' }, { domain: { ...named, defaultAddress: 'on' } }],
    [{ ...named, defaultAddress: 'off' }, { domain: { ...named, defaultAddress: 'off' } }],
    [{ ...named, ...zone }, { domain: inZone('example.com') }],
    [{ ...named, ...zone, hostedZoneName: named.domainName }, { domain: inZone(named.domainName) }],
    [trusted, { externalIssuer: { ...trusted, ...keysAt(`${issuer}/.well-known/jwks.json`) } }],
    [
      { issuer: `${issuer}/`, audience: 'none', clientIds: 'any' },
      {
        clientIds: 'any',
        externalIssuer: { issuer: `${issuer}/`, audience: 'none', ...keysAt(`${issuer}/.well-known/jwks.json`) },
      },
    ],
    [
      { ...atHome, jwksUri: keysWithQuery },
      { clientIds: 'a', externalIssuer: { ...atHome, jwksUri: keysWithQuery } },
    ],
    [{ clientIds: 'a,b' }, { clientIds: 'a,b' }],
  ])('are read from the CDK context %j', (context, differences) => {
    expect(read(context)).toEqual({ ...defaults, ...differences });
  });

  test('may have a different value for each stage; a stage without a value gets the default', () => {
    const context = { rateLimit: { prod: 900, dev: '20' }, alarmEmail: { prod: mail } };
    const ofProd = { throttle: { ...throttle, rateLimit: 900 }, alarmEmail: mail };
    expect(read({ ...context, stage: 'prod' })).toEqual({ ...defaults, ...prod, ...ofProd });
    expect(read(context)).toEqual({ ...defaults, throttle: { ...throttle, rateLimit: 20 } });
    expect(read({ ...context, stage: 'dev-anna' })).toEqual({ ...defaults, stageName: 'dev-anna' });
  });

  test.each<[key: string, values: unknown[], others?: object]>([
    [
      'stage',
      ['test', 'Prod', '', 'prod-', 'production', 'dev-', 'dev-a-', 'dev-A', `dev-${'a'.repeat(21)}`, { prod: 'dev' }],
    ],
    ['rateLimit', ['high', '0', 1.5, true, ['5'], '1000000000', { Prod: 5 }, { dev: 'x' }]],
    ['burstLimit', ['-1', '']],
    ['authorizerCache', ['3601', 3_601, -1, '-1', '', '0.5', '5m', '060', true, [60]]],
    ['tracing', ['On', '', true]],
    ['permissionsBoundary', ['', 'arn:aws:iam::123456789012:policy/a', 'a'.repeat(129)]],
    ['alarmEmail', ['me', 'None', '', 'me@a.example,you@a.example', undefined], { stage: 'prod' }],
    ['budget', ['50.5', '0', ''], { alarmEmail: mail }],
    ['budget', [50], { alarmEmail: 'none' }],
    ['budget', [50]],
    ['tags', ['', 'owner', 'owner=', '=a', 'a=b,', 'a=b, c=d', 'a =b', 'a= b', 'a=b ', 'a=#', '#=a', ['a=b']]],
    ['tags', ['Stage=x', 'service=x', 'AWS:a=b', 'a=1,A=2', `a=${'a'.repeat(257)}`, `${'a'.repeat(129)}=a`, manyTags]],
    ['allowOrigins', ['', '*', 'https://*.a.example', 'http://a.example', 'https://a.example/', 'https://a.example,']],
    [
      'allowOrigins',
      ['https://A.example', 'https://a.example:443', 'https://me@a.example', 'http://localhost.example'],
    ],
    ['domainName', ['', 'example', 'API.example.com', 'https://a.example', 'a.example.', '*.example.com'], named],
    ['domainName', [undefined], { certificateArn: named.certificateArn }],
    ['domainName', [undefined], zone],
    ['domainName', [undefined], { defaultAddress: 'off' }],
    ['defaultAddress', ['Off', '', 'closed', false], named],
    ['certificateArn', ['mine', 'arn:aws:acm::123456789012:certificate/a', undefined], named],
    ['hostedZoneId', ['/hostedzone/Z1', 'z1', undefined], { ...named, ...zone }],
    ['hostedZoneName', ['', 'ample.com', 'www.api.example.com', undefined], { ...named, ...zone }],
    ['issuer', [7, '', 'a.example', 'http://a.example', 'http://127.0.0.1.example', ` ${issuer}`], trusted],
    ['issuer', ['https://[a', 'https://me:x@a.example', `${issuer}?x`, `${issuer}#x`, undefined], trusted],
    ['issuer', [undefined], { jwksUri: `${issuer}/keys` }],
    ['issuer', [undefined], { scopeClaim: 'scp' }],
    ['clientIds', ['', 'a,', 'a,,b', 'a, b', ' a', ['a']], trusted],
    ['clientIds', [undefined], { issuer, audience: 'none' }],
    ['clientIds', ['any']],
    ['audience', ['', 'api ', null, ['a', 'b'], undefined], trusted],
    [
      'jwksUri',
      ['http://a.example/keys', 'https://me:x@a.example/keys?p=x', `${issuer}/keys?p=x#x`, `${issuer}/keys?p= x`],
      trusted,
    ],
    ['jwksUri', [undefined], { ...trusted, issuer: 'http://127.0.0.1:9000' }],
    ['scopeClaim', ['', 'scp,', 'scp,,roles', 'scp, roles', 'scp roles', 'scp\n', ['scp']], trusted],
  ])('refuse a wrong %s with an error that names the key and the value: %j', (key, values, others = {}) => {
    for (const value of values) {
      const text = JSON.stringify(Object(value).dev ?? value) ?? 'not set';
      expect(() => read({ ...others, [key]: value }), text).toThrow(`The context value ${key} is ${text}: `);
    }
  });

  test.each<[context: Context, message: string]>([
    [
      { stage: 'prod' },
      'alarmEmail is not set: must be set in prod: to one email address, or none if nobody wants mail.',
    ],
    [{ issuer }, 'audience is not set: must be set together with issuer, for the same stages; or leave out issuer.'],
    [{ tracing: 'yes' }, 'tracing is "yes": must be on or off.'],
  ])('say in one sentence what is wrong with %j', (context, message) => {
    expect(() => read(context)).toThrow(new Error(`The context value ${message}`));
  });

  // A write unit for each request, at least as many as the largest item needs, and less than the table's quota.
  test.each([
    [600, 700, 1_300],
    [5, 5, 400],
    [40_000, 1_000, 39_999],
  ])('give, for the rate %d and the burst %d, a table %d write units', (rateLimit, burstLimit, units) => {
    expect(maxWriteUnits({ rateLimit, burstLimit })).toBe(units);
  });

  test('refuse a key that neither they nor the CDK have, and list the settings', () => {
    const message = /has the key stge, which is not a setting\. The settings are stage, .*\.$/;
    expect(() => read({ stge: 'dev' })).toThrow(message);
    const ofCdk = ['@aws-cdk/core:checkSecretUsage', 'hosted-zone:account=1', ...cdkKeys];
    expect(read(Object.fromEntries(ofCdk.map((key) => [key, true])))).toEqual(defaults);
  });
});
