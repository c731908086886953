/** Tests that figures in documents are those of the code. docs.test.ts tests the figures of docs/cost.md. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { settingKeys } from '@lambda-service/cdk';
import { cooldown, freshFor, maxHeaderLength, minModulusLength, usableFor } from '@lambda-service/runtime/auth';
import { maxBodyBytes } from '@lambda-service/runtime/http';
import { responseTime } from '@lambda-service/runtime/time-budget';
import {
  allowOrigins,
  kinds,
  operationNames,
  prod,
  propertiesOf,
  templateOf,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { expect, test } from 'vitest';
import { reasonToSkip } from '../contract.ts';

const read = (file: string): string =>
  readFileSync(path.resolve(import.meta.dirname, '../..', file), 'utf8').replaceAll(/\s+/g, ' ');

const dev = withoutHashes(templateOf({ ...kinds.dev, allowOrigins }).toJSON());

/** Lists the different values that a property has in the resources of a type. `name` may be a path, as in `A.B`. */
const valuesOf = (type: string, name: string, template = prod): unknown[] => {
  const values = Object.values(propertiesOf(type, template)).map((properties) =>
    name.split('.').reduce<unknown>((value, key) => Object(value)[key], properties),
  );
  return [...new Set(values)];
};

const throttle = ['ThrottlingRateLimit', 'ThrottlingBurstLimit'].flatMap((name) =>
  valuesOf('AWS::ApiGatewayV2::Stage', `DefaultRouteSettings.${name}`),
);
const maxWriteUnits = valuesOf('AWS::DynamoDB::GlobalTable', 'WriteOnDemandThroughputSettings.MaxWriteRequestUnits');
const alarms = Object.values(propertiesOf('AWS::CloudWatch::Alarm'));
const watched = alarms.flatMap(({ Metrics: queries = [{ MetricStat: {} }] }) =>
  (queries as { MetricStat?: object }[]).filter(({ MetricStat }) => MetricStat !== undefined),
);
const composites = Object.keys(propertiesOf('AWS::CloudWatch::CompositeAlarm'));
const logDays = [prod, dev].flatMap((template) => valuesOf('AWS::Logs::LogGroup', 'RetentionInDays', template));
const tokenMinutes = valuesOf('AWS::Cognito::UserPoolClient', 'AccessTokenValidity', dev);
const preflightSeconds = valuesOf('AWS::ApiGatewayV2::Api', 'CorsConfiguration.MaxAge', dev);
const seconds = operationNames.map(([, name]) => propertiesOf('AWS::Lambda::Function')[name]?.['Timeout']);

const { packages }: { packages: Record<string, { engines?: { node?: string } }> } = JSON.parse(
  read('package-lock.json'),
);
/** Packages of which npm warns if it runs on Node.js 20: each part of a range such as `^22.12.0 || >=24` is newer. */
const tooNew = Object.values(packages).filter(({ engines }) =>
  (engines?.node ?? '').split('||').every((part) => Number.parseInt(part.replace(/^\D+/, ''), 10) > 20),
);

const [fresh, usable] = [freshFor / 60_000, usableFor / 60_000];

const [, leastCli] = /version (\S+) of the AWS CLI/.exec(read('template/prove/commands.sh')) ?? [];

test('docs/deploy.md lists all settings', () => {
  const [, table = ''] = /## Settings (.*?) ## /.exec(read('docs/deploy.md')) ?? [];
  expect(settingKeys.filter((key) => !table.includes(`\`${key}\``))).toEqual([]);
});

test.skipIf(reasonToSkip()).each<[document: string, text: string, inText: unknown, inCode: unknown]>([
  ['README.md', 'keys, cached 5 minutes', 5, fresh],
  ['README.md', 'some 50 lines with Node.js 20', 50, 10 * Math.round((5 * tooNew.length) / 10)],
  ['.github/SECURITY.md', '(500 a second, 1,000 at once)', [500, 1_000], throttle],
  ['.github/SECURITY.md', 'more than once in 10 s', 10_000, cooldown],
  ['.github/SECURITY.md', 'at least 2,048 bits', 2_048, minModulusLength],
  ['.github/SECURITY.md', 'makes tokens that expire after an hour', [60], tokenMinutes],
  ['.github/SECURITY.md', 'refused within 5 minutes, or within an hour if', [5, 60], [fresh, usable]],
  ['.github/SECURITY.md', 'Logs are kept for 3 months (`dev`: a week)', [90, 7], logDays],
  [
    'docs/cost.md',
    '15 alarms over 24 metrics, at 0.10 each, and 2 composite alarms',
    [15, 24, 2],
    [alarms.length, watched.length, composites.length],
  ],
  ['docs/cost.md', '43.2 million requests a day', 43.2, (Number(throttle[0]) * 86_400) / 1e6],
  ['docs/cost.md', 'maximum of 1,500 write units a second', [1_500], maxWriteUnits],
  ['docs/operate/backup.md', 'MaxWriteRequestUnits=1500', [1_500], maxWriteUnits],
  ['docs/deploy.md', '| `rateLimit`, `burstLimit` | `500`, `1000` |', [500, 1_000], throttle],
  ['docs/deploy.md', '| logs | 3 months | 1 week |', [90, 7], logDays],
  ['docs/deploy.md', "may keep the gateway's answer for two hours", [7_200], preflightSeconds],
  ['docs/operate/runbook.md', 'had not answered after 2.3 s', 2_300, responseTime],
  ['docs/operate/runbook.md', 'version 2.34 of the AWS CLI', '2.34', leastCli],
  [
    'docs/deploy.md',
    "The service's own roles can do none of this",
    9,
    read('infra/deployment-policy.json').split('aws:PrincipalArn').length - 1,
  ],
  ['docs/deploy.md', 'version 2.34 of the AWS CLI', '2.34', leastCli],
  ['template/prove/README.md', 'version 2.34 of the AWS CLI', '2.34', leastCli],
  ['docs/operate/runbook.md', 'an operation has a time-out of 5 s', [5], [...new Set(seconds)]],
  ['schemas/decisions.md', 'A body has at most 1 MiB', 2 ** 20, maxBodyBytes],
  ['schemas/decisions.md', 'at most 8,192 characters', 8_192, maxHeaderLength],
  ['packages/runtime/decisions.md', 'fetched again after 5 minutes', 5, fresh],
])('%s says "%s", as the code does', (document, text, inText, inCode) => {
  expect(read(document)).toContain(text);
  expect(inCode).toEqual(inText);
});

test.skipIf(reasonToSkip())(
  'a million plants cost at most 3.80 dollars, and the service 8 a month without requests',
  () => {
    const sums = read('docs/cost.md').matchAll(/\*\*together\*\* \| \*\*([\d.]+)\*\*/g);
    const [quiet, million] = [...sums].map(([, sum]) => Number(sum));
    expect(million).toBeLessThanOrEqual(3.8);
    expect(quiet).toBeLessThanOrEqual(8);
  },
);
