// Selects the route of a request.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
import type { ApiSpec } from '../served-stack.ts';

type RouteSpec = ApiSpec['routes'][number];

/** The route that a request matches, and the decoded values of the route's path variables, by name. */
export type Match = { route: RouteSpec; pathParameters: Record<string, string> };

type Segment = { kind: 'literal' | 'variable' | 'greedy'; text: string };

type CompiledRoute = { route: RouteSpec; method: string; segments: Segment[] };

/**
 * Looks for a route among those of an API, most specific first: routes without a greedy variable ({name+}), routes with
 * one, $default. AWS does not document the order of paths with variables; here, the first differing segment decides: text
 * beats {name}.
 */
export const routeFinder = (routes: RouteSpec[]) => {
  const compiled = routes.map(compile).sort(bySpecificity);
  return (method: string, path: string[]): Match | undefined => {
    for (const { route, method: own, segments } of compiled) {
      const pathParameters = own === method || own === any ? matchPath(segments, path) : undefined;
      if (pathParameters) return { route, pathParameters };
    }
    return undefined;
  };
};

const any = 'ANY';

const compile = (route: RouteSpec): CompiledRoute => {
  // $default matches every path, so treat it as a path that is a single greedy variable. The variable has no name,
  // because $default has no path parameters.
  if (route.routeKey === '$default') return { route, method: any, segments: [{ kind: 'greedy', text: '' }] };
  const [method = '', path = ''] = route.routeKey.split(' ');
  return { route, method, segments: path.split('/').map(compileSegment) };
};

const compileSegment = (text: string): Segment => {
  const [, name = '', greedy] = /^\{(.+?)(\+)?\}$/.exec(text) ?? [];
  if (name === '') return { kind: 'literal', text };
  return { kind: greedy ? 'greedy' : 'variable', text: name };
};

const ranks = { literal: 0, variable: 1, greedy: 2 };

const isGreedy = ({ segments }: CompiledRoute): boolean => segments.at(-1)?.kind === 'greedy';

const bySpecificity = (a: CompiledRoute, b: CompiledRoute): number => {
  if (isGreedy(a) !== isGreedy(b)) return isGreedy(a) ? 1 : -1;
  for (const [index, { kind }] of a.segments.entries()) {
    const other = b.segments[index]?.kind;
    if (other !== undefined && other !== kind) return ranks[kind] - ranks[other];
  }
  // As AWS documents, a route that names the method beats an ANY route with the same path.
  return b.segments.length - a.segments.length || Number(a.method === any) - Number(b.method === any);
};

/**
 * Compares a path with the segments of a route. A variable must match at least one character.
 * @returns the values of the variables, or undefined if the path does not match
 */
const matchPath = (segments: Segment[], path: string[]): Record<string, string> | undefined => {
  // Without a prototype, because a route may name a variable __proto__.
  const variables: Record<string, string> = Object.create(null);
  for (const [index, { kind, text }] of segments.entries()) {
    const part = path[index];
    if (kind === 'greedy') {
      const rest = path.slice(index).join('/');
      if (text === '') return variables;
      return rest === '' ? undefined : Object.assign(variables, { [text]: rest });
    }
    if (kind === 'literal' ? part !== text : !part) return undefined;
    if (kind === 'variable' && part !== undefined) variables[text] = part;
  }
  return segments.length === path.length ? variables : undefined;
};
