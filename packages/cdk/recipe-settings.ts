import type { App } from 'aws-cdk-lib';

/** Reads the settings of an optional stack from the CDK context. The reader throws an Error that names a missing one. */
export const recipeSettings =
  (app: App) =>
  (key: string): string => {
    const value: unknown = app.node.tryGetContext(key);
    if (typeof value !== 'string' || value === '') throw new Error(`The recipe needs -c ${key}=…`);
    return value;
  };
