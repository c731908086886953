import type { MiddlewareObj } from '@middy/core';
import validator from '@middy/validator';
import type { Ajv, ErrorObject } from 'ajv';
import type { Validator } from '../generated/validators.js';
import { CatalogueError, errors } from './errors.ts';

/**
 * Checks an event's parsed body against the contract. `eventSchema` is a validator from functions/generated/.
 * @throws CatalogueError notValid, whose message names every invalid field and the rule it breaks
 * @example .use(validBody(contract.createPlant))
 */
export const validBody = <Event>(eventSchema: Validator<Event>): MiddlewareObj<Event> => {
  // @middy/validator's types ask for an Ajv instance, but it documents, and calls, a compiled validator.
  const { before } = validator({ eventSchema: eventSchema as unknown as Ajv });
  return {
    before: async (request) => {
      try {
        await before?.(request);
      } catch (error) {
        if ((error as { statusCode?: unknown }).statusCode !== 400) throw error;
        throw new CatalogueError(errors.notValid, sentence(eventSchema.errors ?? []));
      }
    },
  };
};

const sentence = (violations: ErrorObject[]): string => [...new Set(violations.map(clause))].join('; ');

const clause = ({ keyword, instancePath, params, message }: ErrorObject): string => {
  const field = instancePath.replace(/^\/body\/?/, '');
  if (keyword === 'required') return `${params['missingProperty']} is required`;
  return `${field || 'the request body'} ${keyword === 'type' ? `must be ${article[params['type']]}` : message}`;
};

const article: Record<string, string> = { object: 'an object', string: 'a string' };
