import type { MiddlewareObj } from '@middy/core';
import validator from '@middy/validator';
import type { Ajv, ErrorObject } from 'ajv';
import { CatalogueError, errors } from './errors.ts';
import { type EventParameter, parseParameters } from './parameters.ts';

export type Validator<Event> = { (event: unknown): event is Event; errors?: ErrorObject[] | null };

/** `names` are the names of fields and parameters in the contract. */
type EventRules<Event> = {
  validate: Validator<Event>;
  parameters: readonly EventParameter[];
  names: readonly string[];
};

/**
 * Checks an event's parameters and parsed body against the contract. The argument is a module of functions/generated/.
 * @throws CatalogueError notValid, whose message names at most ten invalid fields, with the rules that they break
 * @example .use(validEvent(rules))
 */
export const validEvent = <Event>(rules: EventRules<Event>): MiddlewareObj<Event> => {
  // @middy/validator's types demand an Ajv instance, but its documentation and its code use a compiled validator.
  const { before } = validator({ eventSchema: rules.validate as unknown as Ajv });
  return {
    before: async (request) => {
      parseParameters(request.event as object, rules.parameters);
      try {
        await before?.(request);
      } catch (error) {
        if ((error as { statusCode?: unknown }).statusCode !== 400) throw error;
        const violations = rules.validate.errors ?? [];
        // A name that the contract does not have comes from the client, so the log must not have it.
        const inLog = (name: string): string => (rules.names.includes(name) ? name : '*');
        // The first are enough for the log: half a million would take another second of CPU time.
        const first = violations.slice(0, limits.violations);
        throw new CatalogueError(errors.notValid, sentence(violations), sentence(first, inLog));
      }
    },
  };
};

/** A body of 1 MiB can break half a million rules, but Lambda returns at most 6 MB. */
const limits = { violations: 10, nameLength: 200 };

const sentence = (violations: ErrorObject[], show = (name: string): string => name): string => {
  const clauses = [...new Set(violations.map((violation) => clause(violation, show)))];
  const more = clauses.splice(limits.violations).length;
  return [...clauses, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
};

const clause = ({ instancePath, params, message }: ErrorObject, show: (name: string) => string): string => {
  const { missingProperty: missing, allowedValues, allowedValue = allowedValues } = params;
  const field = missing ?? params['additionalProperty'] ?? params['unevaluatedProperty'];
  const path = field === undefined ? instancePath : `${instancePath}/${field}`;
  const name = nameOf(path.split('/').map(show));
  if (field !== undefined) return `${name} is ${missing ? 'required' : 'not allowed'}`;
  return `${name} ${message}${allowedValue === undefined ? '' : `: ${JSON.stringify(allowedValue)}`}`;
};

/** @example nameOf(['', 'queryStringParameters', 'id']) // 'the query parameter id' */
const nameOf = ([, part = '', ...field]: string[]): string => {
  const name = field.join('/');
  const short = name.length > limits.nameLength ? `${name.slice(0, limits.nameLength)}…` : name;
  return `${prefixes[part] ?? ''}${short}` || 'the request body';
};

const prefixes: Record<string, string> = {
  pathParameters: 'the path parameter ',
  queryStringParameters: 'the query parameter ',
  headers: 'the header ',
};
