/**
 * Rehearses deployments in prod that change what a function may do, on a store that enforces roles. The older version
 * of the function keeps its configuration, but its permissions are those that the deployment leaves in the account.
 */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { bundle } from '@lambda-service/cdk/bundling';
import { type FunctionSpec, Functions, type LogLine, readTemplate, type Template } from 'http-api-emulator/testing';
import { openStore } from 'http-api-emulator/testing/store';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { bodyOf, proxyEvent } from '../data/index.ts';
import { startCodeDeploy } from '../fake-aws.ts';
import { fileFolder } from '../programs/index.ts';
import { kinds, synthesizeTo } from '../stack/index.ts';
import { audience } from '../tokens.ts';
import {
  grantedActions as actions,
  changedOperation,
  deployedOver,
  longTimeout,
  raisedAlarms,
  startTrialIssuer,
  valuesOfLog,
  withChange,
  withoutPauses,
  wrapHandler,
} from '../trial/index.ts';
import { hasSmokeTest } from '../under-test.ts';
import { untilAvailable } from '../waiting.ts';
import { part } from './part.ts';

export const testDeployedPermissions = part('permissions', async () => {
  const folder = await fileFolder();
  const store = await openStore({ folder: path.join(folder, 'store') });
  afterAll(store.close);
  const issuer = await startTrialIssuer();
  afterAll(issuer.close);

  /** The deployed code, after a change that first describes the table, and so needs another permission. */
  const describingCode = `${Buffer.from(bundle(changedOperation.entry))}
const { handler } = module.exports;
module.exports = {
  handler: async (event, context) => {
    const { AWS_ENDPOINT_URL_DYNAMODB, AWS_ACCESS_KEY_ID, AWS_SESSION_TOKEN, TABLE_NAME } = process.env;
    const response = await fetch(AWS_ENDPOINT_URL_DYNAMODB, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.DescribeTable',
        'x-amz-date': '20261121T100000Z',
        'x-amz-security-token': AWS_SESSION_TOKEN,
        authorization: \`AWS4-HMAC-SHA256 Credential=\${AWS_ACCESS_KEY_ID}/a/b/dynamodb/aws4_request, SignedHeaders=a, Signature=b\`,
      },
      body: JSON.stringify({ TableName: TABLE_NAME }),
    });
    if (!response.ok) throw new Error(await response.text());
    return handler(event, context);
  },
};`;

  type Change = Parameters<typeof withChange>[0];
  type Version = { template: Template; assets: string };

  /** The versions that were synthesized, by their change. */
  const versions = new Map<Change, Version>();

  const synthesize = async (change: Change): Promise<Version> => {
    const known = versions.get(change);
    if (known) return known;
    const assets = path.join(folder, randomUUID());
    await mkdir(assets);
    return withChange(change, () => {
      const template = synthesizeTo(assets, kinds.prodWithIssuer);
      versions.set(change, { template, assets });
      return { template, assets };
    });
  };

  /** Starts functions with the permissions of their roles. The smoke test also gets `environment`. */
  const start = async (template: Template, { assets }: Version, environment: Record<string, string> = {}) => {
    const { functions: specs, tables } = readTemplate(template, assets, { leaveOut: true });
    await store.createTables(tables);
    const ofIssuer = { ISSUER: issuer.issuer, JWKS_URI: issuer.jwksUri, AUDIENCE: audience };
    const started = specs.map((spec) => {
      const own = { ...spec.environment, ...store.environmentOf(spec), ...ofIssuer };
      const all = { ...spec, timeout: longTimeout, environment: own };
      if (!spec.name.startsWith('SmokeTest')) return all;
      return wrapHandler({ ...all, environment: { ...environment, ...own } }, folder, withoutPauses);
    });
    const functions = new Functions(await Promise.all(started), { certificates: [issuer.certificate] });
    onTestFinished(() => functions.close());
    const nameOf = (start: string): string =>
      specs.find(({ name }: FunctionSpec) => name.startsWith(start))?.name ?? '';
    return { invoke: (name: string, event: unknown) => functions.invokeByName(nameOf(name), event) };
  };

  type Started = Awaited<ReturnType<typeof start>>;

  /** Sends a request with a new body. A denied permission is a 500. @returns its status and what the function logged */
  const send = ({ invoke }: Started): Promise<{ status: unknown; log: LogLine[] }> => {
    const body = bodyOf();
    return untilAvailable(async () => {
      const { log, ...outcome } = await invoke(changedOperation.name, proxyEvent(body));
      return { status: 'result' in outcome ? JSON.parse(outcome.result).statusCode : outcome.failure, log };
    });
  };

  const sendEach = async (versions: Started[]) => {
    const sent: Awaited<ReturnType<typeof send>>[] = [];
    for (const version of versions) sent.push(await send(version));
    return sent;
  };

  /**
   * Deploys `after` over `before`, as CloudFormation and CodeDeploy do: the smoke test tries the new version while the
   * old one gets all requests; then a tenth of the requests go to the new version, then all, but none if the smoke test
   * failed.
   */
  const deploy = async (before: Change, after: Change) => {
    const [old, now] = [await synthesize(before), await synthesize(after)];
    const codeDeploy = await startCodeDeploy((arn, event) =>
      newVersion.invoke(/:function:([A-Za-z]+)/.exec(arn)?.[1] ?? '', event),
    );
    onTestFinished(codeDeploy.close);
    const configured = Object.entries(old.template.Resources).filter(
      ([, { Type }]) => Type === 'AWS::Lambda::Function',
    );
    const left = deployedOver(old.template, now.template).Resources;
    const oldVersion = await start({ Resources: { ...left, ...Object.fromEntries(configured) } }, old);
    const newVersion = await start(now.template, now, codeDeploy.environment);
    const trying = newVersion.invoke('SmokeTest', { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'hook-1' });
    const sent = await sendEach(Array(10).fill(oldVersion));
    const tried = await trying;
    const isGood = codeDeploy.reports.join() === 'd-1 hook-1 Succeeded';
    const tenth = Array.from({ length: 10 }, (_, index) => (index === 5 ? newVersion : oldVersion));
    sent.push(...(await sendEach(isGood ? [...tenth, ...Array(5).fill(newVersion)] : Array(15).fill(oldVersion))));
    const log = [...tried.log, ...sent.flatMap((each) => each.log)];
    return {
      isGood,
      isDeleted: tried.log.some(({ message }) => Object(message).outcome === 'deleted'),
      failed: sent.filter(({ status }) => status !== 200).map(({ status }) => status),
      alarms: raisedAlarms(inject('template'), [valuesOfLog(inject('template'), log)]),
    };
  };

  const usual: Change = { actions };
  const describing: Change = { actions: [...actions, 'dynamodb:DescribeTable'], code: describingCode };

  test.runIf(hasSmokeTest).each<[what: string, before: Change, after: Change, isGood: boolean]>([
    ['stops a new version with wrong permissions', usual, { actions: ['dynamodb:GetItem'] }, false],
    ['stops new code without the permission that it needs', usual, { actions, code: describingCode }, false],
    ['lets code and its permission in together', usual, describing, true],
    ['lets code and its permission out together', describing, usual, true],
  ])('no request fails, and the smoke test %s', async (_, before, after, isGood) => {
    expect(await deploy(before, after)).toEqual({ isGood, isDeleted: isGood, failed: [], alarms: [] });
  });
});
