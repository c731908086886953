/**
 * The value of an environment variable that the function needs.
 * @throws Error naming the variable, so that a function deployed without it fails at start-up and says why.
 */
export const fromEnvironment = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} must be set.`);
  return value;
};
