import { expect, test } from 'vitest';
import { Progress, secondsLeft } from '../../cli/progress.ts';

test('the remaining time of an import is estimated from its speed so far, and is rounded up', () => {
  expect(secondsLeft(200, 1_000, 10)).toBe(40);
  expect(secondsLeft(999, 1_000, 10)).toBe(1);
  expect(secondsLeft(1_000, 1_000, 10)).toBe(0);
});

test('the progress of an import counts new plants, already stored plants and failures separately', () => {
  const progress = new Progress(30);
  const line = { number: 4, end: 30, bytes: Buffer.from('{"id":1}') };
  progress.add({ ...line, outcome: 'new' });
  progress.add({ ...line, outcome: 'already there' });
  progress.add({ ...line, outcome: 'failed', failure: { error: 40901, message: 'taken' } });
  progress.add({ ...line, outcome: 'failed', failure: { error: 'not sent', message: 'not JSON' } });
  expect(String(progress)).toBe('1 new, 1 already there, 2 failed');
  expect(progress).toMatchObject({ lastLine: 4, end: 30, firstMisfit: undefined });
});
