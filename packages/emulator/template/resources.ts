import { isObject } from '../gateway/response.ts';
import { type Account, defaultAccount, type JwtIssuer, type LeftOut } from '../served-stack.ts';
import type { Deployment } from './cloud-assembly.ts';
import { hasNoEffect, providersOf, refusedTypes, unknownType } from './other-types.ts';
import { makeLookUp } from './references.ts';
import { Resource } from './resource.ts';
import { type PropertyLists, type ServedType, served, tableTypes } from './resource-types.ts';
import {
  isTrue,
  type Named,
  named,
  namesIn,
  own,
  type Place,
  Refusal,
  type Scope,
  type Template,
  type TemplateResource,
} from './template.ts';

/** The resources of a template: those that the emulator serves, and the reasons why it leaves out others. */
export class Resources {
  readonly account: Account;
  readonly scope: Scope;
  /** The names of the resources that have no effect here, such as Logs (AWS::Logs::LogGroup). */
  readonly withoutEffect: string[] = [];
  readonly #resources: Resource[] = [];
  /** The refusals of resources, by their logical ids. */
  readonly #refusals = new Map<string, Refusal>();
  /** Why something is left out, by its name. */
  readonly #leftOut = new Map<string, string>();
  readonly #messages = new Set<string>();
  /** What is being looked up: it must not depend on itself. */
  readonly #sought = new Set<string>();
  #steps = 0;

  constructor(template: Template, deployment: Deployment & { jwt?: JwtIssuer }) {
    if (template.Transform !== undefined) {
      throw new Error(
        `The template has the Transform ${JSON.stringify(template.Transform)}, which only CloudFormation can apply. Serve the transformed template.`,
      );
    }
    this.account = deployment.account ?? defaultAccount;
    const lookUp = makeLookUp(template, deployment, this);
    this.scope = {
      lookUp: (name, attribute, place) =>
        this.#once(attribute === undefined ? name : `${name}.${attribute}`, place, () =>
          lookUp(name, attribute, place),
        ),
      conditions: template.Conditions,
      once: (...search) => this.#once(...search),
      mappings: template.Mappings,
      makeUp: (unknown) => {
        const { path, madeUp, reason } = unknown;
        this.leaveOutPart(path, `${reason.replace(`its ${path}`, 'it')}, so its value is made up`, unknown);
        return madeUp;
      },
    };
    checkForm(template);
    const providers = providersOf(template);
    for (const [logicalId, resource] of Object.entries(template.Resources))
      this.#read({ logicalId, type: resource.Type }, resource, providers);
  }

  get leftOut(): LeftOut[] {
    return Array.from(this.#leftOut, ([resource, reason]) => ({ resource, reason }));
  }

  /** Returns an error with a line for each reason why something cannot be served, and then a last line. */
  error(last: string): Error {
    return new Error([...this.#messages, last].join('\n'));
  }

  /** Finds a resource that is served, or left out. @throws Refusal if it is a table that is left out */
  find(logicalId: string): Resource | undefined {
    const found = this.#resources.find((each) => each.logicalId === logicalId);
    // What refers to a table needs it: the store would not find one that is left out.
    if (found && found.type in tableTypes) this.mustServe(found);
    return found;
  }

  /** All resources of some types, including those that are left out. */
  ofType<T extends ServedType>(...types: T[]): Resource<T>[] {
    return this.#resources.filter((each): each is Resource<T> => types.some((type) => type === each.type));
  }

  /**
   * Reads the resources of some types, and leaves out those that are refused.
   * @param otherwise returns what takes the place of a resource that is left out
   */
  readAll<T extends ServedType, Result>(
    types: T[],
    read: (resource: Resource<T>) => Result,
    otherwise: (resource: Resource<T>, refusal: Refusal) => Result[] = () => [],
  ): Result[] {
    return this.ofType(...types).flatMap((resource) => {
      try {
        this.mustServe(resource);
        return [read(resource)];
      } catch (error) {
        return otherwise(resource, this.leaveOut(resource, error));
      }
    });
  }

  /** @throws Refusal if a resource is left out */
  mustServe({ logicalId }: { logicalId: string }): void {
    const refusal = this.#refusals.get(logicalId);
    if (refusal !== undefined) throw refusal;
  }

  /** Leaves out a resource: it is refused itself, or it needs another one that is. @throws `error` if not a Refusal */
  leaveOut(resource: Named, error: unknown): Refusal {
    if (!(error instanceof Refusal)) throw error;
    if (!this.#refusals.has(resource.logicalId)) this.#refusals.set(resource.logicalId, error);
    this.#list(named(error.resource), error.reason, error);
    // What else needs it is listed only if somebody may call it.
    const isCallable = /::(Function|Route)$/.test(resource.type);
    if (isCallable) this.#list(named(resource), error.summary, error);
    return error;
  }

  /** Leaves out a part of a resource, and serves the rest of it. */
  leaveOutPart(part: string, reason: string, refusal: Refusal): void {
    this.#list(`${part} of ${named(refusal.resource)}`, reason, refusal);
  }

  #once<Found>(what: string, { resource, path }: Place, find: () => Found): Found {
    if (this.#sought.size === 0) this.#steps = 0;
    this.#steps += 1;
    if (this.#sought.has(what) || this.#sought.size >= maxDepth || this.#steps > maxSteps)
      throw new Refusal(resource, `its ${path} depends on itself, or on too much, by ${what}`);
    this.#sought.add(what);
    try {
      return find();
    } finally {
      this.#sought.delete(what);
    }
  }

  #list(name: string, reason: string, { message }: Refusal): void {
    this.#messages.add(message);
    if (!this.#leftOut.has(name)) this.#leftOut.set(name, reason);
  }

  #read(resource: Named, templateResource: TemplateResource, providers: ReadonlySet<string>): void {
    const { logicalId, type } = resource;
    const { Properties = {}, Condition } = templateResource;
    if (hasNoEffect(type) || providers.has(logicalId)) {
      // The CDK adds AWS::CDK::Metadata to each stack; nobody needs to hear of that.
      if (type !== 'AWS::CDK::Metadata') this.withoutEffect.push(named(resource));
      return;
    }
    try {
      if (Condition !== undefined && !isTrue({ Condition }, { resource, path: 'Condition' }, this.scope)) return;
    } catch (error) {
      this.leaveOut(resource, error);
    }
    for (const refusal of check(resource, templateResource)) this.leaveOut(resource, refusal);
    if (isServed(type)) this.#resources.push(new Resource(logicalId, type, Properties, this));
  }
}

/** How deep a template may be nested, and how many references may lead to a value, in a row and in all. */
const [maxDepth, maxSteps] = [100, 10_000];

const isShallow = (value: unknown, depth = maxDepth): boolean =>
  !(value instanceof Object) || (depth > 0 && Object.values(value).every((each) => isShallow(each, depth - 1)));

/** @throws Error if a template is not what its type says. The properties of a resource are checked when they are read. */
const checkForm = ({ Resources: resources, ...others }: Template): void => {
  const error = (place: string) => new Error(`${place} of the template is malformed, or nested too deeply.`);
  if (!isObject(resources)) throw error('The section Resources');
  for (const [logicalId, resource] of Object.entries(resources)) {
    const { Type, Properties = {} }: Partial<TemplateResource> = isObject(resource) ? resource : {};
    const isType = typeof Type === 'string' && /^[\w:@-]+$/.test(Type);
    const isValid = isType && isObject(Properties) && /^[a-z\d]{1,255}$/i.test(logicalId);
    if (!isValid || !isShallow(resource)) throw error(`The resource ${JSON.stringify(logicalId)}`);
  }
  for (const name of ['Conditions', 'Mappings', 'Outputs', 'Parameters'] as const) {
    const section: unknown = others[name] ?? {};
    const isValid = isObject(section) && (name === 'Conditions' || Object.values(section).every(isObject));
    if (!isValid || !isShallow(section)) throw error(`The section ${name}`);
  }
};

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
const check = (resource: Named, templateResource: TemplateResource): Refusal[] => {
  const { Type: type, Properties = {}, Condition: _, ...rest } = templateResource;
  if (!isServed(type)) return [new Refusal(resource, ...(own(refusedTypes, type) ?? unknownType))];
  const { read, withoutEffect }: PropertyLists = served[type];
  const known: string[] = namesIn(`${read} ${withoutEffect}`);
  const others = Object.keys(Properties).filter((name) => !known.includes(name));
  const refusals = others.map((name) => new Refusal(resource, `its ${name} is not supported`));
  const unknown = Object.keys(rest)
    .filter((name) => !attributes.includes(name))
    .map((name) => new Refusal(resource, `its attribute ${name} is unknown`, 'Leave it out of the template.'));
  return [...refusals, ...unknown];
};
