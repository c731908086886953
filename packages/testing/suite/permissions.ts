import { part } from './part.ts';
import type { MorePermissions } from './stack/roles.ts';

/** Defines tests that neither the service's functions nor its deployments may do more than they need. */
export const testPermissions = part('permissions', async (more: MorePermissions = {}) => {
  // Loaded only here, because the other parts also run where no stack is synthesized.
  const [{ testRoles }, { testDeploymentPolicy }] = await Promise.all([
    import('./stack/roles.ts'),
    import('./stack/deployment-policy.ts'),
  ]);
  testRoles(more);
  testDeploymentPolicy();
});
