import { expect, test } from 'vitest';
import { toPlant } from '../../../functions/plants/plant.ts';

test('toPlant never returns the id, and returns a tag only if the NewPlant has one', () => {
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss', tag: '' }))).toBe('{"name":"Moss","tag":""}');
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss' }))).toBe('{"name":"Moss"}');
});
