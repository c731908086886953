/** The resource types that the emulator serves, from the modules that read them. */
import { apiTypes } from './api.ts';
import { authorizerTypes } from './authorizers.ts';
import { functionTypes, functionValues } from './functions.ts';
import type { Resource } from './resource.ts';
import { roleTypes, roleValues } from './roles.ts';
import { tableTypes, tableValues } from './tables.ts';
import type { NamesIn } from './template.ts';

/** What a module says of each resource type that it reads. */
export type ServedTypes = Record<string, Properties>;

export type Properties = {
  /** The names, separated by white space, of the properties that the emulator reads. */
  read: string;
  /** The names of those that are ignored, because they make no difference to requests, functions or the store here. */
  withoutEffect: string;
  /**
   * The reasons why some properties of a resource are refused. A property that is in none of the lists `read`,
   * `withoutEffect` and `refused` is refused, too.
   */
  refused?: Record<string, string>;
};

/** Each served type with its lists of properties. A property that is on none of the lists is refused. */
export const served = { ...apiTypes, ...authorizerTypes, ...functionTypes, ...roleTypes, ...tableTypes };

export type ServedType = keyof typeof served;
export type ReadProperty<T extends ServedType> = NamesIn<(typeof served)[T]['read']>;

/** What `Ref` and the attributes of `Fn::GetAtt` return, by type. */
export type Values = { [T in ServedType]?: Record<string, (resource: Resource<T>) => string> };

export const values: Values = { ...functionValues, ...roleValues, ...tableValues };
