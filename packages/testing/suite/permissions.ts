import { part } from './part.ts';
import type { MorePermissions } from './stack/roles.ts';

/** Defines tests that neither the service's functions nor its deployments may do more than they need. */
export const testPermissions = part('permissions', async (more: MorePermissions = {}) => {
  // These read the template when they load, which the command `journey` does not make.
  const [{ testRoles }, { testDeploymentPolicy }] = await Promise.all([
    import('./stack/roles.ts'),
    import('./stack/deployment-policy.ts'),
  ]);
  testRoles(more);
  testDeploymentPolicy(more.types);
});
