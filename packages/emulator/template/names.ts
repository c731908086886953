/** The names and ARNs of the resources that are served: what `Ref` and `Fn::GetAtt` return for them. */
import { functionArn, tableArn } from '../served-stack.ts';
import type { Resource } from './resource.ts';
import type { ServedType, tableTypes } from './resource-types.ts';
import { own } from './template.ts';

/** Returns the name of a function. `text` is that name, or the ARN of the function, of a version or of an alias. */
export const functionNameIn = (text: string): string => text.replace(/^arn:.*:function:/, '').replace(/:.*$/, '');

export const functionName = (fn: Resource<'AWS::Lambda::Function'>): string => fn.text('FunctionName', fn.logicalId);

export const arnOfFunction = (fn: Resource<'AWS::Lambda::Function'>): string =>
  functionArn(fn.account, functionName(fn));

export const versionArn = (version: Resource<'AWS::Lambda::Version'>): string =>
  `${functionArn(version.account, nameOfFunction(version))}:${onlyVersion}`;

export const aliasArn = (alias: Resource<'AWS::Lambda::Alias'>): string =>
  `${functionArn(alias.account, nameOfFunction(alias))}:${alias.text('Name', '', /^(?!\d+$)[\w-]{1,128}$/)}`;

/**
 * The version number of every published function: always 1, because a template contains the code of only one version.
 */
export const onlyVersion = '1';

const nameOfFunction = (part: Resource<'AWS::Lambda::Version' | 'AWS::Lambda::Alias'>): string =>
  functionNameIn(part.text('FunctionName', ''));

export const roleName = (role: Resource<'AWS::IAM::Role'>): string => role.text('RoleName', role.logicalId);

export const roleArn = (role: Resource<'AWS::IAM::Role'>): string =>
  `arn:aws:iam::${role.account.id}:role/${roleName(role)}`;

export const managedPolicyArn = ({ account, logicalId }: Resource<'AWS::IAM::ManagedPolicy'>): string =>
  `arn:aws:iam::${account.id}:policy/${logicalId}`;

export type Table = Resource<keyof typeof tableTypes>;

/** The name of a table. Without a TableName, the name is the logical id, extended if that is too short for DynamoDB. */
export const tableName = (table: Table): string =>
  table.text('TableName', table.logicalId.length < 3 ? `${table.logicalId}-table` : table.logicalId);

/** What `Ref` and the attributes of `Fn::GetAtt` return, by type. */
type Values = { [T in ServedType]?: Record<string, (resource: Resource<T>) => string> };

const ofTable = { Ref: tableName, Arn: (each: Table) => tableArn(each.account, tableName(each)) };

const values: Values = {
  'AWS::Lambda::Function': { Ref: functionName, Arn: arnOfFunction },
  'AWS::Lambda::Version': { Ref: versionArn, FunctionArn: versionArn, Version: () => onlyVersion },
  'AWS::Lambda::Alias': { Ref: aliasArn, AliasArn: aliasArn },
  'AWS::IAM::Role': { Ref: roleName, Arn: roleArn },
  'AWS::IAM::ManagedPolicy': { Ref: managedPolicyArn, PolicyArn: managedPolicyArn },
  'AWS::DynamoDB::Table': ofTable,
  'AWS::DynamoDB::GlobalTable': ofTable,
};

/**
 * What `Ref` and `Fn::GetAtt` return for a resource. If the template gives it no name, the logical id is the name; AWS
 * would make up a name.
 */
export const referenceTo = <T extends ServedType>(resource: Resource<T>, attribute: string): string | undefined => {
  const ofType: Values[T] = values[resource.type];
  return own(ofType, attribute)?.(resource);
};
