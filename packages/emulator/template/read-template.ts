import type { ServedStack } from '../served-stack.ts';
import { readApi } from './api.ts';
import { refuseDuplicates } from './duplicates.ts';
import { readFunctions } from './functions.ts';
import { Resources } from './resources.ts';
import { readTables } from './tables.ts';
import type { Template } from './template.ts';

export type { Template } from './template.ts';

/**
 * Reads what to serve from the CloudFormation template that would be deployed. Nothing is ignored silently: each
 * resource and each property is read, is listed in resource-types.ts as having no effect here, or is refused.
 * @param assets is the folder of the CDK's assets
 * @throws Error whose message names what cannot be served, why, and what to do
 */
export const readTemplate = (template: Template, assets: string): ServedStack => {
  const resources = new Resources(template);
  const stack = { api: readApi(resources), functions: readFunctions(resources, assets), tables: readTables(resources) };
  refuseDuplicates(resources);
  return stack;
};
