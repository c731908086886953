import { SingleBar } from 'cli-progress';
import { expect, test, vi } from 'vitest';
import { Progress } from '../../cli/progress.ts';

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

test('the remaining time of an import with --from does not count the skipped lines as imported', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const update = vi.spyOn(SingleBar.prototype, 'update');
  const progress = new Progress(1_000);
  now.mockReturnValue(10_000);
  progress.add({ number: 91, end: 910, bytes: Buffer.alloc(10), outcome: 'new' });
  expect(update).toHaveBeenLastCalledWith(910, expect.objectContaining({ left: '90 s' }));
});
