/** Compares the contract with those of earlier releases, whose clients must keep working. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { type Contract, resolve, type Schema } from './document.ts';
import { type Header, type Operation, type Response, readOperations } from './operations.ts';
import { isSchema, schemasOf } from './schemas.ts';
import { type Place, partsOf, refusals } from './subset.ts';

export const readContract = (file: string): Contract => parse(readFileSync(file, 'utf8')) as Contract;

/** Reads the contracts of all releases in a folder, such as 1.0.0.yaml. */
export const readReleases = (folder: string): { version: string; contract: Contract }[] =>
  (existsSync(folder) ? readdirSync(folder) : []).map((file) => ({
    version: path.parse(file).name,
    contract: readContract(path.join(folder, file)),
  }));

/** Returns a sentence for each change to the contract that could break a client of the released contract. */
export const breaksOf = (released: Contract, today: Contract): string[] => {
  const now = readOperations(today);
  const ofOperations = readOperations(released).flatMap((before) => {
    const operation = now.find(({ method, path }) => method === before.method && path === before.path);
    if (!operation) return [`${before.method} ${before.path} is gone.`];
    const comparison = new OperationComparison({ released, today }, before, operation);
    return comparison.breaks().map((what) => `${before.method} ${before.path} ${what}.`);
  });
  return [...ofOperations, ...otherSchemes(released, today)];
};

/** Compares how clients authenticate. Ignores the format of tokens, because clients do not read tokens. */
const otherSchemes = (released: Contract, today: Contract): string[] => {
  const now = today.components['securitySchemes'];
  const relevant = ({ description, bearerFormat, ...scheme }: Schema = {}) => scheme;
  return Object.entries(released.components['securitySchemes'] ?? {})
    .filter(([name, scheme]) => !isDeepStrictEqual(relevant(scheme), relevant(now?.[name])))
    .map(([name]) => `The security scheme ${name} is another one.`);
};

class OperationComparison {
  readonly #contracts: { released: Contract; today: Contract };
  readonly #before: Operation;
  readonly #now: Operation;

  constructor(contracts: { released: Contract; today: Contract }, before: Operation, now: Operation) {
    this.#contracts = contracts;
    this.#before = before;
    this.#now = now;
  }

  breaks(): string[] {
    const { id, scopes } = this.#before;
    const added = this.#now.scopes.filter((each) => !scopes.includes(each));
    return [
      ...(this.#now.id === id ? [] : [`is called ${this.#now.id} instead of ${id}`]),
      ...added.map((each) => `requires the scope ${each}, which it did not`),
      ...this.#parameters(),
      ...this.#body(),
      ...this.#responses(),
    ];
  }

  #placed(before: Schema, now: Schema): { before: Place; now: Place } {
    const { released, today } = this.#contracts;
    return { before: { contract: released, schema: before }, now: { contract: today, schema: now } };
  }

  #parameters(): string[] {
    const same = (one: Operation['parameters'][number]) => (other: Operation['parameters'][number]) =>
      one.name === other.name && one.in === other.in;
    const added = this.#now.parameters.filter((each) => each.required && !this.#before.parameters.some(same(each)));
    return [
      ...added.map(({ name, in: place }) => `requires the ${place} parameter ${name}, which it did not have`),
      ...this.#before.parameters.flatMap((before) => {
        const what = `the ${before.in} parameter ${before.name}`;
        const now = this.#now.parameters.find(same(before));
        if (!now) return [`has lost ${what}`];
        const places = this.#placed(before.schema, now.schema);
        const defaults = [places.before, places.now].map((place) => resolve(place.contract, place.schema)['default']);
        return [
          ...(now.required && !before.required ? [`requires ${what}, which was optional`] : []),
          ...(defaults[0] === defaults[1] ? [] : [`has another default for ${what}`]),
          ...refusals(places.now, places.before).map((why) => `may refuse a value of ${what} that it accepted: ${why}`),
        ];
      }),
    ];
  }

  #body(): string[] {
    const [before, now] = [this.#before.body, this.#now.body];
    if (!before) return now ? ['requires a body, which it did not have'] : [];
    if (!now) return ['has lost its body'];
    const places = this.#placed(before, now);
    return [
      ...fieldsGone(places).map((field) => `has lost the field ${field} of its body`),
      ...refusals(places.now, places.before, 'the body').map((why) => `may refuse a body that it accepted: ${why}`),
    ];
  }

  #responses(): string[] {
    const statuses = this.#before.responses.map(({ status }) => status);
    const added = this.#now.responses.filter(({ status }) => status < 400 && !statuses.includes(status));
    return [
      ...added.map(({ status }) => `may answer ${status}, which released clients do not expect`),
      ...this.#before.responses.flatMap((before) => {
        const now = this.#now.responses.find(({ status }) => status === before.status);
        return now ? this.#response(before, now) : [`no longer answers ${before.status}`];
      }),
    ];
  }

  #response(before: Response, now: Response): string[] {
    const { status } = before;
    const numbers = before.errorCodes.filter((number) => !now.errorCodes.includes(number));
    const places =
      before.schema && now.schema && this.#placed(before.schema, status < 400 ? now.schema : ofService(now.schema));
    const hasOther = (before.schema === undefined) !== (now.schema === undefined);
    return [
      ...(hasOther ? [`${before.schema ? 'has lost' : 'has'} a body in its response ${status}`] : []),
      ...numbers.map((number) => `no longer documents the error ${number}`),
      ...before.headers.flatMap((header) => {
        const left = now.headers.find(({ name }) => name === header.name);
        return this.#header(header, left, status);
      }),
      ...(places ? this.#answer(places, status) : []),
    ];
  }

  #header(before: Header, now: Header | undefined, status: number): string[] {
    const what = `the header ${before.name} of its response ${status}`;
    if (!now) return [`has lost ${what}`];
    const places = this.#placed(before.schema, now.schema);
    return [
      ...(before.required && !now.required ? [`may leave out ${what}`] : []),
      ...refusals(places.before, places.now).map((why) => `may answer with a value of ${what} that is new: ${why}`),
    ];
  }

  #answer(places: { before: Place; now: Place }, status: number): string[] {
    return [
      ...fieldsGone(places).map((field) => `has lost the field ${field} of its response ${status}`),
      ...refusals(places.before, places.now, 'the body').map(
        (why) => `may answer ${status} with what the release rules out: ${why}`,
      ),
    ];
  }
}

/**
 * Returns an error response's schema without the gateway's errors. The gateway may answer any request with an error, so
 * clients expect that, whether the release documented it or not.
 */
const ofService = (schema: Schema): Schema => {
  const { anyOf, ...others } = schema;
  const own = [anyOf]
    .flat()
    .filter(isSchema)
    .filter(({ $ref }) => $ref !== '#/components/schemas/GatewayError');
  if (own.length === 0) return schema;
  return own.length === 1 ? { allOf: [others, ...own] } : { ...others, anyOf: own };
};

const fieldsGone = ({ before, now }: { before: Place; now: Place }): string[] => {
  const fields = fieldsOf(now);
  return fieldsOf(before).filter((field) => !fields.includes(field));
};

/** Lists the fields that a schema allows, at any depth, such as `owner.name`. */
const fieldsOf = ({ contract, schema }: Place, prefix = '', followed: unknown[] = []): string[] => {
  const { $ref } = schema;
  if ($ref !== undefined && followed.includes($ref)) return [];
  const refs = $ref === undefined ? followed : [...followed, $ref];
  const fields = partsOf({ contract, schema }).flatMap((part) =>
    Object.entries(part).flatMap(([keyword, value]) =>
      schemasOf(keyword, value).flatMap(([name, inner]) => {
        const field = keyword === 'properties' ? `${prefix}${name}` : '';
        const inside = fieldsOf({ contract, schema: inner }, field ? `${field}.` : prefix, refs);
        return field ? [field, ...inside] : inside;
      }),
    ),
  );
  return [...new Set(fields)];
};
