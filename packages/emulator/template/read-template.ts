import type { JwtIssuer, ServedStack } from '../served-stack.ts';
import { readApi } from './api.ts';
import type { Deployment } from './cloud-assembly.ts';
import { checkNames, readFunction } from './functions.ts';
import { leaveOutAdvice } from './other-types.ts';
import type { Resource } from './resource.ts';
import { Resources } from './resources.ts';
import { readTables } from './tables.ts';
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
  const resources = new Resources(template, deployment);
  // Tables come first, because functions that refer to a refused one are left out.
  const tables = readTables(resources);
  const read = (fn: Resource<'AWS::Lambda::Function'>) => readFunction(fn, resources, assets, environment);
  const functions = resources.readAll(['AWS::Lambda::Function'], read);
  const api = readApi(resources, deployment.jwt);
  checkNames(resources, environment);
  const { account, leftOut, withoutEffect } = resources;
  if (!leaveOut && leftOut.length > 0) throw resources.error(leaveOutAdvice);
  return { account, api, functions, tables, leftOut, withoutEffect };
};
