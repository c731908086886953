/** The options of `serve`, and their check: some callers do not use TypeScript, and the command reads them from a file. */
import { createPublicKey, type JsonWebKey, X509Certificate } from 'node:crypto';
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

/** @throws Error with a message for the user if a value is not as expected. `place` names it. */
type Check = (value: unknown, place: string) => void;

const must =
  (expected: string, isValid: (value: unknown) => unknown): Check =>
  (value, place) => {
    if (!isValid(value))
      throw new Error(
        `The option ${place} must be ${expected}, not ${inspect(value, { depth: 0, maxStringLength: 50 })}.`,
      );
  };

const a = (type: 'string' | 'boolean' | 'function'): Check => must(`a ${type}`, (value) => typeof value === type);
const [list, object] = [must('a list', Array.isArray), must('an object', isObject)];

/** Checks the parts of a value, and before that the value itself. */
const each =
  (whole: Check, part: Check): Check =>
  (value, place) => {
    whole(value, place);
    for (const [name, inner] of Object.entries(Object(value))) part(inner, `${place}.${name}`);
  };

/** Checks fields that may be missing, but no others. */
const fields =
  (known: Record<string, Check>, whole: Check = object): Check =>
  (value, place) => {
    whole(value, place);
    for (const [name, inner] of Object.entries(Object(value))) {
      const [where, check] = [place ? `${place}.${name}` : name, own(known, name)];
      if (!check) throw new Error(`The option ${where} is unknown. The options are ${Object.keys(known).join(', ')}.`);
      if (inner !== undefined) check(inner, where);
    }
  };

/** Whether `parse` accepts a value. */
const parses =
  (parse: (value: string & JsonWebKey) => unknown) =>
  (value: unknown): boolean => {
    try {
      return parse(value as string & JsonWebKey) !== undefined;
    } catch {
      return false;
    }
  };
const certificate = must(
  'a certificate (PEM)',
  parses((text) => new X509Certificate(String(text))),
);
const publicKey = must(
  'a public key (JWK)',
  parses((key) => createPublicKey({ key, format: 'jwk' })),
);

const jwt = must('{ issuer: "...", audience: ["..."], jwks: { keys: [...] } }', (value) => Object(value).issuer);
const jwks = must('{ keys: [...] }', (value) => Array.isArray(Object(value).keys));
const stores = must('{ folder } or { endpoint }', (value) => 'folder' in Object(value) !== 'endpoint' in Object(value));

const checks: Record<NamesOf<ServeOptions>, Check> = {
  app: must('a CDK app', (value) => isObject(value) && typeof value['synth'] === 'function'),
  stack: a('string'),
  template: object,
  assets: a('string'),
  store: fields({ folder: a('string'), endpoint: a('string') }, stores),
  certificates: each(list, certificate),
  jwt: fields(
    { issuer: a('string'), audience: each(list, a('string')), jwks: fields({ keys: each(list, publicKey) }, jwks) },
    jwt,
  ),
  port: must(
    'a whole number from 0 to 65535',
    (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 65_536,
  ),
  maxInstances: must('a whole number above 0', (value) => Number.isInteger(value) && Number(value) > 0),
  leaveOut: a('boolean'),
  environment: each(object, each(object, a('string'))),
  debug: a('boolean'),
  onRequest: a('function'),
  intercept: a('function'),
};

/** @throws Error with a message for the user if an option is unknown, or has a value of the wrong type */
export const checkOptions = (options: object): void => fields(checks)(options, '');
