/** @throws Error that names the variable if its value is missing or empty, so that start-up fails */
export const fromEnvironment = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} must be set.`);
  return value;
};
