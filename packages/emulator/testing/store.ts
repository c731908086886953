/** The emulator's store, for tests. Apart from index.ts, because the SDK and dynalite take as long to load as the rest. */
import '../dynamodb/dynalite-faults.ts';

export { openStore } from '../dynamodb/store.ts';
export { createTable } from '../dynamodb/tables.ts';
