import { expect, test } from 'vitest';
import { toPlant } from '../../../functions/plants/plant.ts';

test('toPlant returns a new plant without its id, and with a tag only if the new plant has one', () => {
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss', tag: '' }))).toBe('{"name":"Moss","tag":""}');
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss' }))).toBe('{"name":"Moss"}');
});
