/** Tests that figures in documents are those of the code. cost.test.ts tests the figures of docs/cost.md. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import bench from '../bench/results.json' with { type: 'json' };
import { maxHeaderLength } from '../functions/auth/bearer-token.ts';
import { cooldown, freshFor, minModulusLength, minPublicExponent, usableFor } from '../functions/auth/issuer-keys.ts';
import { timeoutEarlyInMillis } from '../functions/http/http-operation.ts';
import { maxBodyBytes } from '../functions/http/json-body.ts';
import { bundle } from '../infra/bundling.ts';
import { allowOrigins, kinds, templateOf } from './kit/stacks.ts';
import { operationNames, prod, propertiesOf, withoutHashes } from './kit/template.ts';

const read = (file: string): string =>
  readFileSync(path.resolve(import.meta.dirname, '..', file), 'utf8').replaceAll(/\s+/g, ' ');

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
const logDays = [prod, dev].flatMap((template) => valuesOf('AWS::Logs::LogGroup', 'RetentionInDays', template));
const tokenMinutes = valuesOf('AWS::Cognito::UserPoolClient', 'AccessTokenValidity', dev);
const preflightSeconds = valuesOf('AWS::ApiGatewayV2::Api', 'CorsConfiguration.MaxAge', dev);
const rollOut = valuesOf('AWS::CodeDeploy::DeploymentGroup', 'DeploymentConfigName');
const inSteps = ['CodeDeployDefault.LambdaCanary10Percent5Minutes'];

const functionSeconds = operationNames.map(([, name]) => propertiesOf('AWS::Lambda::Function')[name]?.['Timeout']);
const slowest = Object.entries(propertiesOf('AWS::CloudWatch::Alarm')).flatMap(([name, { Threshold }]) =>
  name.includes('ApiLatencyP99') ? [Threshold] : [],
);

/** How many per cent createPlant is above (or, if negative, below) the handler `bare` in the benchmark. */
const aboveBare = (figure: (handler: (typeof bench.handlers)[number] | undefined) => number | undefined): number => {
  const [ours = Number.NaN, bares = Number.NaN] = ['createPlant', 'bare'].map((name) =>
    figure(bench.handlers.find((handler) => handler.name === name)),
  );
  return Math.round((100 * ours) / bares - 100);
};

const bareBytes = bench.handlers.find(({ name }) => name === 'bare')?.bytes ?? Number.NaN;
const sizeAboveBare = Math.round((100 * bundle('create-plant.lambda.ts').length) / bareBytes - 100);

const minutes = (milliseconds: number): number => milliseconds / 60_000;

test.each<[document: string, text: string, inText: unknown, inCode: unknown]>([
  ['README.md', 'its bundle is 43 % smaller', -43, sizeAboveBare],
  ['README.md', 'loads in [45 % less time]', -45, aboveBare((handler) => handler?.ratios.import.median)],
  ['README.md', 'costs 5 to 10 % more CPU time', 10, aboveBare((handler) => handler?.ratios.warm?.median)],
  ['README.md', 'keys, cached 5 minutes', 5, minutes(freshFor)],
  ['SECURITY.md', '(500 a second, 1,000 at once)', [500, 1_000], throttle],
  ['SECURITY.md', 'more than once in 10 s', 10_000, cooldown],
  ['SECURITY.md', 'but not again for 10 s', 10_000, cooldown],
  [
    'SECURITY.md',
    'at least 2,048 bits, exponent at least 65,537',
    [2_048, 65_537n],
    [minModulusLength, minPublicExponent],
  ],
  ['SECURITY.md', 'makes tokens that expire after an hour', [60], tokenMinutes],
  ['SECURITY.md', 'refused within 5 minutes, or within an hour if', [5, 60], [freshFor, usableFor].map(minutes)],
  ['SECURITY.md', 'Logs are kept for 3 months (`dev`: a week)', [90, 7], logDays],
  ['docs/deploy.md', '| `rateLimit`, `burstLimit` | `500`, `1000` |', [500, 1_000], throttle],
  ['docs/deploy.md', '| logs | 3 months | 1 week |', [90, 7], logDays],
  ['docs/deploy.md', 'gets a token from it, which is valid for an hour', [60], tokenMinutes],
  ['docs/deploy.md', 'a tenth of the calls for 5 minutes, then all', inSteps, rollOut],
  ['docs/deploy.md', "may keep the gateway's answer for two hours", [7_200], preflightSeconds],
  ['docs/operate/runbook.md', 'some responses take over 2.5 s', [2_500], slowest],
  ['docs/operate/runbook.md', 'had not answered after 2.3 s', 2_300, 5_000 - timeoutEarlyInMillis],
  ['docs/operate/runbook.md', "close to an operation's time-out of 5 s", [5], [...new Set(functionSeconds)]],
  ['docs/operate/runbook.md', 'of each request for 3 months', 90, logDays[0]],
  ['docs/api.md', 'the body is over 1 MiB', 2 ** 20, maxBodyBytes],
  ['docs/decisions/contract.md', 'A body has at most 1 MiB', 2 ** 20, maxBodyBytes],
  ['docs/decisions/contract.md', 'a key of at least 2,048 bits', 2_048, minModulusLength],
  ['docs/decisions/contract.md', 'within 5 minutes, or within an hour if', [5, 60], [freshFor, usableFor].map(minutes)],
  ['docs/decisions/contract.md', 'At most 8,192 characters', 8_192, maxHeaderLength],
  ['docs/decisions/key-cache.md', 'fetched again after 5 minutes', 5, minutes(freshFor)],
  ['docs/decisions/key-cache.md', 'known keys are used for up to an hour', 60, minutes(usableFor)],
  ['docs/decisions/key-cache.md', 'at least 10 seconds between two fetches', 10_000, cooldown],
])('%s says "%s", as the code does', (document, text, inText, inCode) => {
  expect(read(document)).toContain(text);
  expect(inCode).toEqual(inText);
});
