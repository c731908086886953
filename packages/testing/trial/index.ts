/**
 * The deployed stack, in rehearsal: its bundles behind the gateway, with a store and an issuer that a test controls.
 * @example
 * const { store, stack } = await startTrial({ operations: { wrapper: misbehaving } });
 * expect(await stack.sendOnce(bodyOf(), { 'x-operation': 'crashes' })).toMatchObject({ status: 500 });
 * @throws Error on a start, with the log, if a function cannot start
 */
export * from './alarms.ts';
export * from './forged-tokens.ts';
export * from './roll-out.ts';
export * from './scale.ts';
export * from './trial-stack.ts';
