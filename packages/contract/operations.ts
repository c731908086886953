/** Reads the operations of an OpenAPI document. Throws a Refusal for anything that is not supported. */
import { type Contract, entriesOf, Refusal, refuseMalformed, resolve, type Schema } from './document.ts';
import { checkBody, checkSchemas, isInherited, isSchema } from './schemas.ts';

/** For each place of a parameter, the property of API Gateway's event (payload format 2.0) that has its value. */
export const eventProperties = { path: 'pathParameters', query: 'queryStringParameters', header: 'headers' } as const;

export type Parameter = {
  name: string;
  in: keyof typeof eventProperties;
  required: boolean;
  schema: Schema;
};

/** A header of a response. `name` is in lower case. `required` is true if the response always has the header. */
export type Header = { name: string; required: boolean; schema: Schema };

/** `schema` is that of the JSON body; it is undefined if the response has no body. */
export type Response = { status: number; headers: Header[]; schema?: Schema; errorCodes: number[] };

/** `body` is the schema of the JSON request body. */
export type Operation = {
  id: string;
  summary?: string;
  method: string;
  path: string;
  scopes: string[];
  parameters: Parameter[];
  body?: Schema;
  responses: Response[];
};

type Reference = { $ref?: string };
type MediaType = { schema?: Schema; example?: unknown; examples?: Record<string, { value?: unknown } & Reference> };
type Content = { content?: Record<string, MediaType> };
type ResponseObject = Content & Reference & { headers?: Record<string, Partial<Header> & Reference> };
type OperationObject = {
  operationId?: string;
  summary?: string;
  security?: Record<string, unknown>[];
  parameters?: (Partial<Omit<Parameter, 'in'>> & { in?: string } & Reference & Schema)[];
  requestBody?: Content & Reference & { required?: boolean };
  responses?: Record<string, ResponseObject>;
};

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

/** What a path item may have besides `methods`. Neither has `trace`, which API Gateway does not support. */
const otherKeys = ['summary', 'description', 'parameters'];

/** Says why a header cannot be a parameter. An event has cookies only in `cookies`, and its body is never in chunks. */
const headerProblem = (name: string): string | undefined => {
  if (['accept', 'authorization', 'content-type'].includes(name))
    return 'which OpenAPI ignores: remove it, as security, the body and the responses say what is sent';
  if (['cookie', 'transfer-encoding'].includes(name)) return 'which no event of API Gateway has: remove it';
  // A token of RFC 9110.
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(name) ? undefined : 'which cannot be the name of a header: rename it';
};

/** Matches a path that CDK and API Gateway take for a route: each segment is text without escapes, or one variable. */
const routePath = /^\/$|^(?:\/(?:(?!\.\.?(?:\/|$))[\w.~:@!$&'()*+,;=-]+|\{[\w.:-]+\}))+$/;

/** @throws Refusal if an HTTP API cannot have all these paths */
const checkPaths = (paths: Contract['paths']): void => {
  const shapes = new Map<string, string>();
  for (const [path] of entriesOf(paths)) {
    const refuse = (problem: string) => new Refusal(`The path ${path} ${problem}.`, paths, path);
    if (!routePath.test(path))
      throw refuse(
        'cannot be a route of an HTTP API: write segments such as /things or /{id}, in ASCII, without %, ?, #, spaces and a / at the end',
      );
    const names = variablesIn(path);
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined) throw refuse(`has the parameter ${repeated} twice: rename one`);
    const shape = path.replaceAll(/\{[^}]*\}/g, '{}');
    const other = shapes.get(shape);
    if (other !== undefined) throw refuse(`matches the same requests as ${other}: make them one path`);
    shapes.set(shape, path);
  }
};

const variablesIn = (path: string): string[] => [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);

/** The keys that an operation may have, besides `x-…`. Others are refused, because this code would ignore them. */
const operationKeys = [
  ...['operationId', 'security', 'parameters', 'requestBody', 'responses'],
  ...['summary', 'description', 'tags', 'externalDocs', 'deprecated'],
];

/** Groups parameters by the event's property. `required` names those that are required or have a default. */
export const parametersByPlace = (contract: Contract, parameters: Parameter[]) =>
  Object.entries(eventProperties).flatMap(([place, property]) => {
    const here = parameters.filter((parameter) => parameter.in === place);
    const always = here.filter((each) => each.required || resolve(contract, each.schema)['default'] !== undefined);
    return here.length > 0 ? [{ property, here, required: always.map(({ name }) => name) }] : [];
  });

/** Lists the operations in the contract's order. @throws Refusal that says what is not supported */
export const readOperations = (contract: Contract): Operation[] => {
  if (!isSchema(contract)) throw new Error('The contract must be an OpenAPI document.');
  if (!isSchema(contract.paths)) throw new Refusal('The contract needs paths.', contract, 'paths');
  if (!isSchema(contract.components?.schemas))
    throw new Refusal('The contract needs schemas in components.', contract, 'components');
  checkPaths(contract.paths);
  const operations = entriesOf(contract.paths).flatMap(([path, item]) => {
    if (!isSchema(item)) throw new Refusal(`${path} needs an operation.`, contract.paths, path);
    return entriesOf(item).flatMap(([key, value]) => {
      if (otherKeys.includes(key)) return [];
      if (!methods.includes(key)) throw new Refusal(`${path} has ${key}, which is not supported.`, item, key);
      const route = `${key.toUpperCase()} ${path}`;
      if (!isSchema(value)) throw new Refusal(`${route} must be an operation.`, item, key);
      const shared = (item['parameters'] ?? []) as OperationObject['parameters'];
      const reader = new OperationReader(contract, key.toUpperCase(), path, value);
      return [refuseMalformed(route, value, () => reader.read(shared))];
    });
  });
  const repeated = operations.find(({ id }, index) => operations.findIndex((other) => other.id === id) !== index);
  if (repeated) {
    const item = contract.paths[repeated.path] ?? {};
    const why = `Two operations have the operationId ${repeated.id}: rename one.`;
    throw new Refusal(why, item, repeated.method.toLowerCase(), 'operationId');
  }
  checkSchemas(contract, contract.components.schemas);
  for (const { id, parameters, body, responses } of operations) {
    const used = [
      ...parameters.map(({ name, schema }) => [`${id}, parameter ${name}`, schema]),
      ...responses.map(({ status, schema = {} }) => [`${id}, response ${status}`, schema]),
      [`${id}, body`, body ?? {}],
    ];
    checkSchemas(contract, Object.fromEntries(used));
    if (body) checkBody(contract, body);
  }
  return operations;
};

class OperationReader {
  readonly #contract: Contract;
  readonly #method: string;
  readonly #path: string;
  readonly #object: OperationObject;

  constructor(contract: Contract, method: string, path: string, object: OperationObject) {
    this.#contract = contract;
    this.#method = method;
    this.#path = path;
    this.#object = object;
  }

  read(shared: OperationObject['parameters'] = []): Operation {
    const unsupported = entriesOf(this.#object).find(([key]) => !operationKeys.includes(key));
    if (unsupported) throw this.#refuse(`has ${unsupported[0]}, which is not supported`, this.#object, unsupported[0]);
    const { summary } = this.#object;
    const body = this.#body();
    return {
      id: this.#id(),
      ...(summary !== undefined && { summary }),
      method: this.#method,
      path: this.#path,
      scopes: this.#scopes(),
      parameters: this.#parameters(shared),
      ...(body && { body }),
      responses: this.#responses(),
    };
  }

  #refuse(problem: string, at: object = this.#object, ...keys: string[]): Refusal {
    return new Refusal(`${this.#method} ${this.#path} ${problem}.`, at, ...keys);
  }

  #id(): string {
    const { operationId = '' } = this.#object;
    if (!/^[a-z][A-Za-z\d]*$/.test(operationId)) throw this.#refuse('needs an operationId such as createThing');
    // The authorizer and the generated contract.ts have these names.
    if (['authorizer', 'contract'].includes(operationId))
      throw this.#refuse(`cannot have the operationId ${operationId}, because another file has that name`);
    return operationId;
  }

  /** Refuses an operation without scopes, because any valid token could call it. */
  #scopes(): string[] {
    const [requirement, ...alternatives] = this.#object.security ?? [];
    const { bearerAuth: scopes, ...others } = requirement ?? {};
    if (!Array.isArray(scopes) || alternatives.length > 0 || Object.keys(others).length > 0)
      throw this.#refuse('needs exactly one item in security, such as "- bearerAuth: [things/create]"');
    if (scopes.length === 0) throw this.#refuse('needs at least one scope in security');
    // A scope may have only the characters that RFC 6749 section 3.3 allows.
    const invalid = scopes.find((scope) => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
    if (invalid !== undefined)
      throw this.#refuse(`requires ${JSON.stringify(invalid)}, which is not one OAuth 2.0 scope`);
    return scopes;
  }

  #parameters(shared: NonNullable<OperationObject['parameters']>): Parameter[] {
    const byKey = new Map<string, Parameter>();
    // An operation's parameter overrides a parameter of its path item that has the same `in` and `name`.
    for (const each of [...shared, ...(this.#object.parameters ?? [])]) {
      const parameter = this.#parameter(resolve(this.#contract, each) as Schema);
      byKey.set(`${parameter.in} ${parameter.name}`, parameter);
    }
    const parameters = [...byKey.values()];
    const names = parameters.map(({ name }) => name);
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined) throw this.#refuse(`has two parameters with the name ${repeated}`);
    const inPath = variablesIn(this.#path);
    const declared = parameters.filter((each) => each.in === 'path').map(({ name }) => name);
    if (inPath.toSorted().join() !== declared.toSorted().join())
      throw this.#refuse(
        `has the path parameters ${inPath.join(', ') || 'none'}, but declares ${declared.join(', ') || 'none'}`,
      );
    return parameters;
  }

  #parameter(object: Schema): Parameter {
    const { name = '', in: place = '', required = false, schema, ...others } = object;
    const { description, example, examples, deprecated, ...unsupported } = others;
    if (name === '') throw this.#refuse('has a parameter without a name', object);
    const what = `the parameter ${String(name)}`;
    if (!(String(place) in eventProperties))
      throw this.#refuse(`has ${what} in ${place}, which is not supported`, object);
    const problem = place === 'header' && headerProblem(String(name).toLowerCase());
    if (problem) throw this.#refuse(`has ${what} in header, ${problem}`, object);
    if (isInherited(String(name))) throw this.#refuse(`has ${what}, whose name is not supported`, object);
    const [[keyword] = []] = entriesOf(unsupported);
    if (keyword !== undefined)
      throw this.#refuse(`has ${what} with ${keyword}, which is not supported`, object, keyword);
    if (!isSchema(schema)) throw this.#refuse(`has ${what} without a schema`, object);
    return {
      // Header names are case-insensitive, and the gateway's event has them in lower case.
      name: place === 'header' ? String(name).toLowerCase() : String(name),
      in: place as Parameter['in'],
      required: required === true,
      schema,
    };
  }

  #body(): Schema | undefined {
    if (this.#object.requestBody === undefined) return undefined;
    const { required, content } = resolve(this.#contract, this.#object.requestBody);
    if (required !== true)
      throw this.#refuse('has a body that is not required, which is not supported', this.#object, 'requestBody');
    return this.#jsonSchema('a request body', content, this.#object.requestBody);
  }

  #responses(): Response[] {
    return entriesOf(this.#object.responses ?? {}).map(([status, reference]) => {
      if (!/^[2345]\d\d$/.test(status))
        throw this.#refuse(`has the response ${status}, which is not supported`, this.#object, 'responses', status);
      const { headers = {}, content } = resolve(this.#contract, reference);
      return {
        status: Number(status),
        headers: Object.entries(headers).map(([name, reference]) => {
          const { required = false, schema = {} } = resolve(this.#contract, reference);
          return { name: name.toLowerCase(), required, schema };
        }),
        ...(content && { schema: this.#jsonSchema(`the response ${status}`, content, reference) }),
        errorCodes: this.#examples(content).flatMap((value) =>
          value instanceof Object && 'error' in value && Number(status) >= 400 ? [Number(value.error)] : [],
        ),
      };
    });
  }

  #examples(content: Content['content']): unknown[] {
    const { example, examples = {} } = content?.['application/json'] ?? {};
    const values = Object.values(examples).map((reference) => resolve(this.#contract, reference).value);
    return example === undefined ? values : [example, ...values];
  }

  #jsonSchema(what: string, content: Content['content'] = {}, at: object): Schema {
    const { 'application/json': json, ...others } = content;
    if (!isSchema(json?.schema) || Object.keys(others).length > 0)
      throw this.#refuse(`has ${what} that is not application/json with a schema`, at);
    return json.schema;
  }
}
