import { toJson } from '@lambda-service/client';
import { bodyOf, content, createOperation, newBody, newId } from '@lambda-service/testing/data';
import { optionName } from '../../../cli/operation-options.ts';

/** Returns the command line's options for a body. */
export const optionsFor = (id = newId(), fields = content): string[] => {
  const types = createOperation.body ?? {};
  if (Object.keys(types).length === 0) return ['--body', bodyOf(id, fields)];
  return Object.entries(newBody(id, fields)).flatMap(([field, value]) => [
    `--${optionName(field)}`,
    typeof value === 'string' && types[field] === 'string' ? value : (toJson(value) ?? ''),
  ]);
};
