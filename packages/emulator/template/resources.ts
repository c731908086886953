import type { Account } from '../served-stack.ts';
import {
  invokeInstead,
  invokers,
  leaveOutAdvice,
  onlyFromApi,
  refusedTypes,
  unknownType,
  withoutEffect,
} from './other-types.ts';
import { makeLookUp } from './references.ts';
import { type ReadProperty, type ServedType, served } from './resource-types.ts';
import {
  evaluate,
  type LookUp,
  named,
  own,
  Refusal,
  removeProperty,
  type Template,
  type TemplateResource,
} from './template.ts';

/** Those resources of a template that the emulator serves. */
export class Resources {
  readonly account: Account;
  readonly #resources: Resource[];
  readonly #refusals: Refusal[];
  /** Why something is left out, by its name. Undefined if nothing may be. */
  readonly leftOut: Map<string, string> | undefined;

  /** @throws Error with a line for each resource and property that can neither be served nor be left out */
  constructor(template: Template, account: Account, leaveOut: boolean) {
    this.account = account;
    if (template.Transform !== undefined) {
      throw new Error(
        `The template has the Transform ${JSON.stringify(template.Transform)}, which only CloudFormation can apply. Serve the transformed template.`,
      );
    }
    this.#refusals = Object.entries(template.Resources).flatMap(([logicalId, resource]) => [
      ...check(logicalId, resource),
      ...checkInvoker(logicalId, resource, template),
    ]);
    const unserved = this.#refusals.filter(({ resource }) => !isServed(resource.type));
    const isFinal = ({ resource: { type } }: Refusal) => isServed(type) && type !== 'AWS::Lambda::Function';
    const messages = this.#refusals.filter((each) => !leaveOut || isFinal(each)).map(({ message }) => message);
    if (unserved.length > 0 && !leaveOut) messages.push(leaveOutAdvice);
    if (messages.length > 0) throw new Error(messages.join('\n'));
    this.leftOut = leaveOut ? new Map(unserved.map(({ resource, reason }) => [named(resource), reason])) : undefined;
    const find = (logicalId: string) => this.#resources.find((each) => each.logicalId === logicalId);
    const lookUp = makeLookUp(template, account, find, this.leftOut);
    this.#resources = Object.entries(template.Resources).flatMap(([logicalId, resource]) =>
      isServed(resource.Type) ? new Resource(logicalId, resource.Type, resource.Properties ?? {}, account, lookUp) : [],
    );
  }

  ofType<T extends ServedType>(...types: T[]): Resource<T>[] {
    return this.#resources.filter((each): each is Resource<T> => types.some((type) => type === each.type));
  }

  /** Reads a function, or leaves it out if it is refused, unless the API needs it. */
  readFunction<T>(fn: Resource<'AWS::Lambda::Function'>, isNeeded: boolean, read: () => T): T[] {
    try {
      const refusal = this.#refusals.find(({ resource }) => resource.logicalId === fn.logicalId);
      if (refusal) throw refusal;
      return [read()];
    } catch (error) {
      if (isNeeded || !this.leftOut || !(error instanceof Refusal)) throw error;
      this.leftOut.set(named(fn), error.reason);
      return [];
    }
  }
}

const isServed = (type: string): type is ServedType => Object.hasOwn(served, type);

/**
 * The attributes of a resource that are ignored, because they matter only to a deployment.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-product-attribute-reference.html
 */
const attributes = ['CreationPolicy', 'DeletionPolicy', 'DependsOn', 'Metadata', 'UpdatePolicy', 'UpdateReplacePolicy'];

/**
 * The reasons why the emulator cannot serve a resource. The values of its properties are checked later, when they are
 * read.
 */
const check = (logicalId: string, templateResource: TemplateResource): Refusal[] => {
  const { Type: type, Properties = {}, Condition, ...rest } = templateResource;
  const resource = { logicalId, type };
  if (withoutEffect.has(type)) return [];
  if (!isServed(type)) return [new Refusal(resource, ...(own(refusedTypes, type) ?? unknownType))];
  const properties: { read: readonly string[]; withoutEffect: readonly string[]; refused?: Record<string, string> } =
    served[type];
  const known = [...properties.read, ...properties.withoutEffect];
  const others = Object.keys(Properties).filter((name) => !known.includes(name));
  const refusals = others.map((name) => {
    const reason = own(properties.refused, name);
    return new Refusal(resource, `its ${name} is not supported${reason ? `: ${reason}` : ''}`, removeProperty);
  });
  const unknown = Object.keys(rest)
    .filter((name) => !attributes.includes(name))
    .map((name) => new Refusal(resource, `its attribute ${name} is unknown`, 'Leave it out of the template.'));
  if (Condition === undefined) return [...refusals, ...unknown];
  const reason = `the condition ${String(Condition)} decides whether it exists`;
  const advice = 'Decide in the app that makes the template instead, and leave the Condition out.';
  return [...refusals, ...unknown, new Refusal(resource, reason, advice)];
};

/** Finds, in the JSON text of a property, the logical ids to which its intrinsic functions refer. */
const referredIds = /(?<="Ref":"|"Fn::GetAtt":\[?"|\$\{)\w+/g;

/**
 * Refuses a resource that has no effect in the emulator, but that would invoke a function of the template on AWS.
 */
const checkInvoker = (logicalId: string, { Type: type, Properties }: TemplateResource, template: Template) => {
  const property = own(Properties, own(invokers, type) ?? '');
  const invoked = (JSON.stringify(property ?? '').match(referredIds) ?? [])
    .map((name) => ({ logicalId: name, type: own(template.Resources, name)?.Type ?? '' }))
    .find((referred) => referred.type.startsWith('AWS::Lambda::'));
  if (invoked === undefined) return [];
  return [new Refusal({ logicalId, type }, `it would invoke ${named(invoked)}, and ${onlyFromApi}`, invokeInstead)];
};

type Properties = Record<string, unknown>;

/** The numbers that AWS accepts for a property: only whole numbers, unless `fractions` is set. */
type NumberRange = { min: number; max?: number; fractions?: boolean };

/**
 * A resource of a type that the emulator serves. Its methods accept only the property names in the type's `read`
 * list.
 */
export class Resource<T extends ServedType = ServedType> {
  readonly logicalId: string;
  readonly type: T;
  readonly account: Account;
  readonly #properties: Properties;
  readonly #lookUp: LookUp;

  constructor(logicalId: string, type: T, properties: Properties, account: Account, lookUp: LookUp) {
    this.logicalId = logicalId;
    this.type = type;
    this.account = account;
    this.#properties = properties;
    this.#lookUp = lookUp;
  }

  /**
   * A property with its intrinsic functions evaluated; undefined if the property is not set. @throws Error if the
   * evaluation fails
   */
  get(name: ReadProperty<T>): unknown {
    return this.evaluate(name, this.raw(name));
  }

  /** A property as it is written in the template: its intrinsic functions are not evaluated. */
  raw(name: ReadProperty<T>): unknown {
    return this.#properties[name];
  }

  /** Evaluates the intrinsic functions in a part of a property. `path` names that part in error messages. */
  evaluate(path: string, part: unknown): unknown {
    return evaluate(part, { resource: this, path }, this.#lookUp);
  }

  /** A property that is a string. `otherwise` is the default; without a default, the property is required. */
  text(name: ReadProperty<T>, otherwise?: string): string {
    const value = this.get(name) ?? otherwise;
    if (value === undefined) throw this.refuse(`it has no ${name}`, `Set its ${name}.`);
    if (typeof value === 'object') throw this.refuse(`its ${name} is not a string`, 'Set it to a string.');
    return String(value);
  }

  /** A property that is a number. `otherwise` is the default. */
  number(name: ReadProperty<T>, otherwise: number, range: NumberRange): number {
    return this.numberIn(name, this.get(name) ?? otherwise, range);
  }

  /** Checks that a value in a property is a number from `min` to `max`. `path` names the value in error messages. */
  numberIn(path: string, value: unknown, { min, max, fractions = false }: NumberRange): number {
    const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
    const isInRange = number >= min && number <= (max ?? Number.MAX_VALUE);
    if (isInRange && (fractions || Number.isInteger(number))) return number;
    const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
    const advice = `Set it to a ${fractions ? 'number' : 'whole number'} ${range}.`;
    throw this.unsupported(path, value, advice);
  }

  /** A property that is a list; an empty list if the property is not set. */
  list(name: ReadProperty<T>): unknown[] {
    const value = this.get(name) ?? [];
    if (!Array.isArray(value)) throw this.refuse(`its ${name} is not a list`, 'Set it to a list.');
    return value;
  }

  /**
   * Refuses a property unless its value is in `allowed`. Undefined in `allowed` means that the property may be absent.
   */
  mustBe(name: ReadProperty<T>, allowed: (string | number | boolean | undefined)[], advice: string): void {
    const value = this.get(name);
    // Compare as text, because CloudFormation converts between strings, numbers and booleans.
    if (allowed.some((each) => String(each) === String(value))) return;
    const supported = allowed.find((each) => each !== undefined);
    const found = value === undefined ? `it has no ${name}` : `its ${name} is ${JSON.stringify(value)}`;
    throw this.refuse(`${found}, and only ${JSON.stringify(supported)} is supported`, advice);
  }

  /**
   * Returns the fields of `value`, an object inside a property of this resource. @throws Error if a field is not in
   * `known`
   * @param path names the object in the error message
   */
  fields<Field extends string>(path: string, value: unknown, known: readonly Field[]): Partial<Record<Field, unknown>> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw this.refuse(`its ${path} is not an object`, 'Set it to an object.');
    }
    const others = Object.keys(value).filter((field) => !known.some((each) => each === field));
    if (others.length > 0) throw this.refuse(`its ${path}.${others[0]} is not supported`, removeProperty);
    return value;
  }

  refuse(reason: string, advice: string): Error {
    return new Refusal(this, reason, advice);
  }

  /** An error for a value that AWS or the emulator does not accept. `path` names the value. */
  unsupported(path: string, value: unknown, advice: string): Error {
    return this.refuse(`its ${path} ${JSON.stringify(value)} is not supported`, advice);
  }
}
