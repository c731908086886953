import type { MiddlewareObj } from '@middy/core';
import validator from '@middy/validator';
import type { Ajv, ErrorObject } from 'ajv';
import type { Validator } from '../generated/validators.js';
import { CatalogueError, errors } from './errors.ts';

/**
 * Lets an event pass whose parsed body follows the contract. `eventSchema` is a validator of functions/generated/.
 * @throws CatalogueError notValid, whose message names every member at fault and the rule it breaks
 */
export const validBody = <Event>(eventSchema: Validator<Event>): MiddlewareObj<Event> => {
  // The types of @middy/validator ask for an Ajv instance; what it calls, and documents, is a compiled validator.
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

const sentence = (faults: ErrorObject[]): string => [...new Set(faults.map(clause))].join('; ');

const clause = ({ keyword, instancePath, params, message }: ErrorObject): string => {
  const member = instancePath.replace(/^\/body\/?/, '');
  if (keyword === 'required') return `${params['missingProperty']} is required`;
  return `${member || 'the request body'} ${keyword === 'type' ? `must be ${article[params['type']]}` : message}`;
};

const article: Record<string, string> = { object: 'an object', string: 'a string' };
