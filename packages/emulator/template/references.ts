import type { Account } from '../served-stack.ts';
import type { Deployment } from './cloud-assembly.ts';
import { type ServedType, type Values, values } from './resource-types.ts';
import type { Resource } from './resources.ts';
import { type Named, named, own, type Scope, type Template, UnknownValue } from './template.ts';

/**
 * Makes a function that looks up the values that `Ref` and `Fn::GetAtt` have in the emulator.
 * @param find returns the resource with a logical id, or undefined if the emulator does not serve that resource
 */
export const makeLookUp =
  (
    template: Template,
    { account, stackName }: Deployment,
    find: (logicalId: string) => Resource | undefined,
  ): Scope['lookUp'] =>
  (name, attribute, place) => {
    if (attribute === undefined && name === 'AWS::NoValue') return undefined;
    const pseudoParameter = attribute === undefined ? own(pseudoParameters(account, stackName), name) : undefined;
    if (pseudoParameter !== undefined) return pseudoParameter;
    const parameter = own(template.Parameters, name);
    if (attribute === undefined && parameter !== undefined) {
      const value = defaultOf(parameter);
      if (value !== undefined) return value;
      const reason = `refers to the parameter ${name}, which has no default value`;
      throw new UnknownValue(place, reason, name);
    }
    const resource = find(name);
    // Unlike AWS, the emulator generates no ids for an API and its parts (such as routes): their logical ids are enough
    // to connect them.
    const isPartOfApi = resource?.type.startsWith(api) && place.resource.type.startsWith(api);
    if (resource && isPartOfApi && attribute === undefined) return name;
    const value = resource && referenceTo(resource, attribute ?? 'Ref');
    if (value !== undefined) return value;
    const type = own(template.Resources, name)?.Type;
    const target = type === undefined ? name : named({ logicalId: name, type });
    const what = attribute ? `${attribute} of ${target}` : target;
    const madeUp = placeholder(account, { logicalId: name, type: type ?? '' }, attribute);
    throw new UnknownValue(place, `refers to ${what}, which is unknown here`, madeUp);
  };

/** The attribute that has the same value as `Ref`, for types whose `Ref` is not a name. */
const refs: Record<string, string> = { 'AWS::SNS::Topic': 'TopicArn', 'AWS::SQS::Queue': 'QueueUrl' };

/** Makes up an ARN, a URL or a name for what is not served here, so that functions start. */
const placeholder = (
  { id, region }: Account,
  { logicalId, type }: Named,
  attribute = own(refs, type) ?? 'Ref',
): string => {
  const service = type.split('::')[1]?.toLowerCase();
  if (attribute.endsWith('Arn')) return `arn:aws:${service}:${region}:${id}:${logicalId}`;
  if (attribute.endsWith('Url')) return `https://${service}.${region}.amazonaws.com/${id}/${logicalId}`;
  // Libraries that verify tokens reject an id of a user pool without its region.
  return type === 'AWS::Cognito::UserPool' && attribute === 'Ref' ? `${region}_${logicalId}` : logicalId;
};

const api = 'AWS::ApiGatewayV2::';

/**
 * The pseudo parameters whose values the emulator knows:
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/pseudo-parameter-reference.html
 */
const pseudoParameters = (account: Account, stackName?: string): Record<string, string | undefined> => ({
  'AWS::AccountId': account.id,
  'AWS::Partition': 'aws',
  'AWS::Region': account.region,
  'AWS::StackName': stackName,
  'AWS::URLSuffix': 'amazonaws.com',
});

/**
 * A parameter's default value. Undefined if the parameter has none, or if the value is in SSM, where only
 * CloudFormation can look it up.
 */
const defaultOf = ({ Type = 'String', Default }: { Type?: string; Default?: unknown }): unknown => {
  if (Default === undefined || Type.startsWith('AWS::SSM::')) return undefined;
  const isList = /^(CommaDelimitedList|List<.*>)$/.test(Type);
  return isList
    ? String(Default)
        .trim()
        .split(/\s*,\s*/)
    : Default;
};

/**
 * What `Ref` and `Fn::GetAtt` return for a resource. If the template gives it no name, the logical id is the name; AWS
 * would make up a name.
 */
const referenceTo = <T extends ServedType>(resource: Resource<T>, attribute: string): string | undefined => {
  const ofType: Values[T] = values[resource.type];
  return own(ofType, attribute)?.(resource);
};
