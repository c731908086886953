export type { Call, ClientOptions, Options, Outcome, Token } from './call.ts';
export { type Client, createClient } from './client.ts';
export { parseJson, toJson } from './json.ts';
export type { Operation } from './request.ts';
