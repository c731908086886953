import { expect, test } from 'vitest';
import { run } from '../programs/local-service.ts';

/** Runs two parts of the suite for a service that leaves these out. */
const runWithout = (leaveOut: Record<string, string>) => {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=verbose'];
  const environment = { LEAVE_OUT: JSON.stringify(leaveOut), VITEST_REPORT: '', FORCE_COLOR: '0', NO_COLOR: '1' };
  return run(process.execPath, [...vitest, '--config', 'packages/testing/test/kit/left-out.config.ts'], environment)
    .ended;
};

test('a part that the service leaves out does not run, and the run prints the reason', async () => {
  const { code, stdout, stderr } = await runWithout({ kill: 'it has no state' });
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain('model > is like a map');
  expect(stdout + stderr).toContain('The service leaves out the part "kill" of the suite: it has no state');
});

test('a part that the suite does not have cannot be left out: the error lists the parts', async () => {
  const { code, stdout, stderr } = await runWithout({ endurence: 'a typo' });
  expect(code).toBe(1);
  expect(stdout + stderr).toMatch(/orders\.ts leaves out endurence, but the parts are contract, .* endurance\./);
});
