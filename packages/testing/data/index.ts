/**
 * The contract's examples as tests send them and expect them, and a check of responses by the contract.
 * @example
 * const id = newId();
 * const { status, headers, body } = await send(bodyOf(id));
 * expectInContract(status, headers['content-type'], body);
 * expect(await store.read(id)).toEqual(itemOf(id));
 * @throws Error on loading, if the contract lacks two examples with different content, or allows no key that it can
 * make
 */
export { createOperation, createRoute } from '../under-test.ts';
export * from './contract.ts';
export * from './example.ts';
export * from './keys.ts';
export * from './proxy-event.ts';
