/** Compiles a contract that a test makes, in the same way as `npm ci` compiles the real one. */
import type { ErrorObject } from 'ajv';
import type { Contract, Schema } from '../../document.ts';
import { readOperations } from '../../operations.ts';
import { compileValidators } from '../../validators.ts';

export const head = { openapi: '3.1.0', info: { title: 'Things', version: '1.0.0' } };

/** Returns a contract with one operation, `PUT /things/{id}`. `change` adds or replaces properties of the operation. */
export const contractWith = (change: object, schemas: Record<string, Schema> = {}): Contract => ({
  ...head,
  paths: {
    '/things/{id}': {
      put: {
        operationId: 'putThing',
        security: [{ bearerAuth: ['things/put'] }],
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer', format: 'int64' } }],
        responses: { 200: { description: 'done' } },
        ...change,
      },
    },
  },
  components: { schemas },
});

export const jsonBody = (schema: Schema) => ({
  requestBody: { required: true, content: { 'application/json': { schema } } },
});

type Compiled = {
  validate: { (event: unknown): event is object; errors?: ErrorObject[] | null };
  parameters: never[];
  names: string[];
};

/** Compiles a contract that `contractWith` made. @returns the generated module of its operation */
export const compiled = async (contract: Contract): Promise<Compiled> => {
  const { putThing = '' } = await compileValidators(contract, readOperations(contract));
  return import(`data:text/javascript,${encodeURIComponent(putThing)}`);
};
