export type Named = { logicalId: string; type: string };

/** Returns the text by which error messages name a resource, such as Orders (AWS::Lambda::Function). */
export const named = ({ logicalId, type }: Named): string => `${logicalId} (${type})`;

/** An error whose message says which resource the emulator cannot serve, why, and what the user can do. */
export const refusal = (resource: Named, reason: string, advice: string): Error =>
  new Error(`${named(resource)} cannot be served here: ${reason}. ${advice}`);
