import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import cdkJson from '../../../cdk.json' with { type: 'json' };
import { PlantStoreStack } from '../../../infra/plant-store-stack.ts';
import { readSettings } from '../../cdk/settings.ts';

/**
 * The CDK's feature flags from cdk.json. The settings in that file are left out, because the tests must pass with any
 * settings.
 */
export const featureFlags = Object.fromEntries(Object.entries(cdkJson.context).filter(([key]) => key.startsWith('@')));

/** Makes a stack with this CDK context and passes it to `use`. */
export const withStack = <T>(context: Record<string, string>, use: (stack: PlantStoreStack) => T): T => {
  // Without `outdir`, CDK leaves a temporary folder behind for each App.
  const outdir = mkdtempSync(path.join(os.tmpdir(), 'plant-store-test-'));
  try {
    const app = new App({
      outdir,
      context: { ...featureFlags, ...context },
      // CloudFormation's validation is left out: it is slow, changes no template, and app.e2e.ts runs it.
      builtinCloudFormationValidation: false,
    });
    return use(new PlantStoreStack(app, readSettings(app.node)));
  } finally {
    rmSync(outdir, { recursive: true });
  }
};

/** Makes a stack for a single construct, which is not synthesized, so nothing is written to `outdir`. */
export const emptyStack = (): Stack => new Stack(new App({ outdir: os.tmpdir() }), 'Default');

export const templateOf = (context: Record<string, string>): Template =>
  withStack(context, (stack) => Template.fromStack(stack));

export const externalIssuer = {
  issuer: 'https://issuer.example',
  audience: 'urn:plant-store',
  jwksUri: 'https://issuer.example/keys?appid=a1',
  clientIds: 'client-1',
};

/**
 * Settings that give the API a custom domain name. `zone` names the existing DNS zone in which the stack creates the
 * name's record.
 */
export const named = {
  domainName: 'api.example.com',
  certificateArn: 'arn:aws:acm:eu-central-1:123456789012:certificate/11111111-2222-3333-4444-555555555555',
};
export const zone = { hostedZoneId: 'ZONEEXAMPLE', hostedZoneName: 'example.com' };

export const allowOrigins = 'https://shop.example,http://localhost:5173';

const prod = { stage: 'prod', alarmEmail: 'none' };

/** The CDK context for each of four kinds of stack, which differ only in stage and issuer. */
export const kinds: Record<'prod' | 'prodWithIssuer' | 'dev' | 'devWithIssuer', Record<string, string>> = {
  prod,
  prodWithIssuer: { ...prod, ...externalIssuer },
  dev: { stage: 'dev' },
  devWithIssuer: { stage: 'dev', ...externalIssuer },
};

/** The values of each setting that changes which resources a stack has. Add a new setting here and to `combined`. */
const variants = {
  stage: { prod: { stage: 'prod' }, dev: { stage: 'dev' }, 'dev-anna': { stage: 'dev-anna' } },
  domain: { own: named, inZone: { ...named, ...zone, defaultAddress: 'off' }, none: {} },
  issuer: { cognito: {}, external: externalIssuer },
  origins: { some: { allowOrigins }, none: {} },
  mail: { sent: { alarmEmail: 'me@a.example', budget: '50' }, none: { alarmEmail: 'none' } },
  tracing: { on: { tracing: 'on' }, none: {} },
} satisfies Record<string, Record<string, Record<string, string>>>;

type Variant = { [Setting in keyof typeof variants]: keyof (typeof variants)[Setting] };

/**
 * The combinations of settings whose stacks are synthesized. For any two settings, each pair of their values occurs in
 * at least one combination.
 */
const combined: Variant[] = [
  { stage: 'prod', domain: 'none', issuer: 'cognito', origins: 'none', mail: 'none', tracing: 'none' },
  { stage: 'prod', domain: 'own', issuer: 'cognito', origins: 'none', mail: 'none', tracing: 'none' },
  { stage: 'prod', domain: 'inZone', issuer: 'external', origins: 'some', mail: 'sent', tracing: 'on' },
  { stage: 'dev', domain: 'none', issuer: 'cognito', origins: 'some', mail: 'sent', tracing: 'none' },
  { stage: 'dev', domain: 'own', issuer: 'cognito', origins: 'some', mail: 'none', tracing: 'on' },
  { stage: 'dev', domain: 'inZone', issuer: 'external', origins: 'none', mail: 'none', tracing: 'none' },
  { stage: 'dev-anna', domain: 'none', issuer: 'external', origins: 'none', mail: 'none', tracing: 'on' },
  { stage: 'dev-anna', domain: 'own', issuer: 'external', origins: 'none', mail: 'sent', tracing: 'none' },
  { stage: 'dev-anna', domain: 'inZone', issuer: 'cognito', origins: 'some', mail: 'none', tracing: 'none' },
];

/** For each stack to synthesize: the values of its settings, and the CDK context that sets these values. */
export const combinations = combined.map((variant) => {
  const contexts = Object.entries(variant).map(([setting, value]) => {
    const values: Record<string, Record<string, string>> = variants[setting as keyof Variant];
    return values[value];
  });
  const context: Record<string, string> = Object.assign({}, ...contexts);
  return { what: Object.values(variant).join(', '), ...variant, context };
});
