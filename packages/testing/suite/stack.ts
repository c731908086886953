import { part } from './part.ts';

/** What a stack has on purpose besides what every service has: names of outputs and alarms, and logical ids. */
type More = { outputs?: string[]; alarms?: string[]; kept?: string[] };

/**
 * Defines tests of what the stack of every service promises. permissions.ts tests what the stack's functions may do.
 */
export const testStack = part('stack', async (more: More = {}) => {
  // These read the template when they load, which the command `journey` does not make.
  const [{ testSettings }, { testFunctions }, { testApi }, { testMonitoring }, { testDocuments }] = await Promise.all([
    import('./stack/settings.ts'),
    import('./stack/functions.ts'),
    import('./stack/api.ts'),
    import('./stack/monitoring.ts'),
    import('./stack/documents.ts'),
  ]);
  testSettings(more);
  testFunctions();
  testApi();
  testMonitoring(more.alarms);
  testDocuments();
});
