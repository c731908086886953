/** Synthesizes the stacks that `diff` compares, and reads their templates. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Resource, runApp, type Stacks, type Template } from '../../app.ts';
import { type ProjectCopy, withOwnFiles } from '../project-copy.ts';

/** A change that needs more than a code review: it breaks `rule`, and `what` is a sentence about it. */
export type Finding = { rule: 'loss' | 'iam' | 'route' | 'open-route' | 'contract'; what: string };

/**
 * Removes the hashes that change with the code, because they would fill most of a diff; not those of nested stacks'
 * templates (.json). Also removes the hash of its permissions from a role's id, so that a diff shows a changed grant as
 * the change of one role.
 */
export const withoutHashes = (template: Template): Template => {
  const shortOf = (id: string) =>
    template.Resources[id]?.Type === 'AWS::IAM::Role' ? id.replace(hashOfPermissions, '') : id;
  // Keep two ids that would become the same: one of the two resources would disappear from the diff.
  const idsByShort = Map.groupBy(Object.keys(template.Resources), shortOf);
  return JSON.parse(
    JSON.stringify(template)
      .replaceAll(/\b[\da-f]{64}\b(?!\.json)/g, '(hash)')
      .replaceAll(/(?<=CurrentVersion[\dA-F]{8})[\da-f]{32}\b/g, '')
      .replaceAll(/\w+/g, (word) => (idsByShort.get(shortOf(word))?.length === 1 ? shortOf(word) : word)),
  );
};

/** The hash of what a role allows: in lower case, at the end of its id, after CDK's own hash in upper case. */
const hashOfPermissions = /(?<=[\dA-F]{8})[\da-f]{8}$/;

/** Returns a property's value; undefined if `value` has no such property. */
export const ownValue = (value: unknown, key: unknown): unknown =>
  value instanceof Object ? new Map(Object.entries(value)).get(String(key)) : undefined;

const isNoValue = (value: unknown): boolean => ownValue(value, 'Ref') === 'AWS::NoValue';

/**
 * Puts what a template defines (parameters, mappings, conditions) in the places that name it. CloudFormation evaluates
 * these only when it deploys, so comparing the names alone would miss a change of what they stand for.
 */
export const withDefinitions = (template: Template): Template => {
  const { Resources, Conditions, Parameters, Mappings } = template;
  const parameter = (name: unknown): object | undefined => {
    const definition = ownValue(Parameters, name);
    // The rest of a definition, such as its description, does not say which value the parameter has.
    const [Type, Default] = ['Type', 'Default'].map((key) => ownValue(definition, key));
    return definition === undefined ? undefined : { Parameter: { [String(name)]: { Type, Default } } };
  };
  const condition = (name: unknown, outer: unknown[]): unknown => {
    const definition = outer.includes(name) ? undefined : ownValue(Conditions, name);
    return definition === undefined ? name : { [String(name)]: expand(definition, [...outer, name]) };
  };
  const evaluate = (key: string, inner: unknown, outer: unknown[]): unknown => {
    if (key === 'Ref') return parameter(inner);
    if (key === 'Condition' && typeof inner === 'string') return { [key]: condition(inner, outer) };
    if (key === 'Fn::Sub') {
      const names = [...JSON.stringify(inner).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
      return { [key]: expand(inner, outer), Parameters: names.flatMap((name) => parameter(name) ?? []) };
    }
    if (!Array.isArray(inner)) return undefined;
    const values = inner.map((each) => expand(each, outer));
    if (key === 'Fn::If') return { [key]: [condition(inner[0], outer), ...values.slice(1)] };
    if (key !== 'Fn::FindInMap') return undefined;
    return values.reduce(ownValue, Mappings) ?? { [key]: values, Map: ownValue(Mappings, values[0]) ?? Mappings };
  };
  const expand = (value: unknown, outer: unknown[] = []): unknown => {
    if (Array.isArray(value)) return value.filter((each) => !isNoValue(each)).map((each) => expand(each, outer));
    if (!(value instanceof Object)) return value;
    const entries = Object.entries(value).filter(([, each]) => !isNoValue(each));
    const [[key = '', inner] = [], ...others] = entries;
    const evaluated = others.length === 0 ? evaluate(key, inner, outer) : undefined;
    return evaluated ?? Object.fromEntries(entries.map(([name, each]) => [name, expand(each, outer)]));
  };
  const resources = Object.entries(Resources).map(([id, { Condition, ...resource }]) => [
    id,
    { ...(expand(resource) as Resource), ...(Condition !== undefined && { Condition: condition(Condition, []) }) },
  ]);
  return { ...template, Resources: Object.fromEntries(resources) };
};

/** Whether a value, or a part of it, is known only when CloudFormation deploys. */
export const isLate = (value: unknown): boolean => {
  if (!(value instanceof Object)) return typeof value === 'string' && value.includes('{{resolve:');
  return Object.entries(value).some(([key, inner]) =>
    key === 'Ref' ? !String(inner).startsWith('AWS::') : /^(Fn::\w+|Parameter)$/.test(key) || isLate(inner),
  );
};

export const functionsWithNewCode = (before: Template, after: Template): string[] =>
  ofType(before, /^AWS::Lambda::Function$/).flatMap(([id, { Properties: then }]) => {
    const now = after.Resources[id]?.Properties;
    return now && JSON.stringify(now['Code']) !== JSON.stringify(then?.['Code']) ? [id] : [];
  });

export const ofType = ({ Resources }: Template, type: RegExp): [id: string, resource: Resource][] =>
  Object.entries(Resources).filter(([, { Type }]) => type.test(Type));

/** Returns `Table.Arn` for `{ "Fn::GetAtt": ["Table", "Arn"] }`, and the joined text for `Fn::Join`. */
export const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  const { Ref, 'Fn::GetAtt': attribute, 'Fn::Join': joined } = (value ?? {}) as Record<string, unknown>;
  if (typeof Ref === 'string') return Ref;
  if (Array.isArray(attribute)) return attribute.join('.');
  if (!Array.isArray(joined) || !Array.isArray(joined[1])) return JSON.stringify(value);
  return joined[1].map((part) => (typeof part === 'string' ? part : `\${${textOf(part)}}`)).join(textOf(joined[0]));
};

/**
 * Synthesizes a project as `cdk synth` does, but does not check the templates, because CI checks them separately.
 * @param name is what the error message, which ends with `hint`, calls the project
 * @param context has settings such as `stage=dev`, in addition to those of the project's cdk.json
 */
export const synthesize = async (
  name: string,
  project: ProjectCopy,
  context: string[],
  signal: AbortSignal,
  hint = '',
): Promise<Stacks> => {
  const more = context.map((setting) => [setting.replace(/=.*/s, ''), setting.replace(/^[^=]*=/, '')]);
  await mkdir(project.temporary, { recursive: true });
  const outdir = path.join(project.temporary, 'cdk.out');
  const environment = withOwnFiles(project.temporary);
  const options = { outdir, context: Object.fromEntries(more), environment };
  return runApp(project.folder, options, signal).catch((error) => {
    signal.throwIfAborted();
    throw new Error(`${name} cannot be synthesized:\n${error.message}\n${hint}`);
  });
};
