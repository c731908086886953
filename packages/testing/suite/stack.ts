import { part } from './part.ts';

/** Defines tests of what the stack of every service promises. permissions.ts tests what the stack's functions may do. */
export const testStack = part('stack', async () => {
  // Loaded only here, because the other parts also run where no stack is synthesized.
  const [{ testSettings }, { testFunctions }, { testApi }, { testMonitoring }, { testDocuments }] = await Promise.all([
    import('./stack/settings.ts'),
    import('./stack/functions.ts'),
    import('./stack/api.ts'),
    import('./stack/monitoring.ts'),
    import('./stack/documents.ts'),
  ]);
  testSettings();
  testFunctions();
  testApi();
  testMonitoring();
  testDocuments();
});
