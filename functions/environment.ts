/**
 * Returns an environment variable that the function needs.
 * @throws Error that names the variable if it is unset or empty, so a function deployed without it fails at start-up
 * @example const tableName = fromEnvironment('TABLE_NAME');
 */
export const fromEnvironment = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} must be set.`);
  return value;
};
