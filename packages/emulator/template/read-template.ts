import { defaultAccount, type ServedStack } from '../served-stack.ts';
import { readApi } from './api.ts';
import { aliasArn, functionName, readFunctions } from './functions.ts';
import { type Resource, Resources } from './resources.ts';
import { readTables, tableName } from './tables.ts';
import type { Template } from './template.ts';

export type { Template } from './template.ts';

/**
 * Reads what to serve from the CloudFormation template that would be deployed. Nothing is ignored silently: each
 * resource and each property is read, is listed as having no effect here, or is refused. With
 * `leaveOut`, resources of other types, and functions that no route needs, are not refused but listed in `leftOut`.
 * @param assets is the folder of the CDK's assets
 * @throws Error whose message names what cannot be served, why, and what to do
 */
export const readTemplate = (
  template: Template,
  assets: string,
  { leaveOut = false, account = defaultAccount } = {},
): ServedStack => {
  const resources = new Resources(template, account, leaveOut);
  const api = readApi(resources);
  const functions = readFunctions(resources, assets, api);
  const tables = readTables(resources);
  refuseDuplicates(resources);
  const leftOut = Array.from(resources.leftOut ?? [], ([resource, reason]) => ({ resource, reason }));
  return { account, api, functions, tables, leftOut };
};

/**
 * Refuses resources with the same name, ARN or route: AWS would create only the first. AWS does not document whether
 * routes may differ only in the names of variables; they are refused, too, as only one would get requests here.
 */
const refuseDuplicates = (resources: Resources): void => {
  const rename = 'Rename one of them.';
  mustDiffer(resources.ofType('AWS::Lambda::Function'), 'name', functionName, rename);
  mustDiffer(resources.ofType('AWS::Lambda::Alias'), 'ARN', aliasArn, rename);
  mustDiffer(resources.ofType('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable'), 'name', tableName, rename);
  mustDiffer(
    resources.ofType('AWS::ApiGatewayV2::Route'),
    'route',
    routePattern,
    'Leave one of them out of the template.',
  );
};

/** The route key without the names of its variables, such as GET /orders/{}. */
const routePattern = (route: Resource<'AWS::ApiGatewayV2::Route'>): string =>
  route.text('RouteKey').replace(/\{[^}+]*/g, '{');

const mustDiffer = <T extends Resource>(resources: T[], what: string, of: (resource: T) => string, advice: string) => {
  for (const [value, [first, second]] of Map.groupBy(resources, of)) {
    if (first && second) throw second.refuse(`${first.logicalId} has the same ${what}, ${value}`, advice);
  }
};
