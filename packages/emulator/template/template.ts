/** The parts of a CloudFormation template that the emulator reads. */
export type Template = {
  Resources: Record<string, TemplateResource>;
  Parameters?: Record<string, { Type?: string; Default?: unknown }>;
  Transform?: unknown;
};

export type TemplateResource = {
  Type: string;
  Properties?: Record<string, unknown>;
  Condition?: unknown;
};

/** Returns a field of the record itself, never an inherited one: a template may use a name such as `constructor`. */
export const own = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

export type Named = { logicalId: string; type: string };

/** Returns the text by which error messages name a resource, such as Orders (AWS::Lambda::Function). */
export const named = ({ logicalId, type }: Named): string => `${logicalId} (${type})`;

/** An error whose message says which resource the emulator cannot serve, why, and what the user can do. */
export const refusal = (resource: Named, reason: string, advice: string): Error =>
  new Error(`${named(resource)} cannot be served here: ${reason}. ${advice}`);
