import { makeLookUp } from './references.ts';
import { Resource, removeProperty } from './resource.ts';
import {
  invokeInstead,
  invokers,
  onlyFromApi,
  refusedTypes,
  type ServedType,
  served,
  unknownType,
  withoutEffect,
} from './resource-types.ts';
import { named, own, refusal, type Template, type TemplateResource } from './template.ts';

/** Those resources of a template that the emulator serves. */
export class Resources {
  readonly #resources: Resource[];

  /** @throws Error with a line for each resource and property that cannot be served */
  constructor(template: Template) {
    if (template.Transform !== undefined) {
      throw new Error(
        `The template has the Transform ${JSON.stringify(template.Transform)}, which only CloudFormation can apply. Serve the transformed template.`,
      );
    }
    const refusals = Object.entries(template.Resources).flatMap(([logicalId, resource]) => [
      ...check(logicalId, resource),
      ...checkInvoker(logicalId, resource, template),
    ]);
    if (refusals.length > 0) throw new Error(refusals.map(({ message }) => message).join('\n'));
    const lookUp = makeLookUp(template, (logicalId) => this.#resources.find((each) => each.logicalId === logicalId));
    this.#resources = Object.entries(template.Resources).flatMap(([logicalId, resource]) =>
      isServed(resource.Type) ? new Resource(logicalId, resource.Type, resource.Properties ?? {}, lookUp) : [],
    );
  }

  ofType<T extends ServedType>(...types: T[]): Resource<T>[] {
    return this.#resources.filter((each): each is Resource<T> => types.some((type) => type === each.type));
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
const check = (logicalId: string, templateResource: TemplateResource): Error[] => {
  const { Type: type, Properties = {}, Condition, ...rest } = templateResource;
  const resource = { logicalId, type };
  if (withoutEffect.has(type)) return [];
  if (!isServed(type)) return [refusal(resource, ...(own(refusedTypes, type) ?? unknownType))];
  const properties: { read: readonly string[]; withoutEffect: readonly string[]; refused?: Record<string, string> } =
    served[type];
  const known = [...properties.read, ...properties.withoutEffect];
  const others = Object.keys(Properties).filter((name) => !known.includes(name));
  const refusals = others.map((name) => {
    const reason = own(properties.refused, name);
    return refusal(resource, `its ${name} is not supported${reason ? `: ${reason}` : ''}`, removeProperty);
  });
  const unknown = Object.keys(rest)
    .filter((name) => !attributes.includes(name))
    .map((name) => refusal(resource, `its attribute ${name} is unknown`, 'Leave it out of the template.'));
  if (Condition === undefined) return [...refusals, ...unknown];
  const reason = `the condition ${String(Condition)} decides whether it exists`;
  const advice = 'Decide in the app that makes the template instead, and leave the Condition out.';
  return [...refusals, ...unknown, refusal(resource, reason, advice)];
};

/** Finds, in the JSON text of a property, the logical ids to which its intrinsic functions refer. */
const referredIds = /(?<="Ref":"|"Fn::GetAtt":\[?"|\$\{)\w+/g;

/**
 * Refuses a resource that has no effect in the emulator, but that would invoke a function of the template on AWS.
 */
const checkInvoker = (logicalId: string, { Type: type, Properties }: TemplateResource, template: Template): Error[] => {
  const property = own(Properties, own(invokers, type) ?? '');
  const invoked = (JSON.stringify(property ?? '').match(referredIds) ?? [])
    .map((name) => ({ logicalId: name, type: own(template.Resources, name)?.Type ?? '' }))
    .find((referred) => referred.type.startsWith('AWS::Lambda::'));
  if (invoked === undefined) return [];
  return [refusal({ logicalId, type }, `it would invoke ${named(invoked)}, and ${onlyFromApi}`, invokeInstead)];
};
