/** Reads a stack's template for tests. What is the same for all stages and issuers is tested only on `prod`. */
import { expect, inject } from 'vitest';
import { operations } from '../under-test.ts';

export type Resource = {
  Type: string;
  Properties: Record<string, unknown>;
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
  DependsOn?: string[];
  UpdatePolicy?: unknown;
};
export type Template = { Resources: Record<string, Resource>; Outputs: Record<string, { Value: unknown }> };

/**
 * Removes CDK's hashes from names: `{ Ref: 'CreateOrderLive1EDFD5F5' }` becomes `{ Ref: 'CreateOrderLive' }`. Keeps a
 * SHA-256 in hexadecimal digits, whose end may look like such a hash.
 */
export const withoutHashes = (template: object): Template => {
  const text = JSON.stringify(template)
    .replaceAll(/"[\da-f]{64}\.zip"/g, '"bundle.zip"')
    .replaceAll(/"[\da-f]{64}"|(?<=[A-Za-z]\d*)(?:[\dA-F]{8})+(?:[\da-f]{32}|[\da-f]{8})?(?![\da-fA-F])/g, (found) =>
      found.startsWith('"') ? found : '',
    );
  const plain: Template = JSON.parse(text);
  const { length } = Object.keys((template as Template).Resources);
  if (Object.keys(plain.Resources).length !== length)
    throw new Error('Without their hashes, the logical ids of two resources are the same.');
  return plain;
};

/** The template of stage `prod` with an external issuer. */
export const prod = withoutHashes(inject('template'));

export const ofType = (type: string, template = prod): Record<string, Resource> =>
  Object.fromEntries(Object.entries(template.Resources).filter(([, { Type }]) => Type === type));

/** Returns the properties of all resources of a CloudFormation type, by the key of the resource in the template. */
export const propertiesOf = (type: string, template = prod): Record<string, Resource['Properties']> =>
  Object.fromEntries(Object.entries(ofType(type, template)).map(([name, { Properties = {} }]) => [name, Properties]));

type Intrinsic = {
  Ref?: string;
  'Fn::Join'?: [string, unknown[]];
  'Fn::GetAtt'?: [string, string];
  'Fn::Sub'?: string | [string, Record<string, unknown>];
};

/**
 * Returns a function that converts a string, a `Ref`, an `Fn::GetAtt`, an `Fn::Join` or an `Fn::Sub` to a string, and
 * throws an Error for anything else. `textOf` makes the text of a reference to a resource or to its attribute.
 */
export const resolver = (textOf: (id: string, attribute?: string) => string) => {
  const resolve = (value: unknown): string => {
    if (typeof value === 'string') return value;
    const { Ref: id, 'Fn::Join': join, 'Fn::GetAtt': attribute, 'Fn::Sub': sub } = Object(value) as Intrinsic;
    if (id !== undefined) return textOf(id);
    if (attribute !== undefined) return textOf(...attribute);
    if (join !== undefined) return join[1].map(resolve).join(join[0]);
    if (sub !== undefined) {
      const [text, values] = typeof sub === 'string' ? [sub, {}] : sub;
      return text.replaceAll(/\$\{(.*?)\}/g, (_, name: string) => resolve(values[name] ?? { Ref: name }));
    }
    throw new Error(`${JSON.stringify(value)} cannot be resolved here.`);
  };
  return resolve;
};

/** Converts a text in a template to a string. A `Ref` becomes its logical id, an attribute `id.attribute`. */
export const resolve = resolver((...reference) => reference.join('.'));

type Policy = { Version: string; Statement: Statement[] };
type Statement = { Effect: string; Action: string | string[]; Resource: unknown; Condition?: object };

/**
 * Lists what a policy says, for each action and resource, because CDK merges statements: as sorted strings such as
 * `Allow lambda:GetAlias: CreateOrder.Arn {"StringEquals":…}`.
 */
export const permissionsIn = (document: unknown): string[] => {
  const { Version, Statement } = document as Policy;
  // In an older version, IAM takes policy variables for plain text.
  expect(Version).toBe('2012-10-17');
  return Statement.flatMap(({ Effect, Action, Resource, Condition }) => {
    const condition = Condition === undefined ? '' : ` ${JSON.stringify(Condition)}`;
    const resources = [Resource].flat().map(resolve);
    return [Action].flat().flatMap((action) => resources.map((each) => `${Effect} ${action}: ${each}${condition}`));
  }).sort();
};

/** What the role of a function that the API calls may do. */
export const permissionsOf = (name: string, template = prod): string[] => {
  const { Policies } = propertiesOf('AWS::IAM::Role', template)[`${name}Role`] ?? {};
  return (Policies as { PolicyDocument: object }[]).flatMap(({ PolicyDocument }) => permissionsIn(PolicyDocument));
};

export const ref = (name: string) => ({ Ref: name });
export const arn = (name: string) => ({ 'Fn::GetAtt': [name, 'Arn'] });

/** Returns the name of an operation's function in the template, such as CreateOrder for createOrder. */
export const functionNameOf = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1);

/** For each operation of the contract, its id and the name of its function. */
export const operationNames = Object.keys(operations).map((id) => [id, functionNameOf(id)] as const);

/** The names of the functions that the API calls. Tests use them to expect, say, an alias for each function. */
export const functionNames = ['Authorizer', ...operationNames.map(([, name]) => name)];

/** Calls `make` for each operation, and joins the entries that it returns into one record. */
export const byOperation = <T>(make: (name: string, id: string) => [resource: string, value: T][]): Record<string, T> =>
  Object.fromEntries(operationNames.flatMap(([id, name]) => make(name, id)));
