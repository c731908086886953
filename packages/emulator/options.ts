/** The options of `serve`, and their check: some callers do not use TypeScript, and the command reads them from a file. */
import { inspect } from 'node:util';
import type { StoreLocation } from './dynamodb/store.ts';
import { isObject } from './gateway/response.ts';
import type { AccessLogLine, GatewayOptions } from './gateway/server.ts';
import type { FunctionOptions } from './lambda/functions.ts';
import type { ReadOptions, Template } from './template/read-template.ts';
import { own } from './template/template.ts';

/** A CDK app, or any object whose method `synth` returns the folder to which the CDK has written. */
export type App = { synth: () => { directory: string } };

/** The stack to serve: a stack of a CDK app, or a template and the folder of its assets. */
export type Source = { app: App; stack?: string } | { template: Template; assets: string };

export type ServeOptions = Source &
  ReadOptions &
  FunctionOptions &
  Pick<GatewayOptions, 'intercept'> & {
    /** A folder for the embedded store's data, or the address of a DynamoDB that the caller runs. */
    store: StoreLocation;
    /** The port on 127.0.0.1; 0 (the default) means any free port. */
    port?: number;
    /** Called after each request with its line of the access log, which includes what the functions have logged. */
    onRequest?: (logged: AccessLogLine) => void;
  };

type NamesOf<Options> = Options extends Options ? keyof Options : never;

type Check = [expected: string, isValid: (value: unknown) => boolean];

const a = (type: 'string' | 'boolean' | 'function'): Check => [`a ${type}`, (value) => typeof value === type];

const areTexts = (values: unknown): boolean =>
  values instanceof Object && Object.values(values).every((each) => typeof each === 'string');

const isJwt = (value: unknown): boolean => {
  const { issuer, audience = [], jwks = { keys: [] } } = isObject(value) ? value : {};
  return typeof issuer === 'string' && areTexts(audience) && isObject(jwks) && Array.isArray(jwks['keys']);
};

const checks: Record<NamesOf<ServeOptions>, Check> = {
  app: ['a CDK app', (value) => isObject(value) && typeof value['synth'] === 'function'],
  stack: a('string'),
  template: ['an object', isObject],
  assets: a('string'),
  store: ['{ folder } or { endpoint }', (value) => isObject(value) && ('folder' in value || 'endpoint' in value)],
  certificates: ['a list of strings', areTexts],
  jwt: ['{ issuer: "...", audience: ["..."], jwks: { keys: [...] } }', isJwt],
  port: ['a whole number', Number.isInteger],
  maxInstances: ['a whole number above 0', (value) => Number.isInteger(value) && Number(value) > 0],
  leaveOut: a('boolean'),
  environment: ['{ FUNCTION: { NAME: "..." } }', (value) => isObject(value) && Object.values(value).every(areTexts)],
  debug: a('boolean'),
  onRequest: a('function'),
  intercept: a('function'),
};

/** @throws Error with a message for the user if an option is unknown, or has a value of the wrong type */
export const checkOptions = (options: object): void => {
  for (const [name, value] of Object.entries(options)) {
    const [expected, isValid] = own(checks, name) ?? [];
    if (!isValid) throw new Error(`The option ${name} is unknown. The options are ${Object.keys(checks).join(', ')}.`);
    if (value !== undefined && !isValid(value))
      throw new Error(`The option ${name} must be ${expected}, not ${inspect(value, { depth: 0 })}.`);
  }
};
