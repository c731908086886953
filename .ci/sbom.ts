/**
 * Writes sbom.cdx.json (CycloneDX): the packages in the bundles that `cdk deploy` would upload, with their licences.
 * Fails if a licence is not allowed.
 *
 * `npm sbom --omit=dev` is unsuitable: npm 11.19 omits packages that a devDependency needs too, such as the AWS SDK's
 * core, and lists production dependencies that are not in any bundle.
 */
import { execSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { bundleInputs, listEntries } from '@lambda-service/cdk/bundling';
import lock from '../package-lock.json' with { type: 'json' };

type Component = { 'bom-ref': string; licenses?: { license?: { id: string }; expression?: string }[] };
type Sbom = {
  metadata: { component: Component & { name: string } };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

/** The licences that a package in a bundle may have. A person has read each licence and found it permissive. */
const allowed = new Set(['Apache-2.0', 'MIT']);

const entriesOfLock: Record<string, { version?: string; link?: boolean }> = lock.packages;
const bundled = new Set(
  listEntries()
    .flatMap((entry) => bundleInputs(entry).packages)
    .map((location) => `${location.replace(/^.*node_modules\//, '')}@${entriesOfLock[location]?.version}`),
);

const everything = 'npm sbom --package-lock-only --sbom-format=cyclonedx --sbom-type=application';
const sbom: Sbom = JSON.parse(execSync(everything, { encoding: 'utf8', maxBuffer: 2 ** 30 }));
const root = sbom.metadata.component;
// `npm sbom` names the project after its folder. Use the name in package-lock.json instead.
root.name = lock.name;
sbom.components = sbom.components.filter((component) => bundled.has(component['bom-ref']));
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => bundled.has(ref) || ref === root['bom-ref'])
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((target) => bundled.has(target)) }));
writeFileSync('sbom.cdx.json', `${JSON.stringify(sbom, null, 2)}\n`);

const licences = new Map(
  sbom.components.map(({ 'bom-ref': ref, licenses: [first] = [] }) => [ref, first?.license?.id ?? first?.expression]),
);
for (const ref of [...bundled].sort()) {
  const licence = licences.get(ref) ?? 'no licence';
  console.info(`${ref} ${licence}${allowed.has(licence) ? '' : ': not allowed'}`);
  if (!allowed.has(licence)) process.exitCode = 1;
}
if (bundled.size === 0) throw new Error('No package was found in the bundles.');
