import type { FunctionSpec, JwtIssuer, ServedStack, TableSpec } from '../served-stack.ts';
import { readApi } from './api.ts';
import type { Deployment } from './cloud-assembly.ts';
import { checkNames, readFunction, type Use } from './functions.ts';
import { aliasArn, functionName, tableName } from './names.ts';
import { leaveOutAdvice } from './other-types.ts';
import type { Resource } from './resource.ts';
import { Resources } from './resources.ts';
import { readTables, tableTypeNames } from './tables.ts';
import type { Template } from './template.ts';

export type { Template } from './template.ts';

/** How to serve what the template leaves open, or what cannot be served. */
export type ReadOptions = {
  /**
   * Whether to leave out what cannot be served, such as queues, instead of refusing the stack. Functions get made-up
   * ARNs and URLs for it. A route that needs what is left out responds with 501 and the reason.
   */
  leaveOut?: boolean;
  /** Variables to set in place of the template's, by the name of a function, such as a value that only AWS knows. */
  environment?: Record<string, Record<string, string>>;
  /**
   * Whose tokens JWT authorizers accept if their issuer is unknown here, such as a user pool of the stack. `audience`
   * takes the place of unknown audiences, such as the clients of that pool.
   */
  jwt?: JwtIssuer;
};

/**
 * Reads what to serve from the CloudFormation template that would be deployed. Nothing is ignored silently: each
 * resource and each property is read, is listed as having no effect here, or is refused. With `leaveOut`, what would be
 * refused is listed in `leftOut`, and the rest is served.
 * @param assets is the folder of the CDK's assets
 * @throws Error whose message names what cannot be served, why, and what to do
 */
export const readTemplate = (
  template: Template,
  assets: string,
  { leaveOut = false, environment = {}, ...deployment }: ReadOptions & Deployment = {},
): ServedStack => {
  const tables: TableSpec[] = [];
  const resources = new Resources(template, deployment, (imported) => tables.push(...readTables(imported)));
  // Tables come first, because functions that refer to a refused one are left out.
  tables.push(...readTables(resources));
  const functions = new Map<Resource, FunctionSpec>();
  const use: Use = (fn) => {
    if (!functions.has(fn)) functions.set(fn, readFunction(fn, resources, assets, environment));
  };
  resources.readAll(['AWS::Lambda::Function'], use);
  // Of other stacks, only the functions of routes and authorizers are used.
  const api = readApi(resources, use, deployment.jwt);
  checkNames(resources, environment);
  refuseDuplicates(resources);
  const { account, leftOut, withoutEffect } = resources;
  if (!leaveOut && leftOut.length > 0) throw resources.error(leaveOutAdvice);
  return { account, api, functions: [...functions.values()], tables, leftOut, withoutEffect };
};

/**
 * Refuses resources with the same name, ARN or route: AWS would create only the first. AWS does not document whether routes
 * may differ only in the names of variables; they are refused, too, as only one would get requests here.
 */
const refuseDuplicates = (resources: Resources): void => {
  const used = [
    ...resources.stacks.flatMap((stack) => [
      ...stack.readAll(['AWS::Lambda::Function'], (fn) => ({ of: fn, what: `function name, ${functionName(fn)}` })),
      ...stack.readAll(['AWS::Lambda::Alias'], (alias) => {
        alias.text('Name', undefined, /^(?!\d+$)[\w-]{1,128}$/);
        return { of: alias, what: `ARN, ${aliasArn(alias)}` };
      }),
      ...stack.readAll(tableTypeNames, (table) => ({ of: table, what: `table name, ${tableName(table)}` })),
    ]),
    ...resources.readAll(['AWS::ApiGatewayV2::Route'], (each) => ({ of: each, what: `route, ${routePattern(each)}` })),
  ];
  for (const [what, [first, second]] of Map.groupBy(used, (each) => each.what)) {
    if (first && second)
      throw second.of.refuse(`${first.of.logicalId} has the same ${what}`, 'Rename one of them, or leave it out.');
  }
};

/** The route key without the names of its variables, such as GET /orders/{}. */
const routePattern = (route: Resource<'AWS::ApiGatewayV2::Route'>): string =>
  route.text('RouteKey').replace(/\{[^}+]*/g, '{');
