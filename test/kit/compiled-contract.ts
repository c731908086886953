/** Compiles a contract that a test makes, in the same way as `npm ci` compiles the real one. */
import type { ErrorObject } from 'ajv';
import { type Contract, readOperations, type Schema } from '../../scripts/contract/operations.ts';
import { compileValidators } from '../../scripts/contract/validators.ts';

/** Returns a contract with one operation, `PUT /things/{id}`. `change` adds or replaces properties of the operation. */
export const contractWith = (change: object, schemas: Record<string, Schema> = {}): Contract => ({
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

type Compiled = { validate: { (event: unknown): event is object; errors?: ErrorObject[] | null }; parameters: never[] };

/** Compiles a contract that `contractWith` made. @returns the generated module of its operation */
export const compiled = async (contract: Contract): Promise<Compiled> => {
  const { putThing = '' } = await compileValidators(contract, readOperations(contract));
  return import(`data:text/javascript,${encodeURIComponent(putThing)}`);
};

/** Returns, for each route with a request body, a function that tells whether the operation accepts a given body. */
export const compiledBodies = async (contract: Contract): Promise<Record<string, (body: unknown) => boolean>> => {
  const operations = readOperations(contract).filter(({ body }) => body !== undefined);
  const modules = await compileValidators(
    contract,
    operations.map((operation) => ({ ...operation, parameters: [] })),
  );
  const checks = operations.map(async ({ id, method, path }) => {
    const { validate } = await import(`data:text/javascript,${encodeURIComponent(modules[id] ?? '')}`);
    // Pass a copy of the body, because the validator may replace a bigint in the body with a number.
    return [`${method} ${path}`, (body: unknown): boolean => validate({ body: structuredClone(body) })] as const;
  });
  return Object.fromEntries(await Promise.all(checks));
};
