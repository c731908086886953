import { globSync, readFileSync } from 'node:fs';
import { RootConstruct } from 'constructs';
import { describe, expect, test } from 'vitest';
import { cdkKeys, keys } from '../../infra/context.ts';
import { readSettings } from '../../infra/settings.ts';

const read = (context: Record<string, unknown>) => {
  const { node } = new RootConstruct();
  for (const [key, value] of Object.entries(context)) node.setContext(key, value);
  return readSettings(node);
};

const defaults = {
  stage: 'dev',
  throttle: { rateLimit: 500, burstLimit: 1_000 },
  allowOrigins: [],
  tracing: false,
};

const certificateArn = 'arn:aws:acm:eu-central-1:123456789012:certificate/0a1b-2c';
const named = { domainName: 'api.example.com', certificateArn };

describe('the settings', () => {
  test('have defaults if the CDK context is empty', () => {
    expect(read({})).toEqual(defaults);
  });

  test('take the stage, the throttle and the email address for alarms from the CDK context', () => {
    expect(read({ stage: 'prod', rateLimit: '50', burstLimit: 7, alarmEmail: 'me@a.example' })).toEqual({
      ...defaults,
      stage: 'prod',
      throttle: { rateLimit: 50, burstLimit: 7 },
      alarmEmail: 'me@a.example',
    });
  });

  test('take the owner of the stack from the CDK context', () => {
    for (const owner of ['plant-store-team', 'Équipe 7', 'team_a.b:c/d=e+f@example.com', 'a'.repeat(256)])
      expect(read({ owner })).toEqual({ ...defaults, owner });
  });

  test.each([
    ['on', true],
    ['off', false],
  ])('turn the tracing of functions %s', (tracing, expected) => {
    expect(read({ tracing })).toEqual({ ...defaults, tracing: expected });
  });

  test.each(['prod', 'dev', 'dev-a', 'dev-7', 'dev-pr-123', 'dev-a--b', `dev-${'a'.repeat(20)}`])(
    'accept the stage %s',
    (stage) => {
      expect(read({ stage, alarmEmail: 'none' }).stage).toBe(stage);
    },
  );

  test('may have a different value for each stage; a stage without a value gets the default', () => {
    const context = {
      rateLimit: { prod: 900, dev: '20' },
      domainName: { prod: named.domainName },
      certificateArn: { prod: certificateArn },
      alarmEmail: { prod: 'me@a.example' },
    };
    const burstLimit = 1_000;
    expect(read({ ...context, stage: 'prod' })).toEqual({
      ...defaults,
      stage: 'prod',
      throttle: { rateLimit: 900, burstLimit },
      domain: named,
      alarmEmail: 'me@a.example',
    });
    expect(read(context)).toEqual({ ...defaults, throttle: { rateLimit: 20, burstLimit } });
    expect(read({ ...context, stage: 'dev-anna' })).toEqual({ ...defaults, stage: 'dev-anna' });
  });

  test.each([{}, { alarmEmail: { dev: 'me@a.example' } }])(
    'are refused if the stage is prod and nothing says who gets the mail of alarms: %j',
    (context) => {
      expect(() => read({ ...context, stage: 'prod' })).toThrow(
        new Error(
          'The context value alarmEmail is not set, but it must be set in prod: to one email address, or to none if nobody wants mail.',
        ),
      );
    },
  );

  test.each(['prod', 'dev'])('send no mail if alarmEmail is none: stage %s', (stage) => {
    expect(read({ stage, alarmEmail: 'none' })).toEqual({ ...defaults, stage, alarmEmail: undefined });
  });

  test.each<[allowOrigins: string, list: string[]]>([
    ['https://shop.example', ['https://shop.example']],
    [
      'https://a.example:8443,http://localhost,http://127.0.0.1:5173',
      ['https://a.example:8443', 'http://localhost', 'http://127.0.0.1:5173'],
    ],
  ])('accept the origins %s', (allowOrigins, list) => {
    expect(read({ allowOrigins })).toEqual({ ...defaults, allowOrigins: list });
  });

  test.each(['api.example.com', 'a.co', 'xn--bcher-kva.example', 'a-1.b.c.example'])(
    'accept the domain name %s, with a certificate',
    (domainName) => {
      expect(read({ domainName, certificateArn })).toEqual({ ...defaults, domain: { domainName, certificateArn } });
    },
  );

  test.each([
    'arn:aws-cn:acm:cn-north-1:123456789012:certificate/a-b',
    'arn:aws-us-gov:acm:us-gov-west-1:123456789012:certificate/0',
  ])('accept the certificate %s', (certificateArn) => {
    expect(read({ domainName: 'a.example', certificateArn }).domain?.certificateArn).toBe(certificateArn);
  });

  test.each(['api.example.com', 'example.com'])(
    'accept the DNS zone %s for the domain name api.example.com',
    (zoneName) => {
      const zone = { hostedZoneId: 'Z0AB9', hostedZoneName: zoneName };
      expect(read({ ...named, ...zone }).domain?.zone).toEqual({ hostedZoneId: 'Z0AB9', zoneName });
    },
  );

  test.each<[context: object, message: string]>([
    [
      { stage: 'test' },
      'stage is "test", but it must be prod, dev, or dev-<name> with a name of 1 to 20 lower-case letters, digits and inner dashes.',
    ],
    [
      { rateLimit: { Prod: 5 } },
      'rateLimit is {"Prod":5}, but it must be one value, or an object that has a value for each of some stages.',
    ],
    [{ rateLimit: { dev: 'x' } }, 'rateLimit is "x", but it must be a whole number from 1 to 999999999.'],
    [
      { stage: { prod: 'dev' } },
      'stage is {"prod":"dev"}, but it must be a string that is not empty, without spaces around it.',
    ],
    [
      { allowOrigins: '*' },
      'allowOrigins is "*", but it must be origins such as https://shop.example or http://localhost:5173, separated by commas, without * or a path.',
    ],
    [
      { domainName: 'API.example.com', certificateArn },
      'domainName is "API.example.com", but it must be a host name in lower case, such as api.example.com.',
    ],
    [
      { domainName: 'a.example', certificateArn: 'mine' },
      'certificateArn is "mine", but it must be the ARN of an ACM certificate in the region of the stack.',
    ],
    [
      { domainName: 'a.example' },
      'certificateArn is not set, but it must be set together with domainName: to the ARN of an ACM certificate in the region of the stack.',
    ],
    [
      { certificateArn },
      `certificateArn is "${certificateArn}", but it must be set only together with domainName, for the same stages.`,
    ],
    [
      { ...named, hostedZoneName: 'example.com' },
      'hostedZoneId is not set, but it must be set together with hostedZoneName: to the id of a Route 53 zone, such as Z0123456789ABC.',
    ],
    [
      { ...named, hostedZoneId: 'Z1' },
      'hostedZoneName is not set, but it must be set together with hostedZoneId: to the name of that zone: api.example.com or a parent domain of it.',
    ],
    [
      { ...named, hostedZoneId: 'Z1', hostedZoneName: 'ample.com' },
      'hostedZoneName is "ample.com", but it must be the name of that zone: api.example.com or a parent domain of it.',
    ],
  ])('say in one sentence what is wrong with the CDK context %j', (context, message) => {
    expect(() => read({ ...context })).toThrow(new Error(`The context value ${message}`));
  });

  test('take an external issuer, its audience and the URL of its keys from the CDK context', () => {
    const context = { issuer: 'https://a.example/x', audience: 'api', jwksUri: 'https://b.example/keys' };
    expect(read(context)).toEqual({ ...defaults, externalIssuer: { ...context, scopeClaim: 'scope' } });
  });

  test('are refused, with a sentence that says what to do, if the CDK context has an issuer without an audience', () => {
    expect(() => read({ issuer: 'https://a.example' })).toThrow(
      'The context value audience is not set, but it must be set together with issuer: to the aud of its tokens, or to "none" if they have no aud.',
    );
  });

  test.each(['none', 'None', 'https://a.example/?x=1, y'])('keep the audience "%s" unchanged', (audience) => {
    expect(read({ issuer: 'https://a.example', audience }).externalIssuer?.audience).toBe(audience);
  });

  test('accept an http:// URL for an issuer on this machine, but not for the keys of that issuer', () => {
    const issuer = 'http://127.0.0.1:9000/x';
    const audience = 'api';
    expect(read({ issuer, audience, jwksUri: 'https://127.0.0.1:9001/keys' }).externalIssuer?.issuer).toBe(issuer);
    expect(() => read({ issuer, audience })).toThrow('jwksUri is not set, but it must be an https:// URL');
  });

  test('refuse the key `scope`, which older versions had, and say where the scopes are now', () => {
    expect(() => read({ scope: 'plants/create' })).toThrow(
      'The context value scope is "plants/create", but it must be left out: schemas/openapi.yaml has the scopes of each operation.',
    );
  });

  const wrongKey = (key: string) =>
    `The CDK context (-c, cdk.json, cdk.context.json or ~/.cdk.json) has the key ${key}, which is not a setting.`;

  test.each([
    ['stge', 'stage'],
    ['Stage', 'stage'],
    ['alarmEMail', 'alarmEmail'],
    ['allowedOrigins', 'allowOrigins'],
    ['githubprovider', 'githubProvider'],
    // A removed setting is not recommended.
    ['scop', 'stage'],
  ])('refuse the key %s, which is not a setting, and name the nearest one', (key, nearest) => {
    expect(() => read({ [key]: 'dev' })).toThrow(
      new Error(`${wrongKey(key)} The nearest setting is ${nearest}; docs/deploy.md lists all.`),
    );
  });

  test.each(['@aws-cdk/core:checkSecretUsage', 'aws:cdk:bundling-stacks', 'hosted-zone:account=1', ...cdkKeys])(
    'accept the key %s, which the CDK reads or writes',
    (key) => {
      expect(read({ [key]: true })).toEqual(defaults);
    },
  );

  test('know all keys of the CDK that have neither @ nor a colon', () => {
    const textOf = (pattern: string) =>
      globSync(pattern)
        .map((file) => readFileSync(file, 'utf8'))
        .join('\n');
    const library = textOf('node_modules/aws-cdk-lib/{core,cx-api}/lib/**/*.js');
    const command = readFileSync('node_modules/aws-cdk/lib/index.js', 'utf8');
    const found = [
      // A name in capitals is that of an environment variable, not of a key.
      ...library.matchAll(/\b[A-Z_]*(?:CONTEXT|CTX)[A-Z_]*\s*=\s*["'](?![A-Z_]+["'])([^"'@:]+)["']/g),
      ...library.matchAll(/\bCDK_CONTEXT_JSON\)\["([^"@:]+)"\]/g),
      ...command.matchAll(/\bcontext\.(?:get|set)\("([^"@:]+)"/g),
    ].map(([, key]) => key);
    expect([...new Set(found)].sort()).toEqual(cdkKeys);
  });

  test('are all listed in docs/deploy.md', () => {
    const [, table = ''] = /^## Settings\n(.*?)^## /ms.exec(readFileSync('docs/deploy.md', 'utf8')) ?? [];
    const cells = [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, key]) => key));
    expect(listed.sort()).toEqual([...keys].sort());
  });

  test.each(['https://a.example', 'https://a.example/'])(
    "derive the URL of the issuer's keys, if it is missing, from the issuer %s",
    (issuer) => {
      expect(read({ issuer, audience: 'api' }).externalIssuer).toEqual({
        issuer,
        jwksUri: 'https://a.example/.well-known/jwks.json',
        audience: 'api',
        scopeClaim: 'scope',
      });
    },
  );

  test.each(['scp', 'scp,roles', 'https://example.com/roles', '__proto__', 'a"b\\c,ü'])(
    'accept "%s" as the names of the claims that may contain the scope',
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
    ...['dev-', 'dev-a-', 'dev--a', 'dev-A', 'dev-a_b', 'dev-a.b', 'Dev-a', 'prod-a', `dev-${'a'.repeat(21)}`].map(
      (stage): [string, Record<string, unknown>, string] => ['stage', { stage }, JSON.stringify(stage)],
    ),
    ...[
      ...['https://*', 'http://*', 'https://*.shop.example', 'null', 'shop.example', 'http://shop.example'],
      ...['https://shop.example/', 'https://shop.example/a', 'https://shop.example?a', 'https://shop.example#a'],
      ...['https://Shop.example', 'HTTPS://shop.example', 'https://shop.example:443', 'http://localhost:80'],
      ...[
        'https://me@shop.example',
        'https://',
        'https:shop.example',
        'https://bücher.example',
        'https://shop.example:x',
      ],
      ...[
        'http://localhost.example',
        'http://127.0.0.1.example',
        'http://localhost:5173/',
        'http://localhost@a.example',
      ],
      ...[
        'https://a.example, https://b.example',
        'https://a.example,',
        ',https://a.example',
        'https://a.example,*',
        'https://a.example;https://b.example',
      ],
    ].map((allowOrigins): [string, Record<string, unknown>, string] => [
      'allowOrigins',
      { allowOrigins },
      JSON.stringify(allowOrigins),
    ]),
    ['allowOrigins', { allowOrigins: '' }, '""'],
    ['allowOrigins', { allowOrigins: ['https://a.example'] }, '["https://a.example"]'],
    ...[
      ...[
        'example',
        'https://api.example.com',
        'api.example.com/v1',
        'api.example.com.',
        '*.example.com',
        'api_1.example.com',
      ],
      ...[
        '127.0.0.1',
        '-a.example',
        'a-.example',
        'a..example',
        '.example.com',
        `${'a'.repeat(64)}.example`,
        `${'a.'.repeat(125)}example`,
      ],
    ].map((domainName): [string, Record<string, unknown>, string] => [
      'domainName',
      { domainName, certificateArn },
      JSON.stringify(domainName),
    ]),
    ['domainName', { domainName: '', certificateArn }, '""'],
    ...[
      'arn:aws:iam::123456789012:server-certificate/a',
      'arn:aws:acm:eu-central-1:123456789012:certificate/',
      'arn:aws:acm::123456789012:certificate/a',
      'arn:aws:acm:eu-central-1:12345:certificate/a',
      `${certificateArn} x`,
    ].map((arn): [string, Record<string, unknown>, string] => [
      'certificateArn',
      { domainName: 'a.example', certificateArn: arn },
      JSON.stringify(arn),
    ]),
    ...['/hostedzone/Z1', 'z1', 'Z', '1Z', 'Z 1'].map((hostedZoneId): [string, Record<string, unknown>, string] => [
      'hostedZoneId',
      { ...named, hostedZoneId, hostedZoneName: 'example.com' },
      JSON.stringify(hostedZoneId),
    ]),
    ...['shop.example', 'xample.com', 'www.api.example.com', 'example.com.', 'Example.com'].map(
      (hostedZoneName): [string, Record<string, unknown>, string] => [
        'hostedZoneName',
        { ...named, hostedZoneId: 'Z1', hostedZoneName },
        JSON.stringify(hostedZoneName),
      ],
    ),
    ['hostedZoneName', { ...named, hostedZoneId: 'Z1', hostedZoneName: '' }, '""'],
    ['hostedZoneId', { hostedZoneId: 'Z1', hostedZoneName: 'example.com' }, '"Z1"'],
    ['hostedZoneName', { hostedZoneName: 'example.com' }, '"example.com"'],
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
    ['alarmEmail', { alarmEmail: 'None' }, '"None"'],
    ['alarmEmail', { stage: 'prod', alarmEmail: '' }, '""'],
    ['alarmEmail', { alarmEmail: 'me@a.example,you@a.example' }, '"me@a.example,you@a.example"'],
    ['alarmEmail', { alarmEmail: 'me;you@a.example' }, '"me;you@a.example"'],
    ['owner', { owner: '' }, '""'],
    ['owner', { owner: 'Team A, B' }, '"Team A, B"'],
    ['owner', { owner: 'a'.repeat(257) }, JSON.stringify('a'.repeat(257))],
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
  ])('refuse a wrong %s with an error that names the key, the value and what is allowed: %j', (key, context, value) => {
    expect(() => read(context)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^The context value .* must be .*\.$/) }),
    );
    expect(() => read(context)).toThrow(`${key} is ${value}`);
  });
});
