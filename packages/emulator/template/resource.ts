import { isObject } from '../gateway/response.ts';
import type { Account } from '../served-stack.ts';
import type { ReadProperty, ServedType } from './resource-types.ts';
import { evaluate, evaluateKnown, type Named, namesIn, Refusal, type Scope } from './template.ts';

/** What a resource needs of the Resources of its stack. */
export type Stack = {
  account: Account;
  scope: Scope;
  mustServe: (resource: Named) => void;
  leaveOutPart: (part: string, reason: string, refusal: Refusal) => void;
};

/** The whole numbers that AWS accepts for a property. */
type NumberRange = { min: number; max?: number };

/**
 * A resource of a type that the emulator serves. Its methods accept only the property names in the type's `read`
 * list.
 */
export class Resource<T extends ServedType = ServedType> {
  readonly logicalId: string;
  readonly type: T;
  readonly #properties: Record<string, unknown>;
  readonly #stack: Stack;

  constructor(logicalId: string, type: T, properties: Record<string, unknown>, stack: Stack) {
    this.logicalId = logicalId;
    this.type = type;
    this.#properties = properties;
    this.#stack = stack;
  }

  get account(): Account {
    return this.#stack.account;
  }

  /** @throws Refusal if the resource is left out */
  mustBeServed(): void {
    this.#stack.mustServe(this);
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
    return evaluate(part, { resource: this, path }, this.#stack.scope);
  }

  /** Evaluates a part of a property, but makes nothing up. @throws UnknownValue */
  evaluateKnown(path: string, part: unknown): unknown {
    return evaluateKnown(part, { resource: this, path }, this.#stack.scope);
  }

  /**
   * A property that is a string of some form. `otherwise` is the default; without a default, the property is required.
   */
  text(name: ReadProperty<T>, otherwise?: string, form = /^/): string {
    const value = this.get(name);
    if (value === undefined && otherwise !== undefined) return otherwise;
    if (value === undefined) throw this.refuse(`it has no ${name}`, `Set its ${name}.`);
    const text = this.textIn(name, value);
    if (form.test(text)) return text;
    throw this.unsupported(name, value, `AWS accepts only what matches ${form.source}.`);
  }

  /** Checks that a value in a property is a string, or what CloudFormation converts to one. */
  textIn(path: string, value: unknown): string {
    if (value !== undefined && typeof value !== 'object') return String(value);
    throw this.refuse(`its ${path} is not a string`, 'Set it to a string.');
  }

  /** Checks each value in a list. */
  textsIn(path: string, values: unknown[]): string[] {
    return values.map((value, index) => this.textIn(`${path}.${index}`, value));
  }

  /** A property that is a number. `otherwise` is the default. */
  number(name: ReadProperty<T>, otherwise: number, range: NumberRange): number {
    return this.numberIn(name, this.get(name) ?? otherwise, range);
  }

  /** Checks that a value in a property is a number in a range. `path` names the value in error messages. */
  numberIn(path: string, value: unknown, { min, max }: NumberRange): number {
    const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
    if (Number.isInteger(number) && number >= min && number <= (max ?? number)) return number;
    const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
    throw this.unsupported(path, value, `Set it to a whole number ${range}.`);
  }

  /** A property that is a list; an empty list if the property is not set. */
  list(name: ReadProperty<T>): unknown[] {
    const value = this.get(name) ?? [];
    if (!Array.isArray(value)) throw this.refuse(`its ${name} is not a list`, 'Set it to a list.');
    return value;
  }

  texts(name: ReadProperty<T>): string[] {
    return this.textsIn(name, this.list(name));
  }

  /**
   * Refuses a property unless its value is in `allowed`. Undefined in `allowed` means that the property may be absent.
   */
  mustBe(name: ReadProperty<T>, allowed: (string | boolean | undefined)[]): void {
    const value = this.get(name);
    // Compare as text, because CloudFormation converts between strings, numbers and booleans.
    if (allowed.some((each) => String(each) === String(value))) return;
    const supported = allowed.filter((each) => each !== undefined).map((each) => JSON.stringify(each));
    const found = value === undefined ? `it has no ${name}` : `its ${name} is ${JSON.stringify(value)}`;
    throw this.refuse(`${found}, and only ${supported.join(' or ')} is supported`);
  }

  /**
   * Returns the fields of `value`, an object inside a property of this resource.
   * @param path names the object in the error message
   * @param read the fields that the caller reads
   * @param withoutEffect the names of other fields that it may have
   * @throws Refusal if it has another field
   */
  fields<Field extends string>(
    path: string,
    value: unknown,
    read: readonly Field[],
    withoutEffect = '',
  ): Partial<Record<Field, unknown>> {
    const object = this.object(path, value);
    const known: string[] = [...read, ...namesIn(withoutEffect)];
    const others = Object.keys(object).filter((field) => !known.includes(field));
    if (others.length > 0) throw this.refuse(`its ${path}.${others[0]} is not supported`);
    return object as Partial<Record<Field, unknown>>;
  }

  object(path: string, value: unknown): Record<string, unknown> {
    if (isObject(value)) return value;
    throw this.refuse(`its ${path} is not an object`, 'Set it to an object.');
  }

  refuse(reason: string, advice?: string): Refusal {
    return new Refusal(this, reason, advice);
  }

  /** Leaves out a part of this resource, and serves the rest. */
  leaveOut(part: string, reason: string): void {
    this.#stack.leaveOutPart(part, reason, this.refuse(`its ${part} is not supported: ${reason}`));
  }

  /** An error for a value that AWS or the emulator does not accept. `path` names the value. */
  unsupported(path: string, value: unknown, advice?: string): Refusal {
    return this.refuse(`its ${path} ${JSON.stringify(value)} is not supported`, advice);
  }
}
