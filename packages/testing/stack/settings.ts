/** The CDK contexts with which tests make stacks. */
import { readFileSync } from 'node:fs';
import { audience } from '../tokens.ts';

/**
 * The CDK's feature flags from cdk.json. The settings in that file are left out, because the tests must pass with any
 * settings.
 */
const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
export const featureFlags = Object.fromEntries(Object.entries(context).filter(([key]) => key.startsWith('@')));

export const externalIssuer = {
  issuer: 'https://issuer.example',
  audience,
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
