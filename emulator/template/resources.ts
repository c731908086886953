import { References } from './references.ts';
import { refusal } from './refusal.ts';
import { Resource, removeProperty } from './resource.ts';
import { refusedTypes, type ServedType, served, unknownType, withoutEffect } from './resource-types.ts';

/** The parts of a CloudFormation template that are read. */
export type Template = {
  Resources: Record<string, TemplateResource>;
  Parameters?: Record<string, { Type?: string; Default?: unknown }>;
  Transform?: unknown;
};

export type TemplateResource = {
  Type: string;
  Properties?: Record<string, unknown>;
  Condition?: unknown;
};

/** The resources of a template that are served. */
export class Resources {
  readonly #resources: Resource[];

  /** @throws Error with a line for each resource and property that cannot be served */
  constructor(template: Template) {
    if (template.Transform !== undefined) {
      throw new Error(
        `The template has the Transform ${JSON.stringify(template.Transform)}, which only CloudFormation can do. Serve the template that comes out of it.`,
      );
    }
    const refusals = Object.entries(template.Resources).flatMap(([logicalId, resource]) => check(logicalId, resource));
    if (refusals.length > 0) throw new Error(refusals.map(({ message }) => message).join('\n'));
    const references = new References(template, (logicalId) =>
      this.#resources.find((each) => each.logicalId === logicalId),
    );
    this.#resources = Object.entries(template.Resources).flatMap(([logicalId, resource]) =>
      isServed(resource.Type)
        ? new Resource(logicalId, resource.Type, resource.Properties ?? {}, references.lookUp)
        : [],
    );
  }

  ofType<T extends ServedType>(...types: T[]): Resource<T>[] {
    return this.#resources.filter((each): each is Resource<T> => types.some((type) => type === each.type));
  }
}

const isServed = (type: string): type is ServedType => Object.hasOwn(served, type);

/** The reasons why a resource cannot be served. Its properties are read later. */
const check = (logicalId: string, { Type: type, Properties = {}, Condition }: TemplateResource): Error[] => {
  const resource = { logicalId, type };
  if (withoutEffect.has(type)) return [];
  if (!isServed(type)) return [refusal(resource, ...(refusedTypes[type] ?? unknownType))];
  const properties: { read: readonly string[]; withoutEffect: readonly string[]; refused?: Record<string, string> } =
    served[type];
  const known = [...properties.read, ...properties.withoutEffect];
  const others = Object.keys(Properties).filter((name) => !known.includes(name));
  const refusals = others.map((name) => {
    const reason = properties.refused?.[name];
    return refusal(resource, `its ${name} is not supported${reason ? `: ${reason}` : ''}`, removeProperty);
  });
  if (Condition === undefined) return refusals;
  const reason = `the condition ${String(Condition)} decides whether it exists`;
  return [...refusals, refusal(resource, reason, 'Decide that in the app that makes the template.')];
};
