/** Returns an environment variable. @throws Error that names it if it is unset or empty, so the start-up fails */
export const fromEnvironment = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} must be set.`);
  return value;
};
