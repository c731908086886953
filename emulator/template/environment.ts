import type { Resource } from './resource.ts';

/** The variables that the template gives to a function. */
export const readEnvironment = (fn: Resource<'AWS::Lambda::Function'>): Record<string, string> => {
  const { Variables: variables = {} } = fn.fields('Environment', fn.get('Environment') ?? {}, ['Variables']);
  return Object.fromEntries(
    Object.entries(variables as object).map(([name, value]) => {
      const path = `Environment.Variables.${name}`;
      if (typeof value !== 'object') return [name, String(value)];
      throw fn.refuse(`its ${path} is not text`, 'Set it to text.');
    }),
  );
};
