import type { Account, JwtIssuer } from '../served-stack.ts';
import type { Deployment } from './cloud-assembly.ts';
import { referenceTo } from './names.ts';
import type { Resource, Stack } from './resource.ts';
import { evaluateKnown, named, own, type Place, Refusal, type Scope, type Template, UnknownValue } from './template.ts';

/** What a look-up needs of the stack. */
type LookUpStack = Pick<Stack, 'account' | 'scope'> & { find: (logicalId: string) => Resource | undefined };

/** Makes a function that looks up the values that `Ref` and `Fn::GetAtt` have in the emulator. */
export const makeLookUp =
  (template: Template, { nameOnAws, jwt }: Deployment & { jwt?: JwtIssuer }, resources: LookUpStack): Scope['lookUp'] =>
  (name, attribute, place) => {
    if (attribute === undefined) {
      if (name === 'AWS::NoValue') return undefined;
      const parameter = own(template.Parameters, name);
      const value = own(pseudoParameters(resources.account, nameOnAws), name) ?? defaultOf(name, parameter, place);
      if (value !== undefined) return value;
      if (parameter) throw new UnknownValue(place, `refers to the parameter ${name}, which has no default value`, name);
    }
    const resource = resources.find(name);
    // Unlike AWS, the emulator generates no ids for an API and its parts (such as routes): their logical ids are enough
    // to connect them.
    if (attribute === undefined && resource?.type.startsWith(api) && place.resource.type.startsWith(api)) return name;
    const served = resource && referenceTo(resource, attribute ?? 'Ref');
    if (served !== undefined) return served;
    const { Type: type, Properties = {} } = own(template.Resources, name) ?? { Type: '' };
    const isOfAuthorizer = place.path.startsWith('JwtConfiguration.');
    const inJwt = jwt && attribute === undefined && !isOfAuthorizer ? own(idsIn(jwt), type) : undefined;
    if (inJwt !== undefined) return inJwt;
    const form = own(forms, type) ?? {};
    const givenName = evaluateKnown(own(Properties, form.name ?? ''), place, resources.scope);
    const value = valueFor(resources.account, type, String(givenName ?? name), attribute ?? form.ref);
    if (givenName !== undefined && [undefined, 'Arn', form.name, form.ref].includes(attribute)) return value;
    const target = type === '' ? name : named({ logicalId: name, type });
    const what = attribute ? `${attribute} of ${target}` : target;
    throw new UnknownValue(place, `refers to ${what}, which is unknown here`, value);
  };

/** The ids of a user pool and of its client, by their types, if `jwt` takes the place of that pool. */
const idsIn = ({ issuer, audience }: JwtIssuer): Record<string, string | undefined> => ({
  'AWS::Cognito::UserPool': /(?<=^https:\/\/cognito-idp\..*\/)[\w-]+_\w+$/.exec(issuer)?.[0],
  'AWS::Cognito::UserPoolClient': audience?.[0],
});

/**
 * The values of resources that are not served: the property with the name (without it, the name is made up), the
 * attribute that `Ref` returns if not the name, and what comes before the name in the ARN.
 */
const forms: Record<string, { name?: string; ref?: string; arn?: string }> = {
  'AWS::Events::EventBus': { name: 'Name', arn: 'event-bus/' },
  'AWS::S3::Bucket': { name: 'BucketName' },
  // AWS adds six characters to the name of a secret in its ARN.
  'AWS::SecretsManager::Secret': { ref: 'Arn', arn: 'secret:' },
  'AWS::SNS::Topic': { name: 'TopicName', ref: 'TopicArn' },
  'AWS::SQS::Queue': { name: 'QueueName', ref: 'QueueUrl' },
  'AWS::SSM::Parameter': { name: 'Name' },
  'AWS::StepFunctions::StateMachine': { name: 'StateMachineName', ref: 'Arn', arn: 'stateMachine:' },
};

/** The ARN, URL or name of what is not served here, so that functions start. */
const valueFor = ({ id, region }: Account, type: string, name: string, attribute = 'Ref'): string => {
  const service = type.split('::')[1]?.toLowerCase().replace('stepfunctions', 'states');
  const owner = service === 's3' ? ':' : `${region}:${id}`;
  if (attribute.endsWith('Arn')) return `arn:aws:${service}:${owner}:${own(forms, type)?.arn ?? ''}${name}`;
  if (attribute.endsWith('Url')) return `https://${service}.${region}.amazonaws.com/${id}/${name}`;
  // Libraries that verify tokens reject an id of a user pool without its region.
  return type === 'AWS::Cognito::UserPool' && attribute === 'Ref' ? `${region}_${name}` : name;
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

type Parameter = NonNullable<Template['Parameters']>[string];

/**
 * A parameter's default value. Undefined if the parameter has none, or if the value is in SSM, where only
 * CloudFormation can look it up.
 */
const defaultOf = (name: string, { Type = 'String', Default }: Parameter = {}, place: Place): unknown => {
  if (Default === undefined || /^AWS::SSM::/.test(Type)) return undefined;
  if (!/^(CommaDelimitedList|List<.*>)$/.test(Type)) return Default;
  if (typeof Default !== 'object')
    return String(Default)
      .trim()
      .split(/\s*,\s*/);
  throw new Refusal(place.resource, `its ${place.path} refers to the parameter ${name}, whose Default is not a string`);
};
